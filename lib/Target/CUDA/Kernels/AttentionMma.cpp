//===- AttentionMma.cpp - own attention by tensor cores -------------------===//
//
// AttentionMma.cuh says how the work is split.
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

constexpr int64_t WidestHead = 128, NarrowHead = 64;

bool remat::cuda::hasMmaAttention(const AttentionProblem &P) {
  return (P.Type == "bf16" || P.Type == "f16") && P.Width <= WidestHead;
}

/// Whether groups of four warps multiply, as Wgmma.cuh says: rows of 64 or 128
/// elements.
static bool isGrouped(const AttentionProblem &P) {
  int64_t Padded = llvm::alignTo(P.Width, 16);
  return P.IsForHopper && (Padded == NarrowHead || Padded == WidestHead);
}

AttentionUnit remat::cuda::getAttentionUnit(Operation *Attention) {
  auto Forward = dyn_cast<AttentionOp>(Attention);
  auto P = Forward ? AttentionProblem(Forward)
                   : AttentionProblem(cast<AttentionBackwardOp>(Attention));
  if (!hasMmaAttention(P))
    return AttentionUnit::Scalar;
  return isGrouped(P) ? AttentionUnit::WarpGroup : AttentionUnit::Warp;
}

namespace {
/// How a kernel works: its block has a tile of `Rows`, 16 of them a warp, and
/// `Portion` rows of the other side at a time in shared memory, of which a warp
/// multiplies by `Part` at a time. The compiler leaves registers for `Blocks`
/// on a multiprocessor; 0: as it comes. Chosen by measurement on an H200.
struct MmaTiles {
  int64_t Rows, Portion, Part, Blocks;

  /// The launch for `Tiled` queries or keys of `Heads` heads: in shared memory
  /// are two portions of two operands and `More` rows of a head, and `Bytes`.
  LaunchSize getLaunch(const AttentionProblem &P, int64_t Tiled, int64_t Heads,
                       int64_t More, int64_t Bytes = 0) const {
    int64_t Padded = llvm::alignTo(P.Width, 16);
    int64_t Row = 2 * (isGrouped(P) ? Padded : Padded + 8);
    int64_t ToAlign = isGrouped(P) ? 1024 - 16 : 0;
    return {.Block = 2 * Rows,
            .GridX = int64_t(llvm::divideCeil(Tiled, Rows)) * P.Batch * Heads,
            .SharedBytes = (4 * Portion + More) * Row + Bytes + ToAlign,
            .BlocksPerMultiprocessor = Blocks};
  }
};
} // namespace

static MmaTiles getForwardTiles(const AttentionProblem &P) {
  if (isGrouped(P))
    return P.Width <= NarrowHead ? MmaTiles{64, 64, 64, P.IsRandom ? 4 : 5}
                                 : MmaTiles{128, 64, 64, 0};
  return P.Width <= NarrowHead ? MmaTiles{64, 64, 64, P.IsRandom ? 3 : 4}
                               : MmaTiles{64, 64, 64, 0};
}

static MmaTiles getKeyValueTiles(const AttentionProblem &P) {
  if (isGrouped(P))
    return P.Width <= NarrowHead ? MmaTiles{64, 64, 64, 3}
                                 : MmaTiles{64, 64, 64, 0};
  return P.Width <= NarrowHead ? MmaTiles{64, 64, 16, 3}
                               : MmaTiles{64, 32, 32, 0};
}

static MmaTiles getQueryTiles(const AttentionProblem &P) {
  if (isGrouped(P))
    return P.Width <= NarrowHead ? MmaTiles{64, 64, 64, P.IsRandom ? 3 : 4}
                                 : MmaTiles{64, 64, 64, 0};
  return P.Width <= NarrowHead ? MmaTiles{128, 64, 16, 2}
                               : MmaTiles{64, 64, 32, 0};
}

/// Elements that one access of all of an operation's tensors may move: part of
/// a head's, of query, key, value, results and gradients.
static int64_t getAccess(Operation *Op, const AttentionProblem &P) {
  llvm::SmallVector<Value> Moved;
  for (Value V : llvm::concat<Value>(Op->getOperands(), Op->getResults()))
    if (getName(V) == P.Type && getColumns(V) == P.Width)
      Moved.push_back(V);
  return getAccessWidth(Moved, P.Width);
}

void remat::cuda::addMmaAttention(AttentionOp Op, const AttentionProblem &P,
                                  Launches &Out) {
  MmaTiles Tiles = getForwardTiles(P);
  addLaunch(
      "attention",
      kernels::AttentionMma{.E = P.Type,
                            .MaskElement = P.Mask.Element,
                            .MaskOf = P.Mask,
                            .Shape = P.getShape(Tiles.Rows, P.Queries, P.Heads),
                            .HasDropout = P.IsRandom,
                            .Portion = Tiles.Portion,
                            .Access = getAccess(Op, P),
                            .Grouped = isGrouped(P),
                            .Q = P.passQkv(0),
                            .K = P.passQkv(1),
                            .V = P.passQkv(2),
                            .Mask = P.passMask(),
                            .Seed = P.passSeed(),
                            .Step = P.passStep(),
                            .Id = P.passId(),
                            .Out = result(0),
                            .Lse = result(1),
                            .Scale = P.Scale,
                            .DropoutP = P.DropoutP,
                            .KeepFactor = P.getKeepFactor()},
      Tiles.getLaunch(P, P.Queries, P.Heads, isGrouped(P) ? Tiles.Rows : 0),
      Out);
}

static void addKeyValueGradients(AttentionBackwardOp Op,
                                 const AttentionProblem &P, Launches &Out) {
  bool Held = !isGrouped(P) && P.Width <= NarrowHead;
  MmaTiles Tiles = getKeyValueTiles(P);
  addLaunch("attention_backward_key_value",
            kernels::AttentionMmaKeyValue{
                .E = P.Type,
                .MaskElement = P.Mask.Element,
                .MaskOf = P.Mask,
                .Shape = P.getShape(Tiles.Rows, P.Keys, P.KeyHeads),
                .HasDropout = P.IsRandom,
                .Portion = Tiles.Portion,
                .Part = Tiles.Part,
                .Access = getAccess(Op, P),
                .Held = Held,
                .Grouped = isGrouped(P),
                .Grad = operand(0),
                .Q = P.passQkv(0),
                .K = P.passQkv(1),
                .V = P.passQkv(2),
                .Terms = workspace(),
                .Mask = P.passMask(),
                .Seed = P.passSeed(),
                .Step = P.passStep(),
                .Id = P.passId(),
                .GradK = result(P.IsPacked ? 0 : 1),
                .GradV = result(P.IsPacked ? 0 : 2),
                .Scale = P.Scale,
                .DropoutP = P.DropoutP,
                .KeepFactor = P.getKeepFactor()},
            Tiles.getLaunch(P, P.Keys, P.KeyHeads, Held ? 0 : 2 * Tiles.Rows,
                            /*Bytes=*/4 * Tiles.Portion * 4),
            Out);
}

static void addQueryGradient(AttentionBackwardOp Op, const AttentionProblem &P,
                             Launches &Out) {
  MmaTiles Tiles = getQueryTiles(P);
  addLaunch(
      "attention_backward_query",
      kernels::AttentionMmaQuery{.E = P.Type,
                                 .MaskElement = P.Mask.Element,
                                 .MaskOf = P.Mask,
                                 .Shape =
                                     P.getShape(Tiles.Rows, P.Queries, P.Heads),
                                 .HasDropout = P.IsRandom,
                                 .Portion = Tiles.Portion,
                                 .Part = Tiles.Part,
                                 .Access = getAccess(Op, P),
                                 .Grouped = isGrouped(P),
                                 .Grad = operand(0),
                                 .Q = P.passQkv(0),
                                 .K = P.passQkv(1),
                                 .V = P.passQkv(2),
                                 .Terms = workspace(),
                                 .Mask = P.passMask(),
                                 .Seed = P.passSeed(),
                                 .Step = P.passStep(),
                                 .Id = P.passId(),
                                 .GradQ = result(0),
                                 .Scale = P.Scale,
                                 .DropoutP = P.DropoutP,
                                 .KeepFactor = P.getKeepFactor()},
      Tiles.getLaunch(P, P.Queries, P.Heads, isGrouped(P) ? 2 * Tiles.Rows : 0),
      Out);
}

void remat::cuda::addMmaGradients(AttentionBackwardOp Op,
                                  const AttentionProblem &P, Launches &Out) {
  Value Output = Op.getOutput();
  int64_t Access = getAccessWidth({Op.getGrad(), Output}, P.Width);
  int64_t Lanes = std::min<int64_t>(32, llvm::PowerOf2Ceil(P.Width / Access));
  addAttentionTerms(Op, P, /*Paired=*/true, Access, Lanes, Out);
  addKeyValueGradients(Op, P, Out);
  addQueryGradient(Op, P, Out);
}
