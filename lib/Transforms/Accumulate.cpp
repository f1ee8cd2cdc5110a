//===- Accumulate.cpp - a step over several micro-batches -----------------===//
//
// The block is unrolled: micro-batch i runs every operation on slice i of the
// inputs. What depends neither on an input, a state that is updated, nor on
// random numbers is computed once. Gradients and losses are added up as they
// are made, in f32, and divided by the number of micro-batches; outputs are
// stacked. A state is given from one micro-batch to the next, as from step to
// step.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "remat/Analysis/Uses.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace remat {

#define GEN_PASS_DEF_ACCUMULATE
#include "remat/Transforms/Passes.h.inc"

namespace {

class Accumulation {
public:
  Accumulation(func::FuncOp Graph, int64_t Count)
      : Graph(Graph), Block(Graph.getBody().front()), Count(Count),
        B(Block.getTerminator()) {}

  LogicalResult run();

private:
  LogicalResult check();
  void findStates();
  void markVarying();
  void sortResults();
  void widenInputs();
  void sliceInputs(int64_t Index);
  void mapSeeds(int64_t Index);
  void cloneBody(int64_t Index);
  void passStates();
  void addToSum(Value Original, Value Part, bool Last);
  void replaceResults();
  Value stack(unsigned Result);

  bool isAveraged(unsigned Result) const {
    std::optional<Role> R = getResultRole(Graph, Result);
    return R == Role::loss || R == Role::gradient;
  }

  func::FuncOp Graph;
  Block &Block;
  int64_t Count;
  OpBuilder B;
  SmallVector<std::pair<BlockArgument, RankedTensorType>> Inputs;
  /// A state that is updated, the result that is its new value, and its value
  /// before the current micro-batch.
  struct State {
    BlockArgument Argument;
    unsigned Result;
    Value Current;
  };
  SmallVector<State> States;
  SmallVector<Operation *> Body; ///< the operations that differ by micro-batch
  DenseSet<Value> Varying;       ///< their results, inputs, updated states
  IRMapping Mapping;             ///< of the current micro-batch
  DenseMap<Value, Value> Seeds;  ///< what draws numbers reads instead
  DenseSet<Value> Averaged;      ///< losses and gradients
  DenseMap<Value, Value> Sums;   ///< of averaged results
  DenseMap<Value, SmallVector<Value>> Parts; ///< of stacked results
};

} // namespace

/// `Type` with a leading dimension `Leading`, or null if its bytes overflow.
static RankedTensorType prepend(int64_t Leading, RankedTensorType Type) {
  SmallVector<int64_t> Shape = {Leading};
  llvm::append_range(Shape, Type.getShape());
  RankedTensorType Result = Type.clone(Shape);
  return getByteSize(Result) ? Result : RankedTensorType();
}

/// Whether `Count` of an input or output `What` can be stacked.
static LogicalResult checkStack(Location Loc, int64_t Count, const Twine &What,
                                Type Of) {
  auto Type = cast<RankedTensorType>(Of);
  if (Type.getRank() == MaxRank)
    return emitError(Loc) << Count << " micro-batches of " << What << " ("
                          << Type << ") have " << MaxRank + 1
                          << " dimensions, more than the " << MaxRank
                          << " that are supported";
  if (!prepend(Count, Type))
    return emitError(Loc) << Count << " micro-batches of " << What << " ("
                          << Type << ") do not fit 64-bit sizes";
  return success();
}

LogicalResult Accumulation::check() {
  for (unsigned Index : getArgsOfRole(Graph, Role::input))
    if (failed(checkStack(Graph.getArgument(Index).getLoc(), Count,
                          "input '" + getArgName(Graph, Index) + "'",
                          Graph.getArgument(Index).getType())))
      return failure();
  for (unsigned I = 0; I < Graph.getNumResults(); ++I) {
    std::optional<Role> R = getResultRole(Graph, I);
    Value Returned = getReturn(Graph).getOperand(I);
    if (R == Role::output &&
        failed(checkStack(Returned.getLoc(), Count, "result #" + Twine(I),
                          Returned.getType())))
      return failure();
    if (R == Role::loss || R == Role::output || R == Role::gradient ||
        llvm::any_of(States, [&](const State &S) { return S.Result == I; }))
      continue;
    InFlightDiagnostic Diag =
        Graph.emitError() << "result " << I
                          << " is neither a loss, an output, a gradient nor "
                             "a state's new value: it cannot be accumulated";
    Diag.attachNote() << "run remat-accumulate behind remat-differentiate and "
                         "before remat-add-optimizer";
    return Diag;
  }
  return success();
}

void Accumulation::findStates() {
  for (unsigned Index : getArgsOfRole(Graph, Role::state)) {
    BlockArgument Argument = Graph.getArgument(Index);
    if (std::optional<unsigned> Result = getDonatedResult(Argument))
      States.push_back({Argument, *Result, Argument});
  }
}

void Accumulation::markVarying() {
  for (const State &S : States)
    Varying.insert(S.Argument);
  for (unsigned Index : getArgsOfRole(Graph, Role::input))
    Varying.insert(Graph.getArgument(Index));
  for (Operation &Op : Block.without_terminator()) {
    if (!drawsNumbers(Op) && llvm::none_of(Op.getOperands(), [&](Value V) {
          return Varying.contains(V);
        }))
      continue;
    Body.push_back(&Op);
    Varying.insert_range(Op.getResults());
  }
}

void Accumulation::sortResults() {
  for (unsigned I = 0; I < Graph.getNumResults(); ++I) {
    Value Original = getReturn(Graph).getOperand(I);
    if (isAveraged(I))
      Averaged.insert(Original);
    else if (getResultRole(Graph, I) == Role::output)
      Parts[Original];
  }
}

void Accumulation::widenInputs() {
  SignatureEditor Signature(Graph);
  for (unsigned Index : getArgsOfRole(Graph, Role::input)) {
    auto Type = cast<RankedTensorType>(Graph.getArgument(Index).getType());
    if (!Graph.getArgument(Index).use_empty())
      Inputs.push_back({Graph.getArgument(Index), Type});
    Signature.setArgumentType(Index, prepend(Count, Type));
  }
  Signature.write();
}

/// Maps each input to slice `Index`: two views, no bytes move.
void Accumulation::sliceInputs(int64_t Index) {
  for (auto [Input, Type] : Inputs) {
    SmallVector<int64_t> Offsets(Type.getRank() + 1, 0), Sizes = {1};
    Offsets.front() = Index;
    llvm::append_range(Sizes, Type.getShape());
    Value Slice = SliceOp::create(B, Input.getLoc(), Input, Offsets, Sizes);
    Value Part = ReshapeOp::create(B, Input.getLoc(), Type, Slice);
    Mapping.map(Input, Part);
    if (Averaged.contains(Input))
      addToSum(Input, Part, Index == Count - 1);
  }
}

/// Micro-batches draw other numbers: the upper half of the seed counts them.
void Accumulation::mapSeeds(int64_t Index) {
  if (Index == 0)
    return;
  for (unsigned Argument : getArgsOfRole(Graph, Role::seed)) {
    Value Seed = Graph.getArgument(Argument);
    if (Seed.use_empty())
      continue;
    auto Type = cast<RankedTensorType>(Seed.getType());
    Value Shift = ConstantOp::create(
        B, Seed.getLoc(),
        DenseElementsAttr::get(Type, B.getI64IntegerAttr(Index << 32)));
    Seeds[Seed] = AddOp::create(B, Seed.getLoc(), Seed, Shift);
  }
}

/// Adds micro-batch `Part` of an averaged result to the sum so far; the last
/// one divides it. The sum belongs to the phase of what it adds.
void Accumulation::addToSum(Value Original, Value Part, bool Last) {
  PhaseMarker Marker(Graph.getContext(), Phase::backward);
  Operation *Op = Original.getDefiningOp();
  OpBuilder Adder(B);
  if (Op && Op->hasAttr(PhaseAttrName))
    Adder.setListener(&Marker);
  Location Loc = Original.getLoc();
  Type F32 = Adder.getF32Type();
  auto Type = cast<RankedTensorType>(Part.getType()).clone(F32);
  if (Part.getType() != Type)
    Part = CastOp::create(Adder, Loc, Type, Part);
  Value &Sum = Sums[Original];
  Sum = Sum ? AddOp::create(Adder, Loc, Sum, Part).getResult() : Part;
  if (!Last)
    return;
  Value Factor = ConstantOp::create(
      Adder, Loc,
      DenseElementsAttr::get(RankedTensorType::get({}, F32),
                             Adder.getF32FloatAttr(1.0 / double(Count))));
  Sum = MulOp::create(Adder, Loc, Sum, Factor);
}

void Accumulation::cloneBody(int64_t Index) {
  for (Operation *Op : Body) {
    Operation *Clone = B.clone(*Op, Mapping);
    if (drawsNumbers(*Op))
      for (auto [Seed, Own] : Seeds)
        Clone->replaceUsesOfWith(Seed, Own);
    for (auto [Original, Part] :
         llvm::zip_equal(Op->getResults(), Clone->getResults()))
      if (Averaged.contains(Original))
        addToSum(Original, Part, Index == Count - 1);
  }
  for (auto &[Original, Copies] : Parts)
    Copies.push_back(Mapping.lookupOrDefault(Original));
}

/// What a micro-batch leaves in the states is what the next one finds there.
void Accumulation::passStates() {
  for (State &S : States)
    S.Current = Mapping.lookupOrDefault(getReturn(Graph).getOperand(S.Result));
}

Value Accumulation::stack(unsigned Result) {
  Value Original = getReturn(Graph).getOperand(Result);
  Location Loc = Original.getLoc();
  SmallVector<Value> Rows;
  for (Value Part : Parts[Original]) {
    RankedTensorType Row = prepend(1, cast<RankedTensorType>(Part.getType()));
    Rows.push_back(ReshapeOp::create(B, Loc, Row, Part));
  }
  return ConcatOp::create(B, Loc, Rows, B.getI64IntegerAttr(0));
}

/// A result that is equal in every micro-batch is its own average.
void Accumulation::replaceResults() {
  SignatureEditor Signature(Graph);
  for (unsigned I = 0; I < Graph.getNumResults(); ++I) {
    Value Original = getReturn(Graph).getOperand(I);
    if (getResultRole(Graph, I) == Role::output)
      Signature.setResult(I, stack(I));
    else if (Value Sum = isAveraged(I) ? Sums.lookup(Original) : Value())
      Signature.setResult(I, Sum);
  }
  for (const State &S : States)
    Signature.setResult(S.Result, S.Current);
  Signature.write();
}

LogicalResult Accumulation::run() {
  findStates();
  if (failed(check()))
    return failure();
  markVarying();
  sortResults();
  widenInputs();
  for (int64_t Index = 0; Index < Count; ++Index) {
    Mapping.clear();
    for (const State &S : States) {
      Mapping.map(S.Argument, S.Current);
      if (Averaged.contains(S.Argument))
        addToSum(S.Argument, S.Current, Index == Count - 1);
    }
    sliceInputs(Index);
    mapSeeds(Index);
    cloneBody(Index);
    passStates();
  }
  replaceResults();
  for (Operation *Op : llvm::reverse(Body))
    Op->erase();
  return success();
}

namespace {
class Accumulate : public impl::AccumulateBase<Accumulate> {
public:
  using AccumulateBase::AccumulateBase;

private:
  void runOnGraph() override {
    func::FuncOp Graph = getOperation();
    int64_t Count = microBatches.getValue();
    // Each micro-batch copies the graph; a count past any use is a slip.
    constexpr int64_t Most = 4096;
    if (Count < 1 || Count > Most) {
      Graph.emitError() << "micro-batches is " << Count
                        << "; it must be from 1 to " << Most;
      return signalPassFailure();
    }
    if (Count == 1)
      return;
    if (failed(Accumulation(Graph, Count).run()))
      signalPassFailure();
  }
};
} // namespace

} // namespace remat
