//===- Shard.cpp - tensor parallel: a step becomes one rank's step --------===//
//
// Which parameters are cut is what the graph and the options say, or else what
// sends the fewest bytes. What follows from that for each value is ShardPlan's,
// and the rewriting ShardApply's.
//
//===----------------------------------------------------------------------===//

#include "ShardPlan.h"
#include "remat/Analysis/NamePattern.h"
#include "remat/Support/Numbers.h"
#include "remat/Support/Parallel.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "remat/Transforms/ShardRequest.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_SHARD
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

std::optional<ShardRequest> ShardRequest::parse(StringRef Text) {
  auto [Name, Numbers] = Text.rsplit('=');
  auto [Dim, Blocks] = Numbers.split('/');
  ShardRequest Request;
  Request.Name = Name.str();
  constexpr int64_t Most = std::numeric_limits<int64_t>::max();
  auto Along = parseInteger<int64_t>(Dim, 0, Most);
  auto Of = Numbers.contains('/') ? parseInteger<int64_t>(Blocks, 1, Most) : 1;
  if (!NamePattern::parse(Name) || !Along || !Of)
    return std::nullopt;
  Request.Dim = *Along;
  Request.Blocks = *Of;
  return Request;
}

namespace {

class Sharder {
public:
  Sharder(func::FuncOp Graph, int64_t Count, ArrayRef<std::string> Requests)
      : Graph(Graph), Count(Count), Requests(Requests), Plan(Graph, Count) {}

  LogicalResult run();

private:
  struct Alike {
    SmallVector<unsigned> Indices;
    SmallVector<Layout> Listed; ///< how each may be cut, see listCuts
  };

  bool canBeCut(unsigned Index);
  LogicalResult readRequests();
  LogicalResult readOption(StringRef Text);
  LogicalResult check(unsigned Index, Layout Cut);
  SmallVector<Layout> listCuts(unsigned Index);
  std::vector<Alike> listAlike();
  void setCut(const Alike &Of, Layout Cut);
  double countBytes();
  bool improve(const Alike &Of, double &Best);
  LogicalResult chooseCuts();
  ShardBoundary getBoundary();
  void writeParts();
  RankedTensorType getType(unsigned Index) {
    return cast<RankedTensorType>(Graph.getArgument(Index).getType());
  }
  std::string describe(unsigned Index) {
    return "'" + getArgName(Graph, Index) + "'";
  }

  func::FuncOp Graph;
  int64_t Count;
  ArrayRef<std::string> Requests;         ///< of the options
  llvm::MapVector<unsigned, Layout> Cuts; ///< of arguments, by number
  ShardPlan Plan;
};

} // namespace

//===----------------------------------------------------------------------===//
// What is asked for
//===----------------------------------------------------------------------===//

/// Parameters, and frozen ones: states that nothing writes.
bool Sharder::canBeCut(unsigned Index) {
  std::optional<Role> Of = getArgRole(Graph, Index);
  return Of == Role::parameter ||
         (Of == Role::state && !Graph.getArgAttr(Index, DonatedAttrName));
}

LogicalResult Sharder::readOption(StringRef Text) {
  std::optional<ShardRequest> Request = ShardRequest::parse(Text);
  if (!Request)
    return emitError(Graph.getLoc(), "shard")
           << " is '" << Text << "'; it must be " << ShardRequestHelp;
  NamePattern Pattern = *NamePattern::parse(Request->Name);
  SmallVector<std::string> Names;
  bool Found = false;
  for (unsigned Index = 0; Index < Graph.getNumArguments(); ++Index) {
    if (!canBeCut(Index))
      continue;
    Names.push_back(getArgName(Graph, Index));
    if (!Pattern.matches(Names.back()))
      continue;
    Found = true;
    Cuts[Index] = Layout::cut(Request->Dim, Request->Blocks);
  }
  if (Found)
    return success();
  return emitError(Graph.getLoc(), "--shard '" + Text + "'")
         << " names no parameter" << describeNearNames(Pattern, Names);
}

/// What the graph says, then the options: the last one that names a parameter
/// counts.
LogicalResult Sharder::readRequests() {
  auto Axes = ArrayAttr::get(Graph.getContext(),
                             StringAttr::get(Graph.getContext(), TensorAxis));
  for (unsigned Index = 0; Index < Graph.getNumArguments(); ++Index) {
    auto Cut = Graph.getArgAttrOfType<CutAttr>(Index, ShardAttrName);
    if (!Cut)
      continue;
    Location Loc = Graph.getArgument(Index).getLoc();
    if (Cut.getAxes() != Axes)
      return emitError(Loc)
             << describe(Index) << " is to be cut over the axes "
             << Cut.getAxes() << "; parameters are cut over " << Axes;
    if (!canBeCut(Index))
      return emitError(Loc)
             << describe(Index) << " is written by the step, and cannot be cut";
    Cuts[Index] = Layout::cut(Cut.getDim(), Cut.getBlocks());
  }
  for (StringRef Text : Requests)
    if (failed(readOption(Text)))
      return failure();
  for (auto [Index, Cut] : Cuts)
    if (failed(check(Index, Cut)))
      return failure();
  return success();
}

LogicalResult Sharder::check(unsigned Index, Layout Cut) {
  Location Loc = Graph.getArgument(Index).getLoc();
  RankedTensorType Type = getType(Index);
  if (Cut.Dim >= Type.getRank())
    return emitError(Loc) << describe(Index) << " is to be cut along dimension "
                          << Cut.Dim << ", but " << Type << " has "
                          << Type.getRank() << " dimensions";
  int64_t Size = Type.getDimSize(Cut.Dim);
  if (Size % Cut.Blocks == 0 && Size / Cut.Blocks % Count == 0)
    return success();
  InFlightDiagnostic Diag = emitError(Loc) << describe(Index)
                                           << " is to be cut along dimension "
                                           << Cut.Dim << " of size " << Size;
  if (Cut.Blocks > 1)
    Diag << " in " << Cut.Blocks << " blocks";
  Diag << " into " << Count << " equal parts";
  SmallVector<int64_t> Others;
  for (auto [Other, Size] : llvm::enumerate(Type.getShape()))
    if (Size % Count == 0)
      Others.push_back(Other);
  if (Others.empty())
    Diag.attachNote() << "no dimension of " << Type << " is a multiple of "
                      << Count << ": leave it whole, or pad it in the graph";
  else
    Diag.attachNote() << "dimensions of " << Type
                      << " that are: " << llvm::interleaved(Others);
  return Diag;
}

//===----------------------------------------------------------------------===//
// Where nothing is asked for
//===----------------------------------------------------------------------===//

/// The ways to leave parameter `Index` or to cut it, of which the last is where
/// the choice begins: a matrix along its last dimension, a vector not at all.
SmallVector<Layout> Sharder::listCuts(unsigned Index) {
  SmallVector<Layout> Listed;
  RankedTensorType Type = getType(Index);
  for (auto [Dim, Size] : llvm::enumerate(Type.getShape())) {
    for (int64_t Blocks : listBlocks(Graph, Size, Count))
      Listed.push_back(Layout::cut(Dim, Blocks));
    if (Size % Count == 0)
      Listed.push_back(Layout::cut(Dim));
  }
  if (Type.getRank() == 1 && !Listed.empty())
    Listed.push_back({});
  return Listed;
}

/// A parameter's name without its numbers: layers have the same.
static std::string getKind(StringRef Name) {
  std::string Kind;
  for (char C : Name)
    if (!llvm::isDigit(C))
      Kind += C;
    else if (Kind.empty() || Kind.back() != '#')
      Kind += '#';
  return Kind;
}

/// Parameters that are cut alike: of one kind and type.
std::vector<Sharder::Alike> Sharder::listAlike() {
  llvm::MapVector<std::pair<StringAttr, Type>, Alike> Kinds;
  for (unsigned Index : getArgsOfRole(Graph, Role::parameter)) {
    auto Kind =
        StringAttr::get(Graph.getContext(), getKind(getArgName(Graph, Index)));
    Alike &Of = Kinds[{Kind, getType(Index)}];
    if (Of.Indices.empty())
      Of.Listed = listCuts(Index);
    Of.Indices.push_back(Index);
  }
  std::vector<Alike> All;
  for (auto &[Kind, Of] : Kinds)
    if (!Of.Listed.empty())
      All.push_back(std::move(Of));
  return All;
}

void Sharder::setCut(const Alike &Of, Layout Cut) {
  for (unsigned Index : Of.Indices)
    if (Cut.Is == Layout::Whole)
      Cuts.erase(Index);
    else
      Cuts[Index] = Cut;
}

double Sharder::countBytes() {
  Plan.choose(getBoundary());
  return Plan.getBytes();
}

/// Chooses another cut for these if that sends fewer bytes than `Best`, or as
/// many with fewer blocks.
bool Sharder::improve(const Alike &Of, double &Best) {
  Layout Before = Cuts.lookup(Of.Indices.front()), Chosen = Before;
  for (Layout Cut : Of.Listed) {
    if (Cut == Before)
      continue;
    setCut(Of, Cut);
    double Bytes = countBytes();
    bool IsPlainer = Bytes == Best && Cut.Blocks < Chosen.Blocks;
    if (Bytes >= Best && !IsPlainer)
      continue;
    Best = Bytes;
    Chosen = Cut;
  }
  setCut(Of, Chosen);
  return !(Chosen == Before);
}

/// Cuts every matrix that can be cut, each along the dimension with which the
/// fewest bytes are sent while the others stay as they are, and vectors where
/// that sends fewer bytes.
LogicalResult Sharder::chooseCuts() {
  std::vector<Alike> Choices = listAlike();
  for (const Alike &Of : Choices)
    setCut(Of, Of.Listed.back());
  if (Cuts.empty()) {
    InFlightDiagnostic Diag =
        emitError(Graph.getLoc())
        << "no matrix among the parameters has a dimension that is a multiple "
           "of the "
        << Count << " ranks of the axis '" << TensorAxis << "'";
    Diag.attachNote() << "say with --shard NAME=DIM what is to be cut, or take "
                         "another number of ranks";
    return Diag;
  }
  double Best = countBytes();
  for (bool Improved = true; Improved;) {
    Improved = false;
    for (const Alike &Of : Choices)
      Improved |= improve(Of, Best);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Gradients are cut as their parameters are; everything else that is returned
/// is whole.
ShardBoundary Sharder::getBoundary() {
  ShardBoundary Boundary;
  Boundary.Returned.resize(Graph.getNumResults());
  for (auto [Index, Cut] : Cuts)
    Boundary.Arguments[Graph.getArgument(Index)] = Cut;
  SmallVector<unsigned> Gradients = getResultsOfRole(Graph, Role::gradient);
  SmallVector<unsigned> Parameters = getArgsOfRole(Graph, Role::parameter);
  for (auto [Parameter, Gradient] : llvm::zip(Parameters, Gradients))
    if (auto Cut = Cuts.find(Parameter); Cut != Cuts.end())
      Boundary.Returned[Gradient] = Cut->second;
  return Boundary;
}

void Sharder::writeParts() {
  SmallVector<SmallVector<int64_t>> Wholes;
  for (auto [Index, Cut] : Cuts)
    Wholes.emplace_back(getType(Index).getShape());
  applyShardPlan(Graph, Plan, TensorAxis);
  SignatureEditor Signature(Graph);
  Builder B(Graph.getContext());
  for (auto [Cut, Whole] : llvm::zip_equal(Cuts, Wholes)) {
    Attribute Made =
        CutAttr::get(Graph.getContext(), B.getStrArrayAttr({TensorAxis}),
                     Cut.second.Dim, Cut.second.Blocks);
    Signature.setArgAttr(
        Cut.first, PartAttrName,
        PartAttr::get(Graph.getContext(), Whole, B.getArrayAttr({Made})));
    Signature.setArgAttr(Cut.first, ShardAttrName, nullptr);
  }
  Signature.write();
}

static bool isOverTensor(ArrayAttr Axes) {
  return llvm::is_contained(Axes,
                            StringAttr::get(Axes.getContext(), TensorAxis));
}

/// Where the graph shows that it is one rank's step of the axis already: a part
/// that it takes, or an operation over the axis.
static std::optional<Location> findOwnCut(func::FuncOp Graph) {
  for (BlockArgument Argument : Graph.getArguments())
    if (auto Part = Graph.getArgAttrOfType<PartAttr>(Argument.getArgNumber(),
                                                     PartAttrName))
      for (auto Cut : Part.getCuts().getAsRange<CutAttr>())
        if (isOverTensor(Cut.getAxes()))
          return Argument.getLoc();
  std::optional<Location> Found;
  Graph.walk([&](CollectiveOpInterface Op) {
    if (isOverTensor(Op.getAxes()))
      Found = Op.getLoc();
    return Found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return Found;
}

LogicalResult Sharder::run() {
  if (failed(readRequests()))
    return failure();
  if (std::optional<Location> Where = findOwnCut(Graph)) {
    if (Cuts.empty())
      return success();
    InFlightDiagnostic Diag = emitError(*Where)
                              << "the graph is one rank's of the axis '"
                              << TensorAxis << "' already, and "
                              << describe(Cuts.front().first)
                              << " is to be cut over it";
    Diag.attachNote() << "cut everything in the graph, or nothing";
    return Diag;
  }
  if (Cuts.empty() && failed(chooseCuts()))
    return failure();
  Plan.choose(getBoundary());
  writeParts();
  return success();
}

namespace {

struct ShardPass : remat::impl::ShardBase<ShardPass> {
  using Base::Base;
  void runOnGraph() override;
};

} // namespace

/// Says that the first request of the options has nothing to cut over.
static void refuseWithoutAxis(func::FuncOp Graph, StringRef Request) {
  InFlightDiagnostic Diag = emitError(Graph.getLoc())
                            << "--shard '" << Request
                            << "' cuts over the axis '" << TensorAxis
                            << "', which the ranks do not have";
  Diag.attachNote() << "run on several ranks, with --parallel tensor=N";
}

void ShardPass::runOnGraph() {
  func::FuncOp Graph = getOperation();
  MeshAttr Mesh = getMesh(Graph);
  int64_t Count = Mesh ? Mesh.getSize(TensorAxis) : 0;
  if (Count == 0 && !Shards.empty()) {
    refuseWithoutAxis(Graph, Shards.front());
    return signalPassFailure();
  }
  // One rank has nothing to cut, whatever the graph asks for.
  if (Count > 1 && failed(Sharder(Graph, Count, *Shards).run()))
    signalPassFailure();
}
