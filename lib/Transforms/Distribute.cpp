//===- Distribute.cpp - one step of many ranks ----------------------------===//
//
// The graph is one rank's step over a batch of its own. Losses and gradients
// become the mean over the ranks of the axis `data`, as one step over that many
// micro-batches has it: sums in f32 in the order of the ranks, then divided.
// What the ranks keep a part of (ZeRO: Rajbhandari et al., 2020) is flattened
// and cut.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "Updates.h"
#include "remat/Support/Parallel.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_DISTRIBUTE
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

/// A gradient that is to become the mean over the ranks.
struct LocalGradient {
  unsigned Result;
  Operation *Producer; ///< null for an argument
  Value Local;
  int64_t Bytes;
  bool IsPart; ///< each rank updates its part
};

class StepDistributor {
public:
  StepDistributor(func::FuncOp Graph, MeshAttr Mesh, Sharding Sharded,
                  UpdateKind Optimizer, int64_t BucketBytes,
                  int64_t MicroBatches);
  LogicalResult run();

private:
  bool isSharded(unsigned Parameter);
  void findParameters();
  void separateRandomNumbers();
  void averageLosses();
  void averageStates();
  void collectGradients();
  void reduceGradients();
  /// Whether no rank gets the whole of a sum.
  bool isScattered(const LocalGradient &G) const {
    return G.IsPart && Sharded >= Sharding::Gradients;
  }
  Value prepare(const LocalGradient &G);
  SmallVector<Value> sum(ArrayRef<Value> Values, bool Scatter);
  void reduceBucket(ArrayRef<LocalGradient> Bucket);
  Value divide(Value Sum, Location Loc);
  llvm::DenseSet<Value> findRankDependent();

  func::FuncOp Graph;
  Block &Body;
  int64_t Ranks;
  ArrayAttr Axes;
  Sharding Sharded;
  UpdateKind Optimizer;
  int64_t BucketBytes, MicroBatches;
  PhaseMarker Marker; ///< of what is made for gradients
  OpBuilder B;
  SignatureEditor Signature;
  /// Trained parameters by name.
  llvm::StringMap<unsigned> Parameters;
  SmallVector<LocalGradient> Gradients;
};

} // namespace

static RankedTensorType getTensorType(Value V) {
  return cast<RankedTensorType>(V.getType());
}

StepDistributor::StepDistributor(func::FuncOp Graph, MeshAttr Mesh,
                                 Sharding Sharded, UpdateKind Optimizer,
                                 int64_t BucketBytes, int64_t MicroBatches)
    : Graph(Graph), Body(Graph.getBody().front()),
      Ranks(Mesh.getSize(DataAxis)), Sharded(Sharded), Optimizer(Optimizer),
      BucketBytes(BucketBytes), MicroBatches(MicroBatches),
      Marker(Graph.getContext(), Phase::backward),
      B(Graph.getContext(), &Marker), Signature(Graph) {
  Axes = B.getStrArrayAttr(StringRef(DataAxis));
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// Ranks draw other numbers: the upper half of the seed counts micro-batches,
/// those of all ranks in their order.
void StepDistributor::separateRandomNumbers() {
  B.setInsertionPointToStart(&Body);
  auto Number = RankedTensorType::get({}, B.getI64Type());
  for (unsigned Index : getArgsOfRole(Graph, Role::seed)) {
    BlockArgument Seed = Graph.getArgument(Index);
    if (Seed.use_empty())
      continue;
    Location Loc = Seed.getLoc();
    OpBuilder Forward(B.getContext());
    Forward.setInsertionPointToStart(&Body);
    Value Rank = RankIndexOp::create(Forward, Loc, Number, Axes);
    Value First = ConstantOp::create(
        Forward, Loc,
        DenseElementsAttr::get(Number,
                               Forward.getI64IntegerAttr(MicroBatches << 32)));
    Value Shift = MulOp::create(Forward, Loc, Rank, First);
    auto Own = AddOp::create(Forward, Loc, Seed, Shift);
    // What is computed from the seed draws too: that of a rank's heads, say.
    Seed.replaceUsesWithIf(Own, [&](OpOperand &Use) {
      return Use.getOwner() != Own && !isa<func::ReturnOp>(Use.getOwner());
    });
  }
}

//===----------------------------------------------------------------------===//
// Losses and states
//===----------------------------------------------------------------------===//

Value StepDistributor::divide(Value Sum, Location Loc) {
  Value Factor = ConstantOp::create(
      B, Loc,
      DenseElementsAttr::get(RankedTensorType::get({}, B.getF32Type()),
                             B.getF32FloatAttr(1.0 / double(Ranks))));
  return MulOp::create(B, Loc, Sum, Factor);
}

void StepDistributor::averageLosses() {
  B.setListener(nullptr); // it is the forward's
  for (unsigned Index : getResultsOfRole(Graph, Role::loss)) {
    Value Loss = getReturn(Graph).getOperand(Index);
    if (Operation *Producer = Loss.getDefiningOp())
      B.setInsertionPointAfter(Producer);
    else
      B.setInsertionPointToStart(&Body);
    Value Sum = AllReduceOp::create(B, Loss.getLoc(), Loss.getType(),
                                    Reduction::sum, Loss, Axes)
                    .getResult(0);
    Signature.setResult(Index, divide(Sum, Loss.getLoc()));
  }
  B.setListener(&Marker);
}

/// Values that can differ between ranks of the axis.
llvm::DenseSet<Value> StepDistributor::findRankDependent() {
  llvm::DenseSet<Value> Dependent;
  for (unsigned Index : getArgsOfRole(Graph, Role::input))
    Dependent.insert(Graph.getArgument(Index));
  for (Operation &Op : Body.without_terminator()) {
    auto Over = dyn_cast<CollectiveOpInterface>(Op);
    bool IsAlong = Over && llvm::is_contained(Over.getAxes(), Axes[0]);
    bool Joins =
        IsAlong && isa<AllReduceOp, AllGatherOp, CollectiveBroadcastOp>(Op);
    bool Depends = IsAlong || llvm::any_of(Op.getOperands(), [&](Value V) {
                     return Dependent.contains(V);
                   });
    if (Depends && !Joins)
      Dependent.insert_range(Op.getResults());
  }
  return Dependent;
}

/// A state that follows the batch, as running statistics do, is the mean over
/// the ranks; one of integers is that of the first.
void StepDistributor::averageStates() {
  llvm::DenseSet<Value> Dependent = findRankDependent();
  B.setInsertionPoint(getReturn(Graph));
  for (unsigned Index : getResultsOfRole(Graph, Role::state)) {
    Value New = getReturn(Graph).getOperand(Index);
    if (!Dependent.contains(New))
      continue;
    RankedTensorType Type = getTensorType(New);
    Location Loc = New.getLoc();
    if (!isa<FloatType>(Type.getElementType())) {
      Signature.setResult(
          Index, CollectiveBroadcastOp::create(B, Loc, New, Axes).getResult());
      continue;
    }
    RankedTensorType F32 = Type.clone(B.getF32Type());
    Value Wide =
        Type == F32 ? New : CastOp::create(B, Loc, F32, New).getResult();
    Value Mean =
        divide(AllReduceOp::create(B, Loc, F32, Reduction::sum, Wide, Axes)
                   .getResult(0),
               Loc);
    Signature.setResult(
        Index,
        Type == F32 ? Mean : CastOp::create(B, Loc, Type, Mean).getResult());
  }
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

void StepDistributor::findParameters() {
  for (unsigned Index : getArgsOfRole(Graph, Role::parameter))
    Parameters["grad." + getArgName(Graph, Index)] = Index;
}

/// Whether each rank updates a part of the parameter: an optimizer that looks
/// at all of a parameter keeps it whole, and fewer elements than ranks are not
/// cut.
bool StepDistributor::isSharded(unsigned Parameter) {
  if (Sharded == Sharding::Nothing)
    return false;
  RankedTensorType Type = getTensorType(Graph.getArgument(Parameter));
  auto Own = Graph.getArgAttrOfType<UpdateKindAttr>(Parameter, UpdateAttrName);
  return Type.getNumElements() >= Ranks &&
         getUpdateRule(Own ? Own.getValue() : Optimizer, Type).IsElementwise;
}

/// Gradients in the order in which they are made, in f32.
void StepDistributor::collectGradients() {
  for (unsigned Result : getResultsOfRole(Graph, Role::gradient)) {
    Value Local = getReturn(Graph).getOperand(Result);
    Operation *Producer = Local.getDefiningOp();
    auto Name = Graph.getResultAttrOfType<StringAttr>(Result, NameAttrName);
    auto Of = Name ? Parameters.find(Name) : Parameters.end();
    bool IsPart = Of != Parameters.end() && isSharded(Of->second);
    if (IsPart)
      Signature.setResultAttr(Result, PartAttrName,
                              addFlatCut(Graph, Of->second, Axes));
    Gradients.push_back({Result, Producer, Local,
                         getTensorType(Local).getNumElements() * 4, IsPart});
  }
  llvm::sort(Gradients, [](const auto &L, const auto &R) {
    if (L.Producer == R.Producer)
      return L.Result < R.Result;
    if (!L.Producer || !R.Producer)
      return !L.Producer;
    return L.Producer->isBeforeInBlock(R.Producer);
  });
}

/// The gradient in f32 where it is made, flat if its sum is scattered.
Value StepDistributor::prepare(const LocalGradient &G) {
  if (G.Producer)
    B.setInsertionPointAfter(G.Producer);
  else
    B.setInsertionPointToStart(&Body);
  Location Loc = G.Local.getLoc();
  RankedTensorType F32 = getTensorType(G.Local).clone(B.getF32Type());
  Value Wide = G.Local.getType() == F32
                   ? G.Local
                   : CastOp::create(B, Loc, F32, G.Local).getResult();
  return isScattered(G) ? flatten(B, Loc, Wide, Ranks) : Wide;
}

/// The sums over the ranks, of flat values each rank's part, behind the last of
/// them.
SmallVector<Value> StepDistributor::sum(ArrayRef<Value> Values, bool Scatter) {
  if (Values.empty())
    return {};
  Operation *Last = nullptr;
  for (Value V : Values)
    if (Operation *Op = V.getDefiningOp();
        Op && (!Last || Last->isBeforeInBlock(Op)))
      Last = Op;
  if (Last)
    B.setInsertionPointAfter(Last);
  else
    B.setInsertionPointToStart(&Body);
  Location Loc = Values.back().getLoc();
  if (!Scatter)
    return llvm::to_vector_of<Value>(
        AllReduceOp::create(B, Loc, TypeRange(ValueRange(Values)),
                            Reduction::sum, Values, Axes)
            .getResults());
  SmallVector<Type> Parts;
  for (Value Flat : Values) {
    RankedTensorType Type = getTensorType(Flat);
    Parts.push_back(Type.clone({Type.getDimSize(0) / Ranks}));
  }
  return llvm::to_vector_of<Value>(
      ReduceScatterOp::create(B, Loc, Parts, Reduction::sum, Values, Axes)
          .getResults());
}

/// Sums gradients that are made one after the other, and divides them.
void StepDistributor::reduceBucket(ArrayRef<LocalGradient> Bucket) {
  for (bool Scatter : {false, true}) {
    SmallVector<const LocalGradient *> Members;
    SmallVector<Value> Values;
    for (const LocalGradient &G : Bucket)
      if (isScattered(G) == Scatter) {
        Members.push_back(&G);
        Values.push_back(prepare(G));
      }
    SmallVector<Value> Sums = sum(Values, Scatter);
    for (auto [G, Sum] : llvm::zip_equal(Members, Sums)) {
      Location Loc = G->Local.getLoc();
      Value Own = G->IsPart && !Scatter ? takePart(B, Loc, Sum, Axes) : Sum;
      Signature.setResult(G->Result, divide(Own, Loc));
    }
  }
}

void StepDistributor::reduceGradients() {
  ArrayRef<LocalGradient> Left = Gradients;
  while (!Left.empty()) {
    size_t Count = 0;
    for (int64_t Bytes = 0; Count < Left.size() && Bytes < BucketBytes;)
      Bytes += Left[Count++].Bytes;
    Count = std::max<size_t>(Count, 1);
    reduceBucket(Left.take_front(Count));
    Left = Left.drop_front(Count);
  }
}

LogicalResult StepDistributor::run() {
  findParameters();
  separateRandomNumbers();
  averageStates();
  averageLosses();
  collectGradients();
  reduceGradients();
  if (Sharded == Sharding::Parameters)
    for (const LocalGradient &G : Gradients)
      if (G.IsPart) {
        auto Name =
            Graph.getResultAttrOfType<StringAttr>(G.Result, NameAttrName);
        makePart(Graph, Signature, Parameters.lookup(Name), Axes);
      }
  Signature.write();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct DistributePass : remat::impl::DistributeBase<DistributePass> {
  using Base::Base;

  void runOnGraph() override {
    func::FuncOp Graph = getOperation();
    MeshAttr Mesh = getMesh(Graph);
    if (!Mesh || Mesh.getSize(DataAxis) < 2)
      return;
    const auto *Named = llvm::find(ShardingNames, sharding.getValue());
    std::optional<UpdateKind> Kind = symbolizeUpdateKind(optimizer.getValue());
    if (Named == ShardingNames.end()) {
      Graph.emitError() << "unknown sharding '" << sharding.getValue()
                        << "'; known are " << llvm::interleaved(ShardingNames);
      return signalPassFailure();
    }
    auto Sharded = static_cast<Sharding>(Named - ShardingNames.begin());
    if (!Kind)
      Sharded = Sharding::Nothing; // gradients are results, and whole
    if (failed(StepDistributor(Graph, Mesh, Sharded,
                               Kind.value_or(UpdateKind::sgd), bucket,
                               microBatches)
                   .run()))
      signalPassFailure();
  }
};

} // namespace
