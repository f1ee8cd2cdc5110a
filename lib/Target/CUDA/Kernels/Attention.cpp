//===- Attention.cpp - own attention, forward and backward ----------------===//
//
// AttentionTiles.cuh says how the work is split. The id of dropout is an
// argument of the launch, so that all layers share one kernel.
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

/// R, the rows and columns a thread has of a tile: the most for which `Tiles`
/// tiles of rows and `Squares` of scores fit in the shared memory that every
/// supported GPU has (99 KiB a block); 0 if none does.
static int64_t getTileRows(int64_t Width, int64_t Tiles, int64_t Squares,
                           int64_t &Bytes) {
  for (int64_t R : {4, 2, 1}) {
    int64_t M = 16 * R;
    Bytes = (Tiles * M * (Width + 1) + Squares * M * (M + 1)) * 4;
    if (Bytes <= int64_t(99) * 1024)
      return R;
  }
  return 0;
}

bool remat::cuda::hasAttentionKernels(int64_t Width) {
  int64_t Bytes;
  return getTileRows(Width, 4, 2, Bytes) > 0;
}

int64_t remat::cuda::getWidestAttention() {
  int64_t Width = 1;
  while (hasAttentionKernels(Width + 1))
    ++Width;
  return Width;
}

/// The tiles of an operation whose blocks share out `Tiled` queries or keys of
/// `Heads` heads, with `Tiles` tiles of rows and `Squares` of scores in shared
/// memory.
static std::pair<kernels::AttentionShape, LaunchSize>
getTiles(const AttentionProblem &P, int64_t Tiled, int64_t Heads, int64_t Tiles,
         int64_t Squares) {
  int64_t Bytes = 0;
  int64_t Rows = 16 * getTileRows(P.Width, Tiles, Squares, Bytes);
  int64_t Blocks = llvm::divideCeil(Tiled, Rows);
  return {
      P.getShape(Rows, Tiled, Heads),
      {.Block = 256, .GridX = Blocks * P.Batch * Heads, .SharedBytes = Bytes}};
}

static void addAttention(AttentionOp Op, Launches &Out) {
  AttentionProblem P(Op);
  if (hasMmaAttention(P))
    return addMmaAttention(Op, P, Out);
  auto [Shape, Size] = getTiles(P, P.Queries, P.Heads, 3, 1);
  addLaunch("attention",
            kernels::Attention{.E = P.Type,
                               .MaskElement = P.Mask.Element,
                               .MaskOf = P.Mask,
                               .Shape = Shape,
                               .HasDropout = P.IsRandom,
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
            Size, Out);
}

static void addKeyValueGradients(AttentionBackwardOp Op,
                                 const AttentionProblem &P, Launches &Out) {
  auto [Shape, Size] = getTiles(P, P.Keys, P.KeyHeads, 4, 2);
  addLaunch(
      "attention_backward_key_value",
      kernels::AttentionBackwardKeyValue{.E = P.Type,
                                         .MaskElement = P.Mask.Element,
                                         .MaskOf = P.Mask,
                                         .Shape = Shape,
                                         .HasDropout = P.IsRandom,
                                         .Grad = operand(0),
                                         .Q = P.passQkv(0),
                                         .K = P.passQkv(1),
                                         .V = P.passQkv(2),
                                         .Lse = operand(Op.getLseMutable()),
                                         .Delta = workspace(),
                                         .Mask = P.passMask(),
                                         .Seed = P.passSeed(),
                                         .Step = P.passStep(),
                                         .Id = P.passId(),
                                         .GradK = result(P.IsPacked ? 0 : 1),
                                         .GradV = result(P.IsPacked ? 0 : 2),
                                         .Scale = P.Scale,
                                         .DropoutP = P.DropoutP,
                                         .KeepFactor = P.getKeepFactor()},
      Size, Out);
}

static void addQueryGradient(AttentionBackwardOp Op, const AttentionProblem &P,
                             Launches &Out) {
  auto [Shape, Size] = getTiles(P, P.Queries, P.Heads, 4, 2);
  addLaunch("attention_backward_query",
            kernels::AttentionBackwardQuery{.E = P.Type,
                                            .MaskElement = P.Mask.Element,
                                            .MaskOf = P.Mask,
                                            .Shape = Shape,
                                            .HasDropout = P.IsRandom,
                                            .Grad = operand(0),
                                            .Q = P.passQkv(0),
                                            .K = P.passQkv(1),
                                            .V = P.passQkv(2),
                                            .Lse = operand(Op.getLseMutable()),
                                            .Delta = workspace(),
                                            .Mask = P.passMask(),
                                            .Seed = P.passSeed(),
                                            .Step = P.passStep(),
                                            .Id = P.passId(),
                                            .GradQ = result(0),
                                            .Scale = P.Scale,
                                            .DropoutP = P.DropoutP,
                                            .KeepFactor = P.getKeepFactor()},
            Size, Out);
}

void remat::cuda::addAttentionTerms(AttentionBackwardOp Op,
                                    const AttentionProblem &P, bool Paired,
                                    int64_t Access, int64_t Lanes,
                                    Launches &Out) {
  int64_t Rows = P.Batch * P.Queries * P.Heads;
  addLaunch(
      "attention_terms",
      kernels::AttentionTerms{.E = P.Type,
                              .Rows = Rows,
                              .T = P.Queries,
                              .H = P.Heads,
                              .D = P.Width,
                              .Access = Access,
                              .Lanes = Lanes,
                              .Paired = Paired,
                              .Grad = operand(0),
                              .Output = operand(Op.getOutputMutable()),
                              .Lse = Paired ? operand(Op.getLseMutable())
                                            : absent(),
                              .Terms = workspace()},
      {.Block = 256, .GridX = int64_t(llvm::divideCeil(Rows * Lanes, 256))},
      Out);
}

static void addAttentionBackward(AttentionBackwardOp Op, Launches &Out) {
  AttentionProblem P(Op);
  if (hasMmaAttention(P))
    return addMmaGradients(Op, P, Out);
  addAttentionTerms(Op, P, /*Paired=*/false, /*Access=*/1, /*Lanes=*/32, Out);
  addKeyValueGradients(Op, P, Out);
  addQueryGradient(Op, P, Out);
}

/// A number for each query of a head is between the launches; two where tensor
/// cores work.
static KernelNeeds getBackwardNeeds(AttentionBackwardOp Op) {
  int64_t Numbers = hasMmaAttention(AttentionProblem(Op)) ? 2 : 1;
  return {getCount(Op.getLse()) * Numbers * 4, 3};
}

llvm::ArrayRef<OwnKernels> remat::cuda::getAttentionKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<AttentionOp, addAttention>(),
      kernelsOf<AttentionBackwardOp, addAttentionBackward, getBackwardNeeds>(),
  };
  return Table;
}
