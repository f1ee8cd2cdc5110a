//===- Loops.cpp - along what an operation can be cut -----------*- C++ -*-===//
//
// What each operation answers to LoopOpInterface.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

static ArrayRef<int64_t> getShape(Value V) {
  return getTensorType(V).getShape();
}

//===----------------------------------------------------------------------===//
// What many operations have in common
//===----------------------------------------------------------------------===//

/// The dimension of `Of` that broadcasting repeats along dimension `Dim` of
/// `Result`, or reads there.
static int64_t alignDim(Value Of, Value Result, int64_t Dim) {
  int64_t Own =
      Dim - (getTensorType(Result).getRank() - getTensorType(Of).getRank());
  bool Runs = Own >= 0 && getShape(Of)[Own] == getShape(Result)[Dim];
  return Runs ? Own : Loop::None;
}

SmallVector<Loop> remat::detail::getPointwiseLoops(Operation *Op) {
  Value Result = Op->getResult(0);
  SmallVector<Loop> Loops;
  for (auto [Dim, Size] : llvm::enumerate(getShape(Result))) {
    if (Size == 1)
      continue;
    Loop L;
    for (Value Operand : Op->getOperands())
      L.Operands.push_back(alignDim(Operand, Result, Dim));
    L.Results = {static_cast<int64_t>(Dim)};
    Loops.push_back(std::move(L));
  }
  return Loops;
}

void remat::detail::cutResults(Operation *Op, const Loop &Along,
                               int64_t Count) {
  for (auto [Result, Dim] : llvm::zip_equal(Op->getResults(), Along.Results)) {
    if (Dim == Loop::None)
      continue;
    auto Type = getTensorType(Result);
    SmallVector<int64_t> Shape(Type.getShape());
    Shape[Dim] /= Count;
    Result.setType(Type.clone(Shape));
  }
}

/// One loop for each dimension but the last of the values that hold rows:
/// `Operands` and `Results` say which ones do. Other results are sums over
/// rows.
static SmallVector<Loop> getRowLoops(Value Rows, ArrayRef<bool> Operands,
                                     ArrayRef<bool> Results) {
  SmallVector<Loop> Loops;
  for (int64_t Dim = 0; Dim + 1 < getTensorType(Rows).getRank(); ++Dim) {
    auto Run = [&](bool HoldsRows) { return HoldsRows ? Dim : Loop::None; };
    Loops.push_back({llvm::map_to_vector(Operands, Run),
                     llvm::map_to_vector(Results, Run)});
  }
  return Loops;
}

SmallVector<Loop> SoftmaxOp::getLoops() {
  return getRowLoops(getOperand(), {true}, {true});
}
SmallVector<Loop> SoftmaxBackwardOp::getLoops() {
  return getRowLoops(getOutput(), {true, true}, {true});
}
SmallVector<Loop> LayerNormOp::getLoops() {
  return getRowLoops(getOperand(), {true, false, false}, {true, true, true});
}
SmallVector<Loop> LayerNormBackwardOp::getLoops() {
  bool Operands[] = {true, true, false, true, true, /*addend=*/true};
  bool Results[] = {true, false, false, /*sum=*/false};
  return getRowLoops(getOperand(),
                     ArrayRef(Operands).take_front(getNumOperands()),
                     ArrayRef(Results).take_front(getNumResults()));
}
SmallVector<Loop> RMSNormOp::getLoops() {
  return getRowLoops(getOperand(), {true, false}, {true, true});
}
SmallVector<Loop> RMSNormBackwardOp::getLoops() {
  bool Operands[] = {true, true, false, true, /*addend=*/true};
  return getRowLoops(getOperand(),
                     ArrayRef(Operands).take_front(getNumOperands()),
                     {true, false});
}

//===----------------------------------------------------------------------===//
// Matrix product
//===----------------------------------------------------------------------===//

SmallVector<Loop> MatmulOp::getLoops() {
  int64_t Lhs = getLhs().getType().getRank(),
          Rhs = getRhs().getType().getRank();
  int64_t Result = getResult().getType().getRank();
  constexpr int64_t None = Loop::None;
  SmallVector<Loop> Loops;
  auto Add = [&](int64_t InLhs, int64_t InRhs, int64_t InBias,
                 int64_t InResult) {
    Loop L = {{InLhs, InRhs}, {InResult}};
    if (getBias())
      L.Operands.push_back(InBias);
    if (getAddend())
      L.Operands.push_back(InResult);
    Loops.push_back(std::move(L));
  };
  for (int64_t Dim = 0; Dim + 2 < Result; ++Dim)
    Add(Lhs > 2 ? Dim : None, Rhs > 2 ? Dim : None, None, Dim);
  Add(Lhs - (getTransposeLhs() ? 1 : 2), None, None, Result - 2);
  Add(None, Rhs - (getTransposeRhs() ? 2 : 1), 0, Result - 1);
  // Parts of a sum with an addend have no type that holds both.
  if (getAddend())
    return Loops;
  Add(Lhs - (getTransposeLhs() ? 2 : 1), Rhs - (getTransposeRhs() ? 1 : 2),
      None, None);
  if (getBias())
    Loops.back().Once = 2;
  return Loops;
}

/// A part of a sum stays f32, so that the whole is rounded once.
void MatmulOp::becomeSlice(const Loop &Along, int64_t Count) {
  detail::cutResults(*this, Along, Count);
  if (Along.Results.front() == Loop::None)
    getResult().setType(
        getResult().getType().clone(Float32Type::get(getContext())));
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

SmallVector<Loop> CrossEntropyOp::getLoops() {
  SmallVector<Loop> Loops =
      getRowLoops(getLogits(), {true, true}, {false, true});
  for (Loop &L : Loops)
    L.IsMean = true;
  return Loops;
}

SmallVector<Loop> CrossEntropyBackwardOp::getLoops() {
  SmallVector<Loop> Loops =
      getRowLoops(getLogits(), {false, true, true, true}, {true});
  for (Loop &L : Loops) {
    L.IsMean = true;
    L.Shared = 0;
  }
  return Loops;
}

/// The part of the rows that count, whose target is not `Ignored`, that each
/// slice has.
static Value buildCountedShares(OpBuilder &Builder, Location Loc, Value Targets,
                                int64_t Ignored, int64_t Dim, int64_t Count) {
  ImplicitLocOpBuilder B(Loc, Builder);
  RankedTensorType Type = getTensorType(Targets);
  SmallVector<int64_t> Shape(Type.getShape());
  Shape[Dim] /= Count;
  Shape.insert(Shape.begin() + Dim, Count);
  auto Constant = [&](TypedAttr Value) -> mlir::Value {
    auto Scalar = RankedTensorType::get({}, Value.getType());
    return ConstantOp::create(B, DenseElementsAttr::get(Scalar, Value));
  };
  Value Sliced = ReshapeOp::create(B, Type.clone(Shape), Targets);
  Value Counts = CompareOp::create(
      B, Predicate::ne, Sliced,
      Constant(B.getIntegerAttr(Type.getElementType(), Ignored)));
  Counts =
      CastOp::create(B, RankedTensorType::get(Shape, B.getF32Type()), Counts);
  SmallVector<int64_t> Others;
  for (int64_t Other = 0, Rank = Shape.size(); Other < Rank; ++Other)
    if (Other != Dim)
      Others.push_back(Other);
  Counts = ReduceOp::create(B, Reduction::sum, Counts, Others);
  // Where no row counts, loss and gradients are zero whatever the shares are.
  Value All = ReduceOp::create(B, Reduction::sum, Counts, ArrayRef<int64_t>(0));
  All = MaxOp::create(B, All, Constant(B.getF32FloatAttr(1)));
  return DivOp::create(B, Counts, All);
}

Value CrossEntropyOp::buildShares(OpBuilder &B, const Loop &Along,
                                  int64_t Count) {
  return buildCountedShares(B, getLoc(), getTargets(), getIgnoreIndex(),
                            Along.Operands[1], Count);
}
Value CrossEntropyBackwardOp::buildShares(OpBuilder &B, const Loop &Along,
                                          int64_t Count) {
  return buildCountedShares(B, getLoc(), getTargets(), getIgnoreIndex(),
                            Along.Operands[2], Count);
}

SmallVector<Loop> MseOp::getLoops() {
  SmallVector<Loop> Loops;
  for (int64_t Dim = 0; Dim < getPrediction().getType().getRank(); ++Dim)
    Loops.push_back({{Dim, Dim}, {Loop::None}, /*IsMean=*/true});
  return Loops;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Equal parts of a dimension are equal parts of another one if as many
/// elements lie before both.
SmallVector<Loop> ReshapeOp::getLoops() {
  ArrayRef<int64_t> From = getShape(getOperand()), To = getShape(getResult());
  SmallVector<Loop> Loops;
  int64_t Before = 1, BeforeTo = 1, DimTo = 0;
  for (auto [Dim, Size] : llvm::enumerate(From)) {
    for (; DimTo < static_cast<int64_t>(To.size()) &&
           (BeforeTo < Before || To[DimTo] == 1);
         ++DimTo)
      BeforeTo *= To[DimTo];
    if (Size != 1 && BeforeTo == Before &&
        DimTo < static_cast<int64_t>(To.size()))
      Loops.push_back({{static_cast<int64_t>(Dim)}, {DimTo}});
    Before *= Size;
  }
  return Loops;
}

SmallVector<Loop> TransposeOp::getLoops() {
  SmallVector<Loop> Loops;
  for (auto [Dim, From] : llvm::enumerate(getPermutation()))
    Loops.push_back({{From}, {static_cast<int64_t>(Dim)}});
  return Loops;
}

/// Along the dimensions that are whole in the slice.
SmallVector<Loop> SliceOp::getLoops() {
  SmallVector<Loop> Loops;
  for (auto [Dim, Size] : llvm::enumerate(getShape(getOperand())))
    if (getSizes()[Dim] == Size)
      Loops.push_back(
          {{static_cast<int64_t>(Dim)}, {static_cast<int64_t>(Dim)}});
  return Loops;
}

void SliceOp::becomeSlice(const Loop &Along, int64_t Count) {
  detail::cutResults(*this, Along, Count);
  setSizes(getShape(getResult()));
}

SmallVector<Loop> ReduceOp::getLoops() {
  SmallVector<Loop> Loops;
  int64_t Kept = 0;
  for (int64_t Dim = 0; Dim < getTensorType(getOperand()).getRank(); ++Dim) {
    bool IsReduced = llvm::is_contained(getDims(), Dim);
    if (!IsReduced)
      Loops.push_back({{Dim}, {getKeepDims() ? Dim : Kept++}});
    else if (getKind() != Reduction::max)
      Loops.push_back(
          {{Dim}, {Loop::None}, /*IsMean=*/getKind() == Reduction::mean});
  }
  return Loops;
}
