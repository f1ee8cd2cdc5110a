//===- PointwiseIndex.h - where a broadcast operand's element is *- C++ -*-===//
//
// Private to lib/Target/CUDA.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_POINTWISEINDEX_H
#define REMAT_LIB_TARGET_CUDA_POINTWISEINDEX_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace remat::cuda {

/// How the elements of one operand lie over the linear index of a kernel whose
/// shape it broadcasts to: a sum of terms `i / Divide % Modulo * Scale`.
class BroadcastIndex {
public:
  BroadcastIndex(llvm::ArrayRef<int64_t> From, llvm::ArrayRef<int64_t> To);

  bool isFull() const { return Full; }
  /// One element serves the whole kernel.
  bool isScalar() const { return Terms.empty() && !Full; }
  /// The length of the runs of the kernel's index within which the operand
  /// either walks along with it or stays where it is.
  int64_t getRun() const { return Run; }
  /// Whether it walks along within a run.
  bool isContiguous() const { return Contiguous; }
  /// The element's index as an expression over `Index`, whose literals get
  /// `Suffix`.
  std::string print(llvm::StringRef Index, llvm::StringRef Suffix) const;

private:
  struct Term {
    int64_t Divide, Modulo, Scale; ///< Modulo 0: none
  };
  llvm::SmallVector<Term, 2> Terms;
  bool Full = false, Contiguous = false;
  int64_t Run = 0;
};

/// Where the elements lie that a roll brings to the linear index of a kernel of
/// its operand's shape.
class RollIndex {
public:
  RollIndex(llvm::ArrayRef<int64_t> Shape, int64_t Dim, int64_t Shift);

  /// The length of aligned runs of the index that are runs of the operand too.
  int64_t getRun() const;
  /// As of BroadcastIndex.
  std::string print(llvm::StringRef Index, llvm::StringRef Suffix) const;

private:
  int64_t Period = 1; ///< elements of a line's slices, which roll together
  int64_t Moved = 0;  ///< elements that each moves on
};

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_POINTWISEINDEX_H
