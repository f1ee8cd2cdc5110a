//===- ElementwiseFolds.cpp - folders of elementwise ops --------*- C++ -*-===//

#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult NegOp::fold(FoldAdaptor) {
  if (auto Inner = getOperand().getDefiningOp<NegOp>())
    return Inner.getOperand();
  return {};
}

OpFoldResult AddOp::fold(FoldAdaptor) { return {}; }
OpFoldResult SubOp::fold(FoldAdaptor) { return {}; }
OpFoldResult MulOp::fold(FoldAdaptor) { return {}; }
OpFoldResult DivOp::fold(FoldAdaptor) { return {}; }

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getResult().getType())
    return getOperand();
  return {};
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  if (getP().isZero())
    return getOperand();
  return {};
}
