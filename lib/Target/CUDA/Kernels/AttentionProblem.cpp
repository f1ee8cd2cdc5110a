//===- AttentionProblem.cpp - attention as its kernels see it -------------===//

#include "AttentionProblem.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

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

static bool isForHopper(Operation *Op) {
  auto Func = Op->getParentOfType<FunctionOpInterface>();
  return Func && getTargetAttr(Func).getArch() == "sm_90";
}

template <typename OpT>
AttentionProblem::AttentionProblem(OpT Op, unsigned FirstQkv)
    : AttentionSizes(AttentionSizes::of(Op.getQkv())),
      IsPacked(Op.getQkv().size() == 1), IsCausal(Op.getCausal()),
      IsForHopper(isForHopper(Op)),
      Window(std::min<int64_t>(Op.getWindow().value_or(Queries), Queries)),
      Scale(Op.getScale() ? Op.getScale()->convertToDouble()
                          : 1.0 / std::sqrt(static_cast<double>(Width))),
      DropoutP(Op.getDropoutP().convertToDouble()),
      IsRandom(DropoutP > 0 && Op.getSeed()), Type(getName(Op.getQkv()[0])),
      ElementBytes(getBytes(Op.getQkv()[0])), Mask(getMask(Op.getMask())),
      Id(Op.getId()), FirstQkv(FirstQkv),
      SeedIndex(IsRandom ? Op.getSeedMutable()[0].getOperandNumber() : 0) {
  if (Op.getMask())
    MaskIndex = Op.getMaskMutable()[0].getOperandNumber();
}

template AttentionProblem::AttentionProblem(AttentionOp, unsigned);
template AttentionProblem::AttentionProblem(AttentionBackwardOp, unsigned);

/// Heads whose blocks take turns: a power of two that divides `Heads`, of which
/// the cache of the GPU holds two operands. Where all tiles have as much to do,
/// the blocks of one head follow those of another.
static int64_t countTogether(const AttentionProblem &P, int64_t Heads) {
  constexpr int64_t CachedBytes = 24 << 20, Operands = 2;
  if (!P.IsCausal || P.Window < P.Queries)
    return 1;
  int64_t HeadBytes =
      Operands * std::max(P.Queries, P.Keys) * P.Width * P.ElementBytes;
  int64_t Most = std::max<int64_t>(1, CachedBytes / HeadBytes);
  int64_t Together = 1;
  while (Heads % (2 * Together) == 0 && 2 * Together <= Most)
    Together *= 2;
  return Together;
}

kernels::AttentionShape AttentionProblem::getShape(int64_t TileRows,
                                                   int64_t Tiled,
                                                   int64_t TiledHeads) const {
  int64_t Packing = IsPacked ? 3 : 1, Row = Heads * Width;
  return {.Queries = Queries,
          .Keys = Keys,
          .Heads = Heads,
          .KeyHeads = KeyHeads,
          .Width = Width,
          .Rows = TileRows / 16,
          .Tiles = int64_t(llvm::divideCeil(Tiled, TileRows)),
          .Together = countTogether(*this, Batch * TiledHeads),
          .QueryStride = Packing * Row,
          .KeyStride = Packing * KeyHeads * Width,
          .QueryOffset = 0,
          .KeyOffset = IsPacked ? Row : 0,
          .ValueOffset = IsPacked ? 2 * Row : 0,
          .Causal = IsCausal,
          .Window = Window};
}
