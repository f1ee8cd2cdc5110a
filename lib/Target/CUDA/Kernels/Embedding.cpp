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

/// One pass of the sort, over digit number `Pass`. The first reads the ids, the
/// others the keys and positions that the one before left.
static void addSortPass(const SortPlan &Plan, int64_t Pass, int64_t TableRows,
                        const TypeName &IdType, Launches &Out) {
  bool IsFirst = Pass == 0;
  int64_t From = Pass % 2, To = 1 - From;
  TypeName Type = IsFirst ? IdType : TypeName("uint32");
  Passed Ids = IsFirst ? operand(0) : workspace(Plan.getKeys(From));
  kernels::SortPass Sort = {.Ids = Plan.Ids,
                            .Rows = TableRows,
                            .Shift = Pass * 8,
                            .Tile = SortPlan::Tile,
                            .Tiles = Plan.Tiles};
  LaunchSize Size = {.Block = SortPlan::Tile, .GridX = Plan.Tiles};
  addLaunch("sort_count",
            kernels::SortCount{.I = Type,
                               .Pass = Sort,
                               .Ids = Ids,
                               .Counts = workspace(Plan.getCounts())},
            Size, Out);
  addLaunch("sort_scan",
            kernels::SortScan{.Count = Plan.Tiles * SortPlan::Digits,
                              .Counts = workspace(Plan.getCounts())},
            {.Block = 1024}, Out);
  addLaunch(
      "sort_scatter",
      kernels::SortScatter{.I = Type,
                           .Pass = Sort,
                           .IsFirst = IsFirst,
                           .Ids = Ids,
                           .Positions = workspace(Plan.getPositions(From)),
                           .Begins = workspace(Plan.getCounts()),
                           .ToKeys = workspace(Plan.getKeys(To)),
                           .ToPositions = workspace(Plan.getPositions(To))},
      Size, Out);
}

static void addEmbeddingBackward(EmbeddingBackwardOp Op, Launches &Out) {
  RankedTensorType Table = getType(Op.getTableGrad());
  int64_t Rows = Table.getDimSize(0), Columns = Table.getDimSize(1);
  SortPlan Plan = getSortPlan(getCount(Op.getIds()), Rows);
  for (int64_t Pass = 0; Pass < Plan.Passes; ++Pass)
    addSortPass(Plan, Pass, Rows, getName(Op.getIds()), Out);

  int64_t Width = std::min<int64_t>(
      4, getAccessWidth({Op.getGrad(), Op.getTableGrad()}, Columns));
  int64_t Threads = std::min<int64_t>(
      256, llvm::alignTo(llvm::divideCeil(Columns, Width), 32));
  addLaunch("embedding_backward",
            kernels::EmbeddingBackward{
                .T = getName(Op.getTableGrad()),
                .G = getName(Op.getGrad()),
                .Ids = Plan.Ids,
                .C = Columns,
                .Block = Threads,
                .N = Width,
                .Keys = workspace(Plan.getKeys(Plan.Passes % 2)),
                .Positions = workspace(Plan.getPositions(Plan.Passes % 2)),
                .Grad = operand(1),
                .TableGrad = result(0)},
            {.Block = Threads,
             .GridX = Rows,
             .GridY = int64_t(llvm::divideCeil(Columns, Threads * Width))},
            Out);
}

static KernelNeeds getBackwardNeeds(EmbeddingBackwardOp Op) {
  int64_t Rows = getType(Op.getTableGrad()).getDimSize(0);
  SortPlan Plan = getSortPlan(getCount(Op.getIds()), Rows);
  return {Plan.getBytes(), 3 * Plan.Passes + 1};
}

llvm::ArrayRef<OwnKernels> remat::cuda::getEmbeddingKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<EmbeddingOp, addEmbedding>(),
      kernelsOf<EmbeddingBackwardOp, addEmbeddingBackward, getBackwardNeeds>(),
  };
  return Table;
}
