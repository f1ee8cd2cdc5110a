//===- Attention.cpp - own attention, forward and backward ----------------===//
//
// AttentionTiles.cuh says how the work is split. The id of dropout is an
// argument of the launch, so that all layers share one kernel.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/IR/AttentionSizes.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

namespace {
/// What the forward and the backward operation have in common.
struct Problem : AttentionSizes {
  bool IsPacked, IsCausal;
  int64_t Window; ///< the queries' number where there is none
  double Scale, DropoutP;
  int64_t Id;
  Value Mask;
  bool IsRandom;
  unsigned FirstQkv, MaskIndex, SeedIndex; ///< operand numbers
  std::string Type;

  /// What dropout multiplies what it keeps by.
  double getKeepFactor() const { return IsRandom ? 1.0 / (1.0 - DropoutP) : 1; }
};
} // namespace

template <typename OpT> static Problem describe(OpT Op, unsigned FirstQkv) {
  auto Qkv = Op.getQkv();
  Problem P;
  static_cast<AttentionSizes &>(P) = AttentionSizes::of(Qkv);
  P.IsPacked = Qkv.size() == 1;
  P.IsCausal = Op.getCausal();
  P.Window = std::min<int64_t>(Op.getWindow().value_or(P.Queries), P.Queries);
  P.Scale = Op.getScale() ? Op.getScale()->convertToDouble()
                          : 1.0 / std::sqrt(static_cast<double>(P.Width));
  P.DropoutP = Op.getDropoutP().convertToDouble();
  P.Id = Op.getId();
  P.Mask = Op.getMask();
  P.IsRandom = P.DropoutP > 0 && Op.getSeed();
  P.FirstQkv = FirstQkv;
  P.MaskIndex = P.Mask ? Op.getMaskMutable()[0].getOperandNumber() : 0;
  P.SeedIndex = P.IsRandom ? Op.getSeedMutable()[0].getOperandNumber() : 0;
  P.Type = getName(Qkv[0]);
  return P;
}

/// The mask's type and strides; dimensions of size 1 repeat.
static kernels::Mask getMask(Value Mask) {
  if (!Mask)
    return {"float", kernels::MaskKind::None, 0, 0, 0, 0};
  llvm::ArrayRef<int64_t> Shape = getType(Mask).getShape();
  std::array<int64_t, 4> Strides = {0, 0, 0, 0};
  int64_t Stride = 1;
  for (size_t Dim = Shape.size(); Dim-- > 0;) {
    if (Shape[Dim] > 1)
      Strides[4 - Shape.size() + Dim] = Stride;
    Stride *= Shape[Dim];
  }
  bool IsBool = getType(Mask).getElementType().isInteger(1);
  return {.Element = getName(Mask),
          .Kind = IsBool ? kernels::MaskKind::Seen : kernels::MaskKind::Added,
          .StrideB = Strides[0],
          .StrideH = Strides[1],
          .StrideT = Strides[2],
          .StrideS = Strides[3]};
}

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
getTiles(const Problem &P, int64_t Tiled, int64_t Heads, int64_t Tiles,
         int64_t Squares) {
  int64_t Bytes = 0;
  int64_t R = getTileRows(P.Width, Tiles, Squares, Bytes);
  int64_t Blocks = llvm::divideCeil(Tiled, 16 * R);
  int64_t Packing = P.IsPacked ? 3 : 1, Row = P.Heads * P.Width;
  return {
      {.Queries = P.Queries,
       .Keys = P.Keys,
       .Heads = P.Heads,
       .KeyHeads = P.KeyHeads,
       .Width = P.Width,
       .Rows = R,
       .Tiles = Blocks,
       .QueryStride = Packing * Row,
       .KeyStride = Packing * P.KeyHeads * P.Width,
       .QueryOffset = 0,
       .KeyOffset = P.IsPacked ? Row : 0,
       .ValueOffset = P.IsPacked ? 2 * Row : 0,
       .Causal = P.IsCausal,
       .Window = P.Window},
      {.Block = 256, .GridX = Blocks * P.Batch * Heads, .SharedBytes = Bytes}};
}

/// Query, key or value, which may be parts of one operand.
static Passed passQkv(const Problem &P, unsigned Index) {
  return operand(P.FirstQkv + (P.IsPacked ? 0 : Index));
}
static Passed passMask(const Problem &P) {
  return P.Mask ? operand(P.MaskIndex) : absent();
}
static Passed passRandom(const Problem &P, Passed Value) {
  return P.IsRandom ? Value : absent();
}

static void addAttention(AttentionOp Op, Launches &Out) {
  Problem P = describe(Op, 0);
  auto [Shape, Size] = getTiles(P, P.Queries, P.Heads, 3, 1);
  kernels::Mask Mask = getMask(P.Mask);
  addLaunch("attention",
            kernels::Attention{.E = P.Type,
                               .MaskElement = Mask.Element,
                               .MaskOf = Mask,
                               .Shape = Shape,
                               .HasDropout = P.IsRandom,
                               .Q = passQkv(P, 0),
                               .K = passQkv(P, 1),
                               .V = passQkv(P, 2),
                               .Mask = passMask(P),
                               .Seed = passRandom(P, operand(P.SeedIndex)),
                               .Step = passRandom(P, operand(P.SeedIndex + 1)),
                               .Id = passRandom(P, integer(P.Id)),
                               .Out = result(0),
                               .Lse = result(1),
                               .Scale = P.Scale,
                               .DropoutP = P.DropoutP,
                               .KeepFactor = P.getKeepFactor()},
            Size, Out);
}

static void addKeyValueGradients(const Problem &P, unsigned Lse,
                                 Launches &Out) {
  auto [Shape, Size] = getTiles(P, P.Keys, P.KeyHeads, 4, 2);
  kernels::Mask Mask = getMask(P.Mask);
  addLaunch("attention_backward_key_value",
            kernels::AttentionBackwardKeyValue{
                .E = P.Type,
                .MaskElement = Mask.Element,
                .MaskOf = Mask,
                .Shape = Shape,
                .HasDropout = P.IsRandom,
                .Grad = operand(0),
                .Q = passQkv(P, 0),
                .K = passQkv(P, 1),
                .V = passQkv(P, 2),
                .Lse = operand(Lse),
                .Delta = workspace(),
                .Mask = passMask(P),
                .Seed = passRandom(P, operand(P.SeedIndex)),
                .Step = passRandom(P, operand(P.SeedIndex + 1)),
                .Id = passRandom(P, integer(P.Id)),
                .GradK = result(P.IsPacked ? 0 : 1),
                .GradV = result(P.IsPacked ? 0 : 2),
                .Scale = P.Scale,
                .DropoutP = P.DropoutP,
                .KeepFactor = P.getKeepFactor()},
            Size, Out);
}

static void addQueryGradient(const Problem &P, unsigned Lse, Launches &Out) {
  auto [Shape, Size] = getTiles(P, P.Queries, P.Heads, 4, 2);
  kernels::Mask Mask = getMask(P.Mask);
  addLaunch("attention_backward_query",
            kernels::AttentionBackwardQuery{
                .E = P.Type,
                .MaskElement = Mask.Element,
                .MaskOf = Mask,
                .Shape = Shape,
                .HasDropout = P.IsRandom,
                .Grad = operand(0),
                .Q = passQkv(P, 0),
                .K = passQkv(P, 1),
                .V = passQkv(P, 2),
                .Lse = operand(Lse),
                .Delta = workspace(),
                .Mask = passMask(P),
                .Seed = passRandom(P, operand(P.SeedIndex)),
                .Step = passRandom(P, operand(P.SeedIndex + 1)),
                .Id = passRandom(P, integer(P.Id)),
                .GradQ = result(0),
                .Scale = P.Scale,
                .DropoutP = P.DropoutP,
                .KeepFactor = P.getKeepFactor()},
            Size, Out);
}

static void addAttentionBackward(AttentionBackwardOp Op, Launches &Out) {
  Problem P = describe(Op, 1);
  unsigned Output = P.FirstQkv + (P.IsPacked ? 1 : 3), Lse = Output + 1;
  int64_t Rows = P.Batch * P.Queries * P.Heads;
  addLaunch("attention_delta",
            kernels::AttentionDelta{.E = P.Type,
                                    .Rows = Rows,
                                    .T = P.Queries,
                                    .H = P.Heads,
                                    .D = P.Width,
                                    .Grad = operand(0),
                                    .Output = operand(Output),
                                    .Delta = workspace()},
            {.Block = 256, .GridX = int64_t(llvm::divideCeil(Rows, 8))}, Out);
  addKeyValueGradients(P, Lse, Out);
  addQueryGradient(P, Lse, Out);
}

/// A number for each row of queries is between the launches.
static KernelNeeds getBackwardNeeds(AttentionBackwardOp Op) {
  return {getCount(Op.getLse()) * 4, 3};
}

llvm::ArrayRef<OwnKernels> remat::cuda::getAttentionKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<AttentionOp, addAttention>(),
      kernelsOf<AttentionBackwardOp, addAttentionBackward, getBackwardNeeds>(),
  };
  return Table;
}
