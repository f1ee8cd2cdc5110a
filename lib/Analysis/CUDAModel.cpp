//===- CUDAModel.cpp - what a CUDA device costs ---------------------------===//
//
// Times from measured rates, workspaces by rules. cuDNN says what it needs only
// on a GPU, so its workspaces follow a formula found by asking it for some
// hundred shapes (cuDNN 9.19, H200: head widths 8 to 256, 7 to 8192 rows); the
// runtime refuses a program for which the library wants more.
//
//===----------------------------------------------------------------------===//

#include "remat/Analysis/CUDAKernelPlan.h"
#include "remat/Analysis/Cost.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

namespace {

/// The sizes of attention or its backward.
struct AttentionSizes {
  int64_t Batch, Queries, Keys, Heads, Width;
  bool IsBackward;
  /// Floating-point operations, masked ones left out: two products forward,
  /// five backward.
  double Flops;
};

class CUDAModel : public RooflineModel {
public:
  CUDAModel(StringRef Arch, StringRef Attention, const Roofline &Rates)
      : RooflineModel("cuda", Arch, Rates), Attention(Attention) {}

  SmallVector<KernelChoice> getChoices(Operation *Op) const override;

private:
  bool usesCudnn(Operation *Op) const;
  int64_t getCudnnWorkspace(const AttentionSizes &Sizes, int64_t Slices) const;
  SmallVector<KernelChoice> getCudnnChoices(const AttentionSizes &Sizes) const;

  std::string Attention;
};

} // namespace

template <typename OpT>
static AttentionSizes getSizes(OpT Op, bool IsBackward) {
  auto Query = cast<RankedTensorType>(Op.getQkv()[0].getType());
  bool IsPacked = Op.getQkv().size() == 1;
  AttentionSizes S;
  S.Batch = Query.getDimSize(0);
  S.Queries = Query.getDimSize(1);
  S.Keys = IsPacked
               ? S.Queries
               : cast<RankedTensorType>(Op.getQkv()[1].getType()).getDimSize(1);
  S.Heads = Query.getDimSize(IsPacked ? 3 : 2);
  S.Width = Query.getShape().back();
  S.IsBackward = IsBackward;
  double Product = 2.0 * S.Batch * S.Heads * S.Queries * S.Keys * S.Width;
  S.Flops = Product * (IsBackward ? 5 : 2) * (Op.getCausal() ? 0.5 : 1.0);
  return S;
}

static std::optional<AttentionSizes> getAttentionSizes(Operation *Op) {
  if (auto Forward = dyn_cast<AttentionOp>(Op))
    return getSizes(Forward, false);
  if (auto Backward = dyn_cast<AttentionBackwardOp>(Op))
    return getSizes(Backward, true);
  return std::nullopt;
}

/// cuDNN runs attention of 16-bit types without mask and dropout. Asked for or
/// not, the rest runs on own kernels.
bool CUDAModel::usesCudnn(Operation *Op) const {
  if (Attention == "own")
    return false;
  auto IsPlain = [](auto Attention) {
    return !Attention.getMask() && Attention.getDropoutP().isZero();
  };
  bool Plain = isa<AttentionOp>(Op) ? IsPlain(cast<AttentionOp>(Op))
                                    : IsPlain(cast<AttentionBackwardOp>(Op));
  AttentionSizes Sizes = *getAttentionSizes(Op);
  auto Type = cast<RankedTensorType>(Op->getOperand(0).getType());
  return Plain && Type.getElementTypeBitWidth() == 16 && Sizes.Width % 8 == 0 &&
         Sizes.Width <= 128 && Sizes.Queries > 1 && Sizes.Keys > 1;
}

/// The deterministic backward keeps a partial gradient of query for each 128
/// keys, 64 f32 wide in blocks of 64 rows, and a number a row. Elsewhere than
/// on Hopper the width is not known to be less than the head's.
int64_t CUDAModel::getCudnnWorkspace(const AttentionSizes &Sizes,
                                     int64_t Slices) const {
  if (!Sizes.IsBackward)
    return 256;
  int64_t Columns =
      getArch() == "sm_90" ? 64 : std::max<int64_t>(64, Sizes.Width);
  int64_t Partial = llvm::divideCeil(Sizes.Keys, 128) *
                    llvm::alignTo(Sizes.Queries, 64) * Columns * 4;
  return Sizes.Batch / Slices * Sizes.Heads * (Partial + Sizes.Queries * 4) +
         512;
}

/// The backward in slices of the batch: each but the first costs about 40
/// microseconds for the start and the end of a launch (H200, GPT-2's shape).
SmallVector<KernelChoice>
CUDAModel::getCudnnChoices(const AttentionSizes &Sizes) const {
  double Rate = Sizes.IsBackward ? 2.26e14 : 2.9e14;
  double Microseconds = 5 + Sizes.Flops / Rate * 1e6;
  SmallVector<KernelChoice> Choices = {
      {"cudnn", getCudnnWorkspace(Sizes, 1), Microseconds}};
  if (!Sizes.IsBackward)
    return Choices;
  for (int64_t Slices = 2; Slices <= Sizes.Batch; ++Slices)
    if (Sizes.Batch % Slices == 0)
      Choices.push_back({"cudnn/" + std::to_string(Slices),
                         getCudnnWorkspace(Sizes, Slices),
                         Microseconds + 40.0 * (Slices - 1)});
  return Choices;
}

/// cuBLASLt needs workspace where few tiles share a long sum, to split it;
/// everywhere else none is as fast as 32 MiB (measured on GPT-2's shapes).
static int64_t getMatmulWorkspace(MatmulOp Op) {
  auto Result = cast<RankedTensorType>(Op.getResult().getType());
  int64_t Elements = Result.getNumElements();
  constexpr int64_t TileElements = 128 * 256, FewTiles = 66, LongSum = 4096;
  if (Elements > TileElements * FewTiles ||
      Op.getFlops() < 2.0 * LongSum * Elements)
    return 0;
  return std::min<int64_t>(Elements * 16, 32 << 20);
}

SmallVector<KernelChoice> CUDAModel::getChoices(Operation *Op) const {
  if (auto Matmul = dyn_cast<MatmulOp>(Op))
    return {{"cublaslt", getMatmulWorkspace(Matmul), getMicroseconds(Op)}};
  if (std::optional<AttentionSizes> Sizes = getAttentionSizes(Op)) {
    if (usesCudnn(Op))
      return getCudnnChoices(*Sizes);
    constexpr double OwnRate = 4e12;
    return {{"own", cuda::getKernelWorkspace(Op),
             5 + Sizes->Flops / OwnRate * 1e6}};
  }
  return {{"", cuda::getKernelWorkspace(Op), getMicroseconds(Op)}};
}

std::unique_ptr<TargetModel> remat::createCUDAModel(llvm::StringRef Arch,
                                                    llvm::StringRef Attention) {
  // Measured on an H200: copies at 4.25 TB/s, bf16 matrix products of a GPT's
  // shapes at 500 to 780 TFLOP/s; f32 without TF32 from the data sheet.
  Roofline Rates;
  Rates.MatrixFlops32 = 5e13;
  Rates.MatrixFlops16 = 6.9e14;
  Rates.ScalarFlops = 3e13;
  Rates.BytesPerSecond = 3.8e12;
  Rates.LaunchMicroseconds = 2;
  return std::make_unique<CUDAModel>(Arch, Attention, Rates);
}
