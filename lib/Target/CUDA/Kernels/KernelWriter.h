//===- KernelWriter.h - what all kernel printers share ----------*- C++ -*-===//

#ifndef REMAT_LIB_TARGET_CUDA_KERNELS_KERNELWRITER_H
#define REMAT_LIB_TARGET_CUDA_KERNELS_KERNELWRITER_H

#include "KernelTemplates.h"
#include "remat/IR/RematOps.h"
#include "remat/Target/CUDA/KernelLibrary.h"

namespace remat::cuda {

using Launches = llvm::SmallVectorImpl<Launch>;

inline mlir::RankedTensorType getType(mlir::Value V) {
  return llvm::cast<mlir::RankedTensorType>(V.getType());
}
inline int64_t getCount(mlir::Value V) { return getType(V).getNumElements(); }
inline int64_t getColumns(mlir::Value V) {
  return getType(V).getShape().back();
}
inline int64_t getBytes(mlir::Value V) {
  return getElementBytes(getType(V).getElementType());
}
inline std::string getName(mlir::Value V) {
  return getTypeName(getType(V).getElementType()).str();
}

/// The operand `Of`.
inline Passed operand(mlir::OpOperand &Of) {
  return operand(Of.getOperandNumber());
}

/// Elements of each of `Values` that one access may move: a power of two, at
/// most 16 bytes of the widest, that divides `Run` elements and is aligned in
/// every one.
int64_t getAccessWidth(llvm::ArrayRef<mlir::Value> Values, int64_t Run);

/// The dimensions of `Shape` that are in `Dims`, or those that are not,
/// innermost first: a kernels::StrideList.
TypeName getStrides(llvm::ArrayRef<int64_t> Shape, llvm::ArrayRef<int64_t> Dims,
                    bool Reduced);

/// Where and how large a launch is.
struct LaunchSize {
  int64_t Block; ///< threads
  int64_t GridX = 1, GridY = 1;
  int64_t SharedBytes = 0;
  int64_t BlocksPerMultiprocessor = 0; ///< that registers must leave room for
};

/// Appends the launch of `Kernel`, a struct of KernelTemplates.h.
template <typename T>
void addLaunch(llvm::StringRef Name, const T &Kernel, const LaunchSize &Size,
               Launches &Out) {
  Launch L;
  L.Name = Name.str();
  Kernel.print(L);
  L.Grid = {Size.GridX, Size.GridY, 1};
  L.Block = {static_cast<uint32_t>(Size.Block), 1, 1};
  L.SharedBytes = static_cast<uint32_t>(Size.SharedBytes);
  L.BlocksPerMultiprocessor = Size.BlocksPerMultiprocessor;
  Out.push_back(std::move(L));
}

/// The own kernels of one operation.
struct OwnKernels {
  llvm::StringRef Operation; ///< its name
  void (*AddLaunches)(mlir::Operation *Op, Launches &Out);
  KernelNeeds (*GetNeeds)(mlir::Operation *Op);
};

/// A row of such a table: `Add` appends the launches of an `OpT`, and `Needs`
/// says what they take where that is more than one launch without workspace.
template <typename OpT, auto Add, auto Needs = nullptr> OwnKernels kernelsOf() {
  return {
      OpT::getOperationName(),
      [](mlir::Operation *Op, Launches &Out) { Add(llvm::cast<OpT>(Op), Out); },
      [](mlir::Operation *Op) -> KernelNeeds {
        if constexpr (std::is_null_pointer_v<decltype(Needs)>)
          return {};
        else
          return Needs(llvm::cast<OpT>(Op));
      }};
}

/// The table of each file.
llvm::ArrayRef<OwnKernels> getAttentionKernels();
llvm::ArrayRef<OwnKernels> getEmbeddingKernels();
llvm::ArrayRef<OwnKernels> getIndexKernels();
llvm::ArrayRef<OwnKernels> getLossKernels();
llvm::ArrayRef<OwnKernels> getOptimizerKernels();
llvm::ArrayRef<OwnKernels> getMomentKernels();
llvm::ArrayRef<OwnKernels> getReduceKernels();
llvm::ArrayRef<OwnKernels> getRowKernels();
llvm::ArrayRef<OwnKernels> getShapeKernels();
llvm::ArrayRef<OwnKernels> getWindowKernels();

/// What the sums over rows of a kernel of elementwise operations take.
KernelNeeds getSumNeeds(KernelOp Op);

/// Whether heads of `Width` elements fit in shared memory.
bool hasAttentionKernels(int64_t Width);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_KERNELS_KERNELWRITER_H
