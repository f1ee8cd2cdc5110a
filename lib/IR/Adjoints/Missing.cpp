//===- Missing.cpp - operations without an adjoint --------------*- C++ -*-===//

#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

#define REMAT_NO_ADJOINT(OP)                                                   \
  LogicalResult OP::buildAdjoint(OpBuilder &, ValueRange, ArrayRef<bool>,      \
                                 MutableArrayRef<Value>) {                     \
    return emitOpError("has no adjoint");                                      \
  }

REMAT_NO_ADJOINT(AbsOp)
REMAT_NO_ADJOINT(AddOp)
REMAT_NO_ADJOINT(AttentionOp)
REMAT_NO_ADJOINT(BroadcastOp)
REMAT_NO_ADJOINT(CastOp)
REMAT_NO_ADJOINT(ConcatOp)
REMAT_NO_ADJOINT(CosOp)
REMAT_NO_ADJOINT(CrossEntropyOp)
REMAT_NO_ADJOINT(DivOp)
REMAT_NO_ADJOINT(DropoutOp)
REMAT_NO_ADJOINT(EmbeddingOp)
REMAT_NO_ADJOINT(ErfOp)
REMAT_NO_ADJOINT(ExpOp)
REMAT_NO_ADJOINT(GeluOp)
REMAT_NO_ADJOINT(LayerNormOp)
REMAT_NO_ADJOINT(LogOp)
REMAT_NO_ADJOINT(MatmulOp)
REMAT_NO_ADJOINT(MaxOp)
REMAT_NO_ADJOINT(MinOp)
REMAT_NO_ADJOINT(MseOp)
REMAT_NO_ADJOINT(MulOp)
REMAT_NO_ADJOINT(NegOp)
REMAT_NO_ADJOINT(PadOp)
REMAT_NO_ADJOINT(PowOp)
REMAT_NO_ADJOINT(ReciprocalOp)
REMAT_NO_ADJOINT(ReduceOp)
REMAT_NO_ADJOINT(ReluOp)
REMAT_NO_ADJOINT(ReshapeOp)
REMAT_NO_ADJOINT(RsqrtOp)
REMAT_NO_ADJOINT(SelectOp)
REMAT_NO_ADJOINT(SigmoidOp)
REMAT_NO_ADJOINT(SiluOp)
REMAT_NO_ADJOINT(SinOp)
REMAT_NO_ADJOINT(SliceOp)
REMAT_NO_ADJOINT(SoftmaxOp)
REMAT_NO_ADJOINT(SqrtOp)
REMAT_NO_ADJOINT(SubOp)
REMAT_NO_ADJOINT(TanhOp)
REMAT_NO_ADJOINT(TransposeOp)
