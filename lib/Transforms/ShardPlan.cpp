//===- ShardPlan.cpp - which part of each value a rank has ----------------===//

#include "ShardPlan.h"
#include "remat/Transforms/GraphSignature.h"

using namespace mlir;
using namespace remat;

static ArrayRef<int64_t> getShape(Value V) {
  return cast<RankedTensorType>(V.getType()).getShape();
}

static bool contains(ArrayRef<Layout> Layouts, Layout L) {
  return llvm::is_contained(Layouts, L);
}

ShardPlan::ShardPlan(func::FuncOp Graph, int64_t Count)
    : Body(Graph.getBody().front()), Count(Count) {
  for (Operation &Op : Body.without_terminator()) {
    Ops.push_back(&Op);
    auto Random = dyn_cast<RandomOpInterface>(Op);
    bool Draws = Random && Random.drawsNumbers();
    // The numbers of an element depend on its place in the whole.
    if (auto Cuttable = dyn_cast<LoopOpInterface>(Op); Cuttable && !Draws)
      Loops[&Op] = Cuttable.getLoops();
    if (auto Cuttable = dyn_cast<PlacedLoopOpInterface>(Op))
      Placed[&Op] = Cuttable.getPlacedLoops();
  }
}

//===----------------------------------------------------------------------===//
// Ways
//===----------------------------------------------------------------------===//

/// The way of one of the slices of a loop; nothing where sizes are no
/// multiples.
std::optional<Way> ShardPlan::makeSlice(const Loop &Along, Way::Kind Is,
                                        int64_t Blocks, Operation *Op) const {
  Way Made;
  Made.Is = Is;
  Made.Along = Along;
  bool Fits = true;
  std::optional<int64_t> Size;
  auto Place = [&](Value V, int64_t Dim) -> Layout {
    if (Dim == Loop::None)
      return {};
    int64_t Own = getShape(V)[Dim];
    Fits &= Own % (Count * Blocks) == 0;
    // Blocks of different dimensions would not lie side by side.
    Fits &= Blocks == 1 || Size.value_or(Own) == Own;
    Size = Own;
    return Layout::cut(Dim, Blocks);
  };
  for (auto [Operand, Dim] : llvm::zip_equal(Op->getOperands(), Along.Operands))
    Made.Operands.push_back(Place(Operand, Dim));
  if (Along.Once)
    Made.Operands[*Along.Once] = {Layout::Sum};
  for (auto [Result, Dim] : llvm::zip_equal(Op->getResults(), Along.Results)) {
    bool IsSum = Dim == Loop::None && !Along.IsShared;
    Made.Results.push_back(IsSum ? Layout{Layout::Sum} : Place(Result, Dim));
  }
  if (!Fits)
    return std::nullopt;
  return Made;
}

/// The numbers of blocks in which `Along` can meet what is made and read
/// around the operation; 1 is the first.
SmallVector<int64_t> ShardPlan::listBlocksAround(Operation *Op,
                                                 const Loop &Along) const {
  SmallVector<int64_t> Blocks = {1};
  // Shares of a mean are asked for slices that are one piece.
  if (Along.IsMean)
    return Blocks;
  auto Add = [&](Layout L, int64_t Dim) {
    if (L.Is == Layout::Cut && L.Dim == Dim &&
        !llvm::is_contained(Blocks, L.Blocks))
      Blocks.push_back(L.Blocks);
  };
  for (auto [Operand, Dim] : llvm::zip_equal(Op->getOperands(), Along.Operands))
    Add(getLayout(Operand), Dim);
  for (auto [Result, Dim] : llvm::zip_equal(Op->getResults(), Along.Results))
    for (Layout Read : getReads(Result))
      Add(Read, Dim);
  return Blocks;
}

void ShardPlan::addSlices(Operation *Op, std::vector<Way> &Into) const {
  auto Add = [&](const Loop &Along, Way::Kind Is, int64_t Blocks) {
    if (std::optional<Way> W = makeSlice(Along, Is, Blocks, Op))
      Into.push_back(std::move(*W));
  };
  if (auto Known = Loops.find(Op); Known != Loops.end())
    for (const Loop &Along : Known->second)
      for (int64_t Blocks : listBlocksAround(Op, Along))
        Add(Along, Way::Slice, Blocks);
  if (auto Known = Placed.find(Op); Known != Placed.end())
    for (const Loop &Along : Known->second)
      Add(Along, Way::Placed, 1);
}

/// A set of operands may be summands if one of them is, and none is cut.
void ShardPlan::addLinear(Operation *Op, std::vector<Way> &Into) const {
  auto Linear = dyn_cast<LinearOpInterface>(Op);
  if (!Linear)
    return;
  for (ArrayRef<unsigned> Set : Linear.getLinearOperands()) {
    auto Is = [&](Layout::Kind Kind) {
      return llvm::any_of(Set, [&](unsigned Operand) {
        return getLayout(Op->getOperand(Operand)).Is == Kind;
      });
    };
    if (!Is(Layout::Sum) || Is(Layout::Cut))
      continue;
    Way W = {Way::Linear,
             SmallVector<Layout>(Op->getNumOperands()),
             {Layout{Layout::Sum}}};
    for (unsigned Operand : Set)
      W.Operands[Operand] = {Layout::Sum};
    Into.push_back(std::move(W));
  }
}

/// The whole comes first, if it is among them.
std::vector<Way> ShardPlan::listWays(Operation *Op) const {
  std::vector<Way> Found;
  Found.push_back({Way::Whole, SmallVector<Layout>(Op->getNumOperands()),
                   SmallVector<Layout>(Op->getNumResults())});
  auto GetLayout = [&](Value V) { return getLayout(V); };
  if (std::optional<Way> W = regroup(Op, GetLayout, Count))
    Found.push_back(std::move(*W));
  addSlices(Op, Found);
  addLinear(Op, Found);
  keepPinned(Op, Found);
  return Found;
}

/// Whether `V` is a matrix that was asked to be cut, or a copy of its part.
bool ShardPlan::isPinned(Value V) const {
  if (getLayout(V).Is != Layout::Cut)
    return false;
  Operation *Op = V.getDefiningOp();
  if (!Op)
    return getShape(V).size() > 1;
  return Op->hasTrait<CopiesOperand>() && isPinned(Op->getOperand(0));
}

/// Matrices are cut so that each rank works with its part: they stay where they
/// are, if the operation can use the part, however few their bytes.
void ShardPlan::keepPinned(Operation *Op, std::vector<Way> &Into) const {
  SmallVector<unsigned> Pinned;
  for (OpOperand &Operand : Op->getOpOperands())
    if (isPinned(Operand.get()))
      Pinned.push_back(Operand.getOperandNumber());
  auto CountKept = [&](const Way &W) {
    return llvm::count_if(Pinned, [&](unsigned Operand) {
      return W.Operands[Operand] == getLayout(Op->getOperand(Operand));
    });
  };
  int64_t Most = 0;
  for (const Way &W : Into)
    Most = std::max<int64_t>(Most, CountKept(W));
  llvm::erase_if(Into, [&](const Way &W) { return CountKept(W) < Most; });
}

//===----------------------------------------------------------------------===//
// What is read and what it costs
//===----------------------------------------------------------------------===//

Layout ShardPlan::getLayout(Value V) const {
  auto Result = dyn_cast<OpResult>(V);
  if (!Result)
    return Boundary.Arguments.lookup(V);
  auto Known = Ways.find(Result.getOwner());
  if (Known == Ways.end())
    return {};
  return Known->second.Results[Result.getResultNumber()];
}

SmallVector<Layout> ShardPlan::getReads(Value V) const {
  SmallVector<Layout> Reads;
  Layout Made = getLayout(V);
  for (OpOperand &Use : V.getUses()) {
    Operation *User = Use.getOwner();
    Layout Read;
    if (isa<func::ReturnOp>(User)) {
      Read = Boundary.Returned[Use.getOperandNumber()];
    } else if (User->getBlock() == &Body) {
      auto Known = Ways.find(User);
      if (Known == Ways.end())
        continue;
      Read = Known->second.Operands[Use.getOperandNumber()];
    }
    if (!(Read == Made) && !contains(Reads, Read))
      Reads.push_back(Read);
  }
  return Reads;
}

/// Sums travel in f32.
double ShardPlan::getSumCost(Value V) const {
  auto Type = cast<RankedTensorType>(V.getType());
  return 2.0 * 4.0 * double(Type.getNumElements()) * double(Count - 1) /
         double(Count);
}

/// What a rank sends so that all read `V` as they need it.
double ShardPlan::getCost(Value V) const {
  Layout Made = getLayout(V);
  if (Made.Is == Layout::Whole)
    return 0;
  SmallVector<Layout> Reads = getReads(V);
  if (Reads.empty())
    return 0;
  bool IsOnePart = Reads.size() == 1 && Reads.front().Is == Layout::Cut;
  // A sum of which only one part is wanted is not gathered; as long as that may
  // change, it is as if it were.
  if (Made.Is == Layout::Sum)
    return getSumCost(V) / (IsOnePart && !IsFirst ? 2 : 1);
  double Bytes = double(getByteSize(V.getType()).value_or(0));
  bool IsExchanged = IsOnePart && Made.Blocks == 1 && Reads.front().Blocks == 1;
  return Bytes * double(Count - 1) / double(Count) /
         (IsExchanged ? double(Count) : 1.0);
}

double ShardPlan::getCostAround(Operation *Op) const {
  double Cost = 0;
  SmallVector<Value> Seen;
  auto Add = [&](Value V) {
    if (llvm::is_contained(Seen, V))
      return;
    Seen.push_back(V);
    Cost += getCost(V);
  };
  llvm::for_each(Op->getOperands(), Add);
  llvm::for_each(Op->getResults(), Add);
  return Cost;
}

double ShardPlan::getBytes() const {
  double Bytes = 0;
  for (BlockArgument Argument : Body.getArguments())
    Bytes += getCost(Argument);
  for (Operation *Op : Ops)
    for (Value Result : Op->getResults())
      Bytes += getCost(Result);
  return Bytes;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Less is less by more than roundings.
static bool isLess(double Lhs, double Rhs) { return Lhs < Rhs - 0.5; }

/// A sum that is made will be wanted as a whole: its cost counts where it is
/// made, so that it is passed on only where that is cheaper.
void ShardPlan::chooseFirst(Operation *Op) {
  std::optional<double> Best;
  Way Chosen;
  for (Way &W : listWays(Op)) {
    double Cost = 0;
    for (auto [Result, Made] : llvm::zip_equal(Op->getResults(), W.Results))
      if (Made.Is == Layout::Sum)
        Cost += getSumCost(Result);
    Ways[Op] = W;
    Cost += getCostAround(Op);
    if (!Best || isLess(Cost, *Best)) {
      Best = Cost;
      Chosen = std::move(W);
    }
  }
  Ways[Op] = std::move(Chosen);
}

bool ShardPlan::improve(Operation *Op) {
  Way Chosen = Ways[Op];
  double Best = getCostAround(Op);
  bool Improved = false;
  for (Way &W : listWays(Op)) {
    Ways[Op] = W;
    double Cost = getCostAround(Op);
    if (!isLess(Cost, Best))
      continue;
    Best = Cost;
    Chosen = std::move(W);
    Improved = true;
  }
  Ways[Op] = std::move(Chosen);
  return Improved;
}

/// An operation that every rank would run whole, while all read the same part
/// of its results, makes that part, where no more bytes are sent so.
void ShardPlan::shrink(Operation *Op) {
  Way Before = Ways[Op];
  if (Before.Is != Way::Whole || Op->use_empty())
    return;
  double Bytes = getCostAround(Op);
  for (Way &W : listWays(Op)) {
    bool IsCut = llvm::all_of(
        W.Results, [](Layout Made) { return Made.Is == Layout::Cut; });
    Ways[Op] = W;
    auto IsRead = [&](Value Result) { return getReads(Result).empty(); };
    if (IsCut && llvm::all_of(Op->getResults(), IsRead) &&
        !isLess(Bytes, getCostAround(Op)))
      return;
  }
  Ways[Op] = std::move(Before);
}

void ShardPlan::choose(ShardBoundary From) {
  Boundary = std::move(From);
  Ways.clear();
  IsFirst = true;
  for (Operation *Op : Ops)
    chooseFirst(Op);
  IsFirst = false;
  // Each round saves bytes, so that it ends; few are needed.
  constexpr int Rounds = 8;
  for (int Round = 0; Round < Rounds; ++Round) {
    bool Improved = false;
    for (Operation *Op : Ops)
      Improved |= improve(Op);
    if (!Improved)
      break;
  }
  // Readers before what they read, so that it is known what they read.
  for (Operation *Op : llvm::reverse(Ops))
    shrink(Op);
}
