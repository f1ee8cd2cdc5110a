//===- Accumulate.cpp - a step over several micro-batches -----------------===//
//
// A loop runs what differs from one micro-batch to another; all else stands
// before it and is computed once. The loop carries the states, which pass from
// one micro-batch to the next as from step to step, the seeds, and sums of
// gradients and losses in f32, which are divided behind it. It slices inputs
// and stacks outputs.
//
//===----------------------------------------------------------------------===//

#include "Accumulate.h"
#include "mlir/IR/IRMapping.h"
#include "remat/Analysis/ScanBody.h"
#include "remat/Analysis/Uses.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

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
  void findSeeds();
  void markVarying();
  void sortResults();
  void collectOperands();
  void widenInputs();
  Location getLocation();
  void buildLoop();
  void addArguments(ScanOp Loop);
  void cloneBody(OpBuilder &Inner);
  Value nextSeed(OpBuilder &Inner, Value Seed);
  Value addToSum(OpBuilder &Inner, Value Original, Value Sum);
  void yield(ScanOp Loop, OpBuilder &Inner);
  Value average(Value Original, Value Sum);
  void replaceResults();

  /// Whether the seeds that `Op` reads are those of the micro-batch.
  bool readsSeeds(Operation *Op) const {
    return drawsNumbers(*Op) || SeedOps.contains(Op);
  }
  bool isAveraged(unsigned Result) const {
    std::optional<Role> R = getResultRole(Graph, Result);
    return R == Role::loss || R == Role::gradient;
  }
  Value getReturned(unsigned Result) {
    return getReturn(Graph).getOperand(Result);
  }

  func::FuncOp Graph;
  Block &Block;
  int64_t Count;
  OpBuilder B;
  SmallVector<BlockArgument> Inputs;
  /// A state that is updated, and the result that is its new value.
  struct State {
    BlockArgument Argument;
    unsigned Result;
  };
  SmallVector<State> States;
  SmallVector<BlockArgument> Seeds; ///< those that numbers are drawn with
  /// Operations that compute, from a seed, another one to draw with.
  DenseSet<Operation *> SeedOps;
  SmallVector<Operation *> Body; ///< the operations that differ by micro-batch
  DenseSet<Value> Varying;       ///< their results, inputs, updated states
  llvm::SetVector<Value> Averaged; ///< losses and gradients that vary
  llvm::SetVector<Value> Stacked;  ///< outputs
  SmallVector<Type> Sums, Stacks; ///< of these, the types in the loop's results
  llvm::SetVector<Value> Reads;   ///< what the loop reads from outside
  SmallVector<Operation *> Splats; ///< constants that it makes itself
  IRMapping Mapping;               ///< into the loop
  SmallVector<Value> Made;         ///< the loop's results
};

} // namespace

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
    Diag.attachNote() << WhereToAccumulate;
    return Diag;
  }
  return success();
}

void Accumulation::findStates() {
  for (unsigned Index : getArgsOfRole(Graph, Role::state)) {
    BlockArgument Argument = Graph.getArgument(Index);
    if (std::optional<unsigned> Result = getDonatedResult(Argument))
      States.push_back({Argument, *Result});
  }
}

/// What draws numbers may read a seed or what is computed from one, as ranks
/// that draw other numbers do.
void Accumulation::findSeeds() {
  SmallVector<Value> Read;
  for (Operation &Op : Block.without_terminator())
    if (drawsNumbers(Op))
      llvm::append_range(Read, Op.getOperands());
  DenseSet<Value> FromSeeds;
  for (unsigned Index : getArgsOfRole(Graph, Role::seed))
    FromSeeds.insert(Graph.getArgument(Index));
  for (Operation &Op : Block.without_terminator())
    if (!drawsNumbers(Op) && llvm::any_of(Op.getOperands(), [&](Value V) {
          return FromSeeds.contains(V);
        }))
      FromSeeds.insert_range(Op.getResults());
  llvm::SetVector<BlockArgument> Found;
  while (!Read.empty()) {
    Value V = Read.pop_back_val();
    if (!FromSeeds.contains(V))
      continue;
    if (auto Argument = dyn_cast<BlockArgument>(V))
      Found.insert(Argument);
    else if (SeedOps.insert(V.getDefiningOp()).second)
      llvm::append_range(Read, V.getDefiningOp()->getOperands());
  }
  Seeds = Found.takeVector();
  llvm::sort(Seeds, [](BlockArgument L, BlockArgument R) {
    return L.getArgNumber() < R.getArgNumber();
  });
}

void Accumulation::markVarying() {
  for (const State &S : States)
    Varying.insert(S.Argument);
  for (unsigned Index : getArgsOfRole(Graph, Role::input))
    Varying.insert(Graph.getArgument(Index));
  for (Operation &Op : Block.without_terminator()) {
    if (!readsSeeds(&Op) && llvm::none_of(Op.getOperands(), [&](Value V) {
          return Varying.contains(V);
        }))
      continue;
    Body.push_back(&Op);
    Varying.insert_range(Op.getResults());
  }
}

/// A loss or gradient that is equal in every micro-batch is its own average.
void Accumulation::sortResults() {
  for (unsigned I = 0; I < Graph.getNumResults(); ++I) {
    Value V = getReturned(I);
    auto Type = cast<RankedTensorType>(V.getType());
    if (getResultRole(Graph, I) == Role::output) {
      if (Stacked.insert(V))
        Stacks.push_back(prepend(Count, Type));
    } else if (isAveraged(I) && Varying.contains(V) && Averaged.insert(V)) {
      Sums.push_back(Type.clone(B.getF32Type()));
    }
  }
}

/// Inputs that are read, and what is read of the values outside. A constant of
/// one value is made where it is read, which costs nothing inside a kernel.
void Accumulation::collectOperands() {
  llvm::SetVector<Value> Outside;
  for (Operation *Op : Body)
    for (Value V : Op->getOperands())
      if (!readsSeeds(Op) || !llvm::is_contained(Seeds, V))
        Outside.insert(V);
  Outside.insert_range(Stacked);
  Outside.insert_range(Averaged);
  for (const State &S : States)
    Outside.insert(getReturned(S.Result));
  for (Value V : Outside) {
    auto Argument = dyn_cast<BlockArgument>(V);
    if (Argument && getArgRole(Graph, Argument.getArgNumber()) == Role::input)
      Inputs.push_back(Argument);
    else if (auto Splat = V.getDefiningOp<ConstantOp>();
             Splat && Splat.getValue().isSplat())
      Splats.push_back(Splat);
    else if (!Varying.contains(V))
      Reads.insert(V);
  }
  llvm::sort(Inputs, [](BlockArgument L, BlockArgument R) {
    return L.getArgNumber() < R.getArgNumber();
  });
}

void Accumulation::widenInputs() {
  SignatureEditor Signature(Graph);
  for (unsigned Index : getArgsOfRole(Graph, Role::input)) {
    auto Type = cast<RankedTensorType>(Graph.getArgument(Index).getType());
    Signature.setArgumentType(Index, prepend(Count, Type));
  }
  Signature.write();
}

/// The arguments of the loop's body in the order of its operands, each with
/// what it stands for. Seeds are mapped where numbers are drawn only.
void Accumulation::addArguments(ScanOp Loop) {
  mlir::Block &Inside = Loop.getBody().emplaceBlock();
  auto Add = [&](Type Of, Location Loc) { return Inside.addArgument(Of, Loc); };
  for (const State &S : States)
    Mapping.map(S.Argument, Add(S.Argument.getType(), S.Argument.getLoc()));
  for (BlockArgument Seed : Seeds)
    Add(Seed.getType(), Seed.getLoc());
  for (auto [V, Sum] : llvm::zip_equal(Averaged, Sums))
    Add(Sum, V.getLoc());
  for (BlockArgument Input : Inputs) {
    auto Type = cast<RankedTensorType>(Input.getType());
    Mapping.map(Input,
                Add(Type.clone(Type.getShape().drop_front()), Input.getLoc()));
  }
  for (Value V : Reads)
    Mapping.map(V, Add(V.getType(), V.getLoc()));
}

void Accumulation::cloneBody(OpBuilder &Inner) {
  auto Own =
      Inner.getBlock()->getArguments().slice(States.size(), Seeds.size());
  for (Operation *Op : Splats)
    Inner.clone(*Op, Mapping);
  for (Operation *Op : Body) {
    Operation *Clone = Inner.clone(*Op, Mapping);
    if (readsSeeds(Op))
      for (auto [Seed, Next] : llvm::zip_equal(Seeds, Own))
        Clone->replaceUsesOfWith(Mapping.lookupOrDefault(Seed), Next);
  }
}

/// Micro-batches draw other numbers: the upper half of the seed counts them.
Value Accumulation::nextSeed(OpBuilder &Inner, Value Seed) {
  auto Type = cast<RankedTensorType>(Seed.getType());
  Value One = ConstantOp::create(
      Inner, Seed.getLoc(),
      DenseElementsAttr::get(Type, Inner.getI64IntegerAttr(int64_t(1) << 32)));
  return AddOp::create(Inner, Seed.getLoc(), Seed, One);
}

/// Adds this micro-batch's part, behind the operation that makes it.
Value Accumulation::addToSum(OpBuilder &Inner, Value Original, Value Sum) {
  Value Part = Mapping.lookup(Original);
  PhaseMarker Marker(Graph.getContext(), Phase::backward);
  OpBuilder Adder(Inner);
  if (Operation *Op = Part.getDefiningOp())
    Adder.setInsertionPointAfter(Op);
  Operation *Maker = Original.getDefiningOp();
  if (Maker && Maker->hasAttr(PhaseAttrName))
    Adder.setListener(&Marker);
  Location Loc = Original.getLoc();
  if (Part.getType() != Sum.getType())
    Part = CastOp::create(Adder, Loc, Sum.getType(), Part);
  return AddOp::create(Adder, Loc, Sum, Part);
}

void Accumulation::yield(ScanOp Loop, OpBuilder &Inner) {
  mlir::Block::BlockArgListType Arguments = Loop.getCarryArguments();
  SmallVector<Value> Yielded;
  for (const State &S : States)
    Yielded.push_back(Mapping.lookup(getReturned(S.Result)));
  for (Value Seed : Arguments.slice(States.size(), Seeds.size()))
    Yielded.push_back(nextSeed(Inner, Seed));
  for (auto [V, Sum] :
       llvm::zip_equal(Averaged, Arguments.take_back(Averaged.size())))
    Yielded.push_back(addToSum(Inner, V, Sum));
  for (Value V : Stacked)
    Yielded.push_back(Mapping.lookup(V));
  Inner.setInsertionPointToEnd(&Loop.getBlock());
  YieldOp::create(Inner, Loop.getLoc(), Yielded);
}

/// The loop's results are called as the graph's results that they become.
Location Accumulation::getLocation() {
  SmallVector<std::string> Names;
  auto Add = [&](unsigned Result) {
    auto Name = Graph.getResultAttrOfType<StringAttr>(Result, NameAttrName);
    Names.push_back("%" +
                    (Name ? Name.str() : "result." + std::to_string(Result)));
  };
  for (const State &S : States)
    Add(S.Result);
  for (BlockArgument Seed : Seeds)
    Names.push_back("%" + getArgName(Graph, Seed.getArgNumber()));
  auto AddAll = [&](const llvm::SetVector<Value> &Values) {
    for (Value V : Values)
      Add(llvm::find(getReturn(Graph).getOperands(), V).getIndex());
  };
  AddAll(Averaged);
  AddAll(Stacked);
  return NameLoc::get(B.getStringAttr(llvm::join(Names, ", ")), Graph.getLoc());
}

/// Sums begin with -0, so that the first part is added as it is: 0 would make
/// 0 of -0.
void Accumulation::buildLoop() {
  SmallVector<Value> Inits, Slices(Inputs.begin(), Inputs.end());
  for (const State &S : States)
    Inits.push_back(S.Argument);
  llvm::append_range(Inits, Seeds);
  for (auto [V, Sum] : llvm::zip_equal(Averaged, Sums))
    Inits.push_back(
        ConstantOp::create(B, V.getLoc(),
                           DenseElementsAttr::get(cast<RankedTensorType>(Sum),
                                                  B.getF32FloatAttr(-0.0F))));
  SmallVector<Type> Types(ValueRange(Inits).getTypes());
  llvm::append_range(Types, Stacks);
  if (Types.empty())
    return;
  auto Loop = ScanOp::create(B, getLocation(), Types, Inits, Slices,
                             Reads.getArrayRef(), B.getI64IntegerAttr(Count),
                             UnitAttr(), IntegerAttr());
  Loop->setAttr(MicroBatchesAttrName, B.getUnitAttr());
  addArguments(Loop);
  OpBuilder Inner = OpBuilder::atBlockEnd(&Loop.getBlock());
  cloneBody(Inner);
  yield(Loop, Inner);
  llvm::append_range(Made, Loop.getResults());
}

/// The mean of a sum, which belongs to the phase of what was added up.
Value Accumulation::average(Value Original, Value Sum) {
  PhaseMarker Marker(Graph.getContext(), Phase::backward);
  OpBuilder Divider(B);
  Operation *Op = Original.getDefiningOp();
  if (Op && Op->hasAttr(PhaseAttrName))
    Divider.setListener(&Marker);
  Location Loc = Original.getLoc();
  Value Factor = ConstantOp::create(
      Divider, Loc,
      DenseElementsAttr::get(RankedTensorType::get({}, Divider.getF32Type()),
                             Divider.getF32FloatAttr(1.0 / double(Count))));
  return MulOp::create(Divider, Loc, Sum, Factor);
}

void Accumulation::replaceResults() {
  ArrayRef<Value> Carried = ArrayRef(Made).drop_front(States.size());
  DenseMap<Value, Value> Means, Rows;
  for (auto [V, Sum] :
       llvm::zip_equal(Averaged, Carried.slice(Seeds.size(), Averaged.size())))
    Means[V] = average(V, Sum);
  for (auto [V, Stack] :
       llvm::zip_equal(Stacked, Carried.take_back(Stacked.size())))
    Rows[V] = Stack;
  SignatureEditor Signature(Graph);
  for (unsigned I = 0; I < Graph.getNumResults(); ++I) {
    Value Original = getReturned(I);
    if (getResultRole(Graph, I) == Role::output)
      Signature.setResult(I, Rows.at(Original));
    else if (Value Mean = isAveraged(I) ? Means.lookup(Original) : Value())
      Signature.setResult(I, Mean);
  }
  for (auto [S, New] :
       llvm::zip_equal(States, ArrayRef(Made).take_front(States.size())))
    Signature.setResult(S.Result, New);
  Signature.write();
}

LogicalResult Accumulation::run() {
  findStates();
  if (failed(check()))
    return failure();
  findSeeds();
  markVarying();
  if (failed(checkUpdates(Body, Count)))
    return failure();
  sortResults();
  collectOperands();
  widenInputs();
  buildLoop();
  if (!Made.empty())
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
    // The upper half of a seed counts them; a count past any use is a slip.
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
