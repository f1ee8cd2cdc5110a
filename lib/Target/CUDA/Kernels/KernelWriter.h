//===- KernelWriter.h - what all kernel printers share ----------*- C++ -*-===//

#ifndef REMAT_LIB_TARGET_CUDA_KERNELS_KERNELWRITER_H
#define REMAT_LIB_TARGET_CUDA_KERNELS_KERNELWRITER_H

#include "remat/IR/RematOps.h"
#include "remat/Target/CUDA/KernelLibrary.h"
#include "llvm/ADT/StringMap.h"

namespace remat::cuda {

using Launches = llvm::SmallVectorImpl<Launch>;

inline mlir::RankedTensorType getType(mlir::Value V) {
  return llvm::cast<mlir::RankedTensorType>(V.getType());
}
inline int64_t getCount(mlir::Value V) { return getType(V).getNumElements(); }
inline int64_t getBytes(mlir::Value V) {
  return getElementBytes(getType(V).getElementType());
}
inline std::string getName(mlir::Value V) {
  return getTypeName(getType(V).getElementType()).str();
}

/// Elements of each of `Values` that one access may move: a power of two, at
/// most 16 bytes of the widest, that divides `Run` elements and is aligned in
/// every one.
int64_t getAccessWidth(llvm::ArrayRef<mlir::Value> Values, int64_t Run);

/// A number as a CUDA float literal that reads back to the same float.
std::string printFloat(double Number);

/// A kernel under construction: a template in which `@KEY@` stands for text.
class Writer {
public:
  Writer(llvm::StringRef Name, llvm::StringRef Template);

  Writer &set(llvm::StringRef Key, std::string Text);
  Writer &set(llvm::StringRef Key, int64_t Number);

  Writer &grid(int64_t X, int64_t Y = 1, int64_t Z = 1);
  Writer &block(int64_t Threads);
  Writer &shared(int64_t Bytes);

  Writer &operand(unsigned Index);
  Writer &result(unsigned Index);
  Writer &workspace(int64_t Offset = 0);
  Writer &integer(int64_t Number);

  /// Replaces the placeholders and appends the launch.
  void finish(Launches &Out);

private:
  Launch Result;
  llvm::StringMap<std::string> Values;
};

void addReduce(ReduceOp Op, Launches &Out);
void addSoftmax(SoftmaxOp Op, Launches &Out);
void addSoftmaxBackward(SoftmaxBackwardOp Op, Launches &Out);
void addLayerNorm(LayerNormOp Op, Launches &Out);
void addLayerNormBackward(LayerNormBackwardOp Op, Launches &Out);
void addCrossEntropy(CrossEntropyOp Op, Launches &Out);
void addCrossEntropyBackward(CrossEntropyBackwardOp Op, Launches &Out);
void addMse(MseOp Op, Launches &Out);
void addEmbedding(EmbeddingOp Op, Launches &Out);
void addEmbeddingBackward(EmbeddingBackwardOp Op, Launches &Out);
void addTranspose(TransposeOp Op, Launches &Out);
void addSlice(SliceOp Op, Launches &Out);
void addPad(PadOp Op, Launches &Out);
void addConcat(ConcatOp Op, Launches &Out);
void addBroadcast(BroadcastOp Op, Launches &Out);
void addReshape(ReshapeOp Op, Launches &Out);
void addSgd(SgdOp Op, Launches &Out);
void addAdamW(AdamWOp Op, Launches &Out);
void addGlobalNorm(GlobalNormOp Op, Launches &Out);
/// Whether heads of `Width` elements fit in shared memory.
bool hasAttentionKernels(int64_t Width);
void addAttention(AttentionOp Op, Launches &Out);
void addAttentionBackward(AttentionBackwardOp Op, Launches &Out);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_KERNELS_KERNELWRITER_H
