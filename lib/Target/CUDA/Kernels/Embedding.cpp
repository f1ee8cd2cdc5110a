//===- Embedding.cpp - rows of a table and their gradient -----------------===//
//
// The kernels are in Embedding.cuh.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

static void addEmbedding(EmbeddingOp Op, Launches &Out) {
  RankedTensorType Table = getType(Op.getTable());
  int64_t Columns = Table.getDimSize(1), Count = getCount(Op.getResult());
  int64_t Width = getAccessWidth({Op.getTable(), Op.getResult()}, Columns);
  addLaunch(
      "embedding",
      kernels::Embedding{.T = getName(Op.getTable()),
                         .I = getName(Op.getIds()),
                         .V = Table.getDimSize(0),
                         .C = Columns,
                         .Count = Count,
                         .N = Width,
                         .Ids = operand(0),
                         .Table = operand(1),
                         .Y = result(0)},
      {.Block = 256, .GridX = int64_t(llvm::divideCeil(Count, 256 * Width))},
      Out);
}

/// The sort's pass over digit number `Pass`.
static kernels::SortPass getPass(const SortPlan &Plan, int64_t Pass) {
  return {.Ids = Plan.Ids,
          .Rows = Plan.Rows,
          .Shift = Pass * 8,
          .Tile = Plan.Tile,
          .Tiles = Plan.Tiles,
          .Block = SortPlan::Block};
}

/// The first pass reads the ids, the others the keys and positions that the one
/// before left.
static void addSort(const SortPlan &Plan, const TypeName &IdType,
                    Launches &Out) {
  LaunchSize Size = {.Block = SortPlan::Block, .GridX = Plan.Tiles};
  addLaunch("sort_count",
            kernels::SortCount{.I = IdType,
                               .Pass = getPass(Plan, 0),
                               .Passes = Plan.Passes,
                               .Ids = operand(0),
                               .Counts = workspace(Plan.getCounts(0))},
            Size, Out);
  for (int64_t Pass = 0; Pass < Plan.Passes; ++Pass) {
    bool IsFirst = Pass == 0, IsLast = Pass + 1 == Plan.Passes;
    int64_t From = Pass % 2, To = 1 - From;
    addLaunch("sort_scatter",
              kernels::SortScatter{
                  .I = IsFirst ? IdType : TypeName("uint32"),
                  .Pass = getPass(Plan, Pass),
                  .IsFirst = IsFirst,
                  .Next = getPass(Plan, Pass + 1),
                  .IsLast = IsLast,
                  .Ids = IsFirst ? operand(0) : workspace(Plan.getKeys(From)),
                  .Positions = workspace(Plan.getPositions(From)),
                  .Counts = workspace(Plan.getCounts(Pass)),
                  .ToKeys = workspace(Plan.getKeys(To)),
                  .ToPositions = workspace(Plan.getPositions(To)),
                  .NextCounts =
                      IsLast ? absent() : workspace(Plan.getCounts(Pass + 1))},
              Size, Out);
  }
  int64_t Sorted = Plan.Passes % 2;
  addLaunch(
      "find_rows",
      kernels::FindRows{.Ids = Plan.Ids,
                        .Rows = Plan.Rows,
                        .Keys = workspace(Plan.getKeys(Sorted)),
                        .Positions = workspace(Plan.getPositions(Sorted)),
                        .Begins = workspace(Plan.getBegins()),
                        .Firsts = workspace(Plan.getFirsts())},
      {.Block = 256, .GridX = int64_t(llvm::divideCeil(Plan.Rows + 1, 256))},
      Out);
}

static SortPlan getSortPlan(EmbeddingBackwardOp Op) {
  RankedTensorType Table = getType(Op.getTableGrad());
  return cuda::getSortPlan(getCount(Op.getIds()), Table.getDimSize(0),
                           Table.getDimSize(1));
}

/// What is added, or what stands for it where nothing is.
static Value getAdded(EmbeddingBackwardOp Op) {
  return Op.getAddend() ? Op.getAddend() : Op.getGrad();
}

/// Table rows of a block: more have more loads under way, and wait for each
/// other where ids name neighbours often.
static constexpr int64_t RowsOfBlock = 2;

namespace {
/// How the table's rows are shared out.
struct TableSplit {
  kernels::TableShape Shape;
  int64_t Threads, Parts; ///< of a block, and blocks for a row
};
} // namespace

/// A thread has at most 16 bytes of a row of the gradient and of the addend.
static TableSplit splitTable(EmbeddingBackwardOp Op) {
  constexpr int64_t MostThreads = 256, MostBytes = 16, MostWidth = 4;
  RankedTensorType Table = getType(Op.getTableGrad());
  int64_t Columns = Table.getDimSize(1);
  llvm::SmallVector<Value> Moved = {Op.getGrad(), getAdded(Op),
                                    Op.getTableGrad()};
  int64_t Width = std::min(getAccessWidth(Moved, Columns), MostWidth);
  int64_t Widest = std::max(getBytes(Op.getGrad()), getBytes(getAdded(Op)));
  int64_t Steps = MostBytes / (MostWidth * Widest);
  int64_t Wanted = llvm::alignTo(llvm::divideCeil(Columns, Width * Steps), 32);
  int64_t Threads = std::min(MostThreads, Wanted);
  return {{.Rows = Table.getDimSize(0),
           .Columns = Columns,
           .Threads = Threads,
           .Access = Width,
           .Steps = Steps,
           .RowsOfBlock = RowsOfBlock,
           .Run = EmbeddingRun},
          Threads,
          int64_t(llvm::divideCeil(Columns, Threads * Width * Steps))};
}

static void addEmbeddingBackward(EmbeddingBackwardOp Op, Launches &Out) {
  SortPlan Plan = getSortPlan(Op);
  addSort(Plan, getName(Op.getIds()), Out);
  TableSplit Split = splitTable(Op);
  int64_t Sorted = Plan.Passes % 2;
  if (Plan.getRuns())
    addLaunch(
        "sum_runs",
        kernels::SumRuns{.G = getName(Op.getGrad()),
                         .Shape = Split.Shape,
                         .Keys = workspace(Plan.getKeys(Sorted)),
                         .Positions = workspace(Plan.getPositions(Sorted)),
                         .Grad = operand(1),
                         .Runs = workspace(Plan.getRunSums())},
        {.Block = Split.Threads, .GridX = Plan.getRuns(), .GridY = Split.Parts},
        Out);
  addLaunch("embedding_backward",
            kernels::EmbeddingBackward{
                .T = getName(Op.getTableGrad()),
                .G = getName(Op.getGrad()),
                .A = getName(getAdded(Op)),
                .Shape = Split.Shape,
                .HasAddend = Op.getAddend() != nullptr,
                .Begins = workspace(Plan.getBegins()),
                .Firsts = workspace(Plan.getFirsts()),
                .Positions = workspace(Plan.getPositions(Sorted)),
                .Grad = operand(1),
                .Runs = workspace(Plan.getRunSums()),
                .Addend = Op.getAddend() ? operand(2) : absent(),
                .TableGrad = result(0)},
            {.Block = Split.Threads,
             .GridX = int64_t(llvm::divideCeil(Plan.Rows, RowsOfBlock)),
             .GridY = Split.Parts},
            Out);
}

static KernelNeeds getBackwardNeeds(EmbeddingBackwardOp Op) {
  SortPlan Plan = getSortPlan(Op);
  return {Plan.getBytes(), Plan.Passes + 3 + (Plan.getRuns() ? 1 : 0)};
}

llvm::ArrayRef<OwnKernels> remat::cuda::getEmbeddingKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<EmbeddingOp, addEmbedding>(),
      kernelsOf<EmbeddingBackwardOp, addEmbeddingBackward, getBackwardNeeds>(),
  };
  return Table;
}
