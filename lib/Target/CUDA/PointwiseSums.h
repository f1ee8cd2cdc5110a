//===- PointwiseSums.h - sums of what printed kernels store -----*- C++ -*-===//
//
// Private to lib/Target/CUDA. A kernel of elementwise operations that also sums
// results over all dimensions but the last runs through [R, C] as a reduction
// over columns does (Kernels/Reduce.cuh): a block has some columns of a part of
// the rows. Its sums are made in the same order, so they have the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_POINTWISESUMS_H
#define REMAT_LIB_TARGET_CUDA_POINTWISESUMS_H

#include "remat/IR/RematOps.h"
#include "remat/Target/CUDA/KernelLibrary.h"

namespace remat::cuda {

class PointwiseSums {
public:
  /// Those that `Op` makes: none unless it is such a kernel.
  explicit PointwiseSums(mlir::Operation *Op);

  bool empty() const { return Sums.empty(); }
  /// Elements of a row, of which a thread has a run at a time.
  int64_t getColumns() const { return Plan.Inner; }
  /// Whether result number `Result` is one of them.
  bool isSum(unsigned Result) const;

  /// Blocks of 256 threads with runs of `Width` elements.
  int64_t getBlocks(int64_t Width) const;
  /// An operand of whose rows the next run is loaded while one is worked on:
  /// its element type, and the number behind the `in` of its pointer and the
  /// `run` of its run.
  struct Ahead {
    std::string Type;
    size_t Number;
  };
  /// From the kernel's begin into its loop, where `i` is the first element of
  /// the thread's run and the runs of `Loaded` are there; `Index` is the type
  /// of `i`.
  std::string printBegin(int64_t Width, llvm::StringRef Index,
                         llvm::ArrayRef<Ahead> Loaded) const;
  /// Adds `Value`, the element of a result at `Place` of the thread's run, to
  /// the sums of that result.
  std::string printAdd(unsigned Result, llvm::StringRef Place,
                       llvm::StringRef Value) const;
  /// From the loop's end on.
  std::string printEnd(int64_t Width) const;
  /// The parameters for partial or whole sums.
  void addParameters(llvm::SmallVectorImpl<std::string> &Parameters,
                     std::vector<Argument> &Arguments) const;
  /// The launches that join partial sums.
  void addJoins(llvm::SmallVectorImpl<Launch> &Launches) const;

private:
  struct Sum {
    mlir::Operation *Op;
    unsigned Result;  ///< what it is of the kernel
    unsigned Summed;  ///< the result that is summed
    int64_t Partials; ///< byte in the workspace
  };
  bool isJoined() const { return Plan.Chunks > 1; }
  std::string getType(const Sum &S) const;

  ReducePlan Plan;
  llvm::SmallVector<Sum, 1> Sums;
};

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_POINTWISESUMS_H
