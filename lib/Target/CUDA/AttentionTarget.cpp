//===- AttentionTarget.cpp - the kernels of attention and their cost ------===//
//
// cuDNN says what workspace it needs only on a GPU, so that follows a formula
// found by asking it for some hundred shapes (cuDNN 9.19, H200: head widths 8
// to 256, 7 to 8192 rows).
//
//===----------------------------------------------------------------------===//

#include "AttentionTarget.h"
#include "KernelChoice.h"
#include "remat/IR/AttentionSizes.h"
#include "remat/IR/RematOps.h"
#include "remat/Target/CUDA/KernelLibrary.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using cuda::makeKernel;

namespace {
/// What attention or its backward computes.
struct AttentionWork {
  AttentionSizes Sizes;
  bool IsBackward, IsCausal, IsDropped;
  std::optional<int64_t> Window;
  double Scores; ///< masked ones left out
  /// Floating-point operations of these: two products forward, five backward.
  double Flops;
  double LongestBlock; ///< those of 128 keys and all queries that see them
};
} // namespace

constexpr int64_t KeysOfBlock = 128; ///< that a block of cuDNN's backward has

template <typename OpT> static AttentionWork getWork(OpT Op, bool IsBackward) {
  AttentionSizes Sizes = AttentionSizes::of(Op.getQkv());
  double OfScore = (IsBackward ? 5 : 2) * 2.0 * Sizes.Width;
  double Scores = Sizes.countScores(Op.getCausal(), Op.getWindow());
  int64_t Seeing =
      std::min<int64_t>(Op.getWindow().value_or(Sizes.Queries), Sizes.Queries);
  return {Sizes,
          IsBackward,
          Op.getCausal(),
          !Op.getDropoutP().isZero() && Op.getSeed(),
          Op.getWindow(),
          Scores,
          OfScore * Scores,
          OfScore *
              static_cast<double>(std::min(KeysOfBlock, Sizes.Keys) * Seeing)};
}

static AttentionWork getAttentionWork(Operation *Op) {
  if (auto Forward = dyn_cast<AttentionOp>(Op))
    return getWork(Forward, false);
  return getWork(cast<AttentionBackwardOp>(Op), true);
}

/// cuDNN runs attention of 16-bit types without mask and dropout, a window
/// where each query sees a key. Asked for or not, the rest runs on own kernels.
static bool takesCudnn(TargetAttr Where, Operation *Op) {
  if (Where.getAttention() == AttentionKernels::own)
    return false;
  AttentionSizes Sizes = getAttentionWork(Op).Sizes;
  auto IsPlain = [&](auto Attention) {
    return !Attention.getMask() && Attention.getDropoutP().isZero() &&
           (!Attention.getWindow() || Sizes.Queries <= Sizes.Keys);
  };
  bool Plain = isa<AttentionOp>(Op) ? IsPlain(cast<AttentionOp>(Op))
                                    : IsPlain(cast<AttentionBackwardOp>(Op));
  auto Type = cast<RankedTensorType>(Op->getOperand(0).getType());
  return Plain && Type.getElementTypeBitWidth() == 16 && Sizes.Width % 8 == 0 &&
         Sizes.Width <= 128 && Sizes.Queries > 1 && Sizes.Keys > 1;
}

/// The deterministic backward keeps a partial gradient of query for each 128
/// keys, 64 f32 wide in blocks of 64 rows, a number a row, and 8 bytes an
/// element of the batch. Elsewhere than on Hopper the width is not known to be
/// less than the head's. Where heads share keys, the gradients of key and value
/// are made for each head of the queries before they are summed: in f32, which
/// is a bound until it is measured. The other backward adds to one gradient of
/// query. A slice needs its heads' part.
static int64_t getCudnnWorkspace(TargetAttr Where, const AttentionWork &Work,
                                 int64_t Slices) {
  if (!Work.IsBackward)
    return 256;
  const AttentionSizes &Sizes = Work.Sizes;
  int64_t Columns =
      Where.getArch() == "sm_90" ? 64 : std::max<int64_t>(64, Sizes.Width);
  int64_t Gradients =
      Where.getDeterministic() ? llvm::divideCeil(Sizes.Keys, KeysOfBlock) : 1;
  int64_t Partial = Gradients * llvm::alignTo(Sizes.Queries, 64) * Columns * 4;
  int64_t Unsummed =
      Sizes.KeyHeads < Sizes.Heads ? 2 * Sizes.Keys * Sizes.Width * 4 : 0;
  int64_t Batch = std::max<int64_t>(1, Sizes.Batch / Slices);
  int64_t Heads = Sizes.Batch * Sizes.Heads / Slices; // of all its elements
  return Heads * (Partial + Sizes.Queries * 4 + Unsummed) +
         std::max<int64_t>(512, 8 * Batch + 256);
}

/// The numbers of equal slices of the batch, and above it of the heads of each
/// of its elements: those that share keys stay together.
static SmallVector<int64_t> listSlices(const AttentionWork &Work) {
  SmallVector<int64_t> Slices = {1};
  if (!Work.IsBackward)
    return Slices;
  for (int64_t Parts = 2; Parts <= Work.Sizes.Batch; ++Parts)
    if (Work.Sizes.Batch % Parts == 0)
      Slices.push_back(Parts);
  for (int64_t Parts = 2; Parts <= Work.Sizes.KeyHeads; ++Parts)
    if (Work.Sizes.KeyHeads % Parts == 0)
      Slices.push_back(Work.Sizes.Batch * Parts);
  return Slices;
}

/// What each slice but the first adds, in microseconds: its launches, and the
/// multiprocessors that are idle while its last blocks run, or for lack of
/// blocks. For GPT-2's shape, an element of the batch a slice, the sum is the
/// 40 that were measured (H200).
static double getSliceMicroseconds(const AttentionWork &Work, int64_t Slices,
                                   double Rate) {
  constexpr double Launches = 5, Multiprocessors = cuda::Multiprocessors;
  const AttentionSizes &Sizes = Work.Sizes;
  int64_t Blocks = Sizes.Batch * Sizes.Heads / Slices *
                   llvm::divideCeil(Sizes.Keys, KeysOfBlock);
  double OfSlice = Work.Flops / static_cast<double>(Slices);
  double OfBlock = OfSlice / static_cast<double>(Blocks);
  double Rounds = std::ceil(static_cast<double>(Blocks) / Multiprocessors);
  double Busy = Multiprocessors * std::max(Rounds * OfBlock, Work.LongestBlock);
  return Launches + std::max(0.0, Busy - OfSlice) / Rate * 1e6;
}

/// Keys that a query sees, in a causal one's last row.
static double getSeenKeys(const AttentionWork &Work) {
  return static_cast<double>(
      std::min<int64_t>(Work.Sizes.Keys, Work.Window.value_or(INT64_MAX)));
}

/// Floating-point operations a second. Blocks of scores are computed whole,
/// also where the mask hides a part of them, and short rows have little to
/// overlap: as if a causal query saw 645 keys more. Measured on an H200 with
/// heads of 64 in bf16, at 1,024, 8,192 and 32,768 tokens; forward within 8 %,
/// backward 2 %; 5 % less here, since within a step the clock is lower. In any
/// order from steps of Llama and of GPT-2 at 32,768 tokens. Heads of 128 are a
/// third faster at 1,024 tokens.
static double getCudnnRate(const AttentionWork &Work, bool Deterministic) {
  constexpr double Narrow = 64, Wide = 128, RateOfWide = 1.35;
  double Width = std::clamp<double>(Work.Sizes.Width, Narrow, Wide);
  double Factor = 1 + (RateOfWide - 1) * (Width - Narrow) / (Wide - Narrow);
  if (!Work.IsCausal)
    return Factor * (Work.IsBackward ? 2.26e14 : 2.9e14);
  double Keys = getSeenKeys(Work);
  if (Work.IsBackward && !Deterministic)
    return Factor * 4.3e14 / (1 + 1263 / Keys);
  return Factor * (Work.IsBackward ? 3.1e14 : 4.37e14) / (1 + 645 / Keys);
}

static SmallVector<KernelAttr> getCudnnKernels(TargetAttr Where,
                                               const AttentionWork &Work) {
  bool Deterministic = Where.getDeterministic() || !Work.IsBackward;
  double Rate = getCudnnRate(Work, Deterministic);
  double Microseconds = 5 + Work.Flops / Rate * 1e6;
  SmallVector<KernelAttr> Kernels;
  for (int64_t Slices : listSlices(Work)) {
    double More = getSliceMicroseconds(Work, Slices, Rate);
    Kernels.push_back(
        makeKernel(Where, KernelKind::cudnn,
                   Microseconds + More * static_cast<double>(Slices - 1),
                   getCudnnWorkspace(Where, Work, Slices), /*Launches=*/Slices,
                   Slices, Deterministic));
  }
  return Kernels;
}

/// The rate of own kernels: floating-point operations a second, and the keys
/// that a causal query seems to see more.
namespace {
struct OwnRate {
  double Flops, MoreKeys;
};
} // namespace

/// Measured on an H200 with heads of 64, 96 and 128 in bf16 at 197 to 32,768
/// tokens; causal ones of groups of warps within steps of GPT-2 and Llama,
/// where they are up to a quarter slower than alone, since the clock follows
/// the power. Where heads share keys there are fewer blocks, each for all of
/// those heads.
static OwnRate getOwnRate(Operation *Op, const AttentionWork &Work) {
  constexpr double OfSharedKeys = 0.96;
  switch (cuda::getAttentionUnit(Op)) {
  case cuda::AttentionUnit::Scalar:
    return {4e12, 0};
  case cuda::AttentionUnit::Warp:
    return {Work.IsBackward ? 1.9e14 : 2.5e14, 260};
  case cuda::AttentionUnit::WarpGroup:
    if (!Work.IsCausal)
      return {Work.IsBackward ? 3.2e14 : 3.3e14, 0};
    if (!Work.IsBackward)
      return {4.1e14, 580};
    return {(Work.Sizes.KeyHeads < Work.Sizes.Heads ? OfSharedKeys : 1) *
                3.95e14,
            680};
  }
  llvm_unreachable("no such unit");
}

/// Of five products of the backward two are made twice. Dropout's random
/// numbers take as long for any width, and are made again by each kernel.
static double getOwnMicroseconds(Operation *Op, const AttentionWork &Work) {
  OwnRate Rate = getOwnRate(Op, Work);
  double More = Work.IsCausal ? 1 + Rate.MoreKeys / getSeenKeys(Work) : 1;
  double OfScore = Work.IsDropped ? (Work.IsBackward ? 2.8e-12 : 1.4e-12) : 0;
  return 5 + (Work.Flops / Rate.Flops * More + Work.Scores * OfScore) * 1e6;
}

/// Where groups of warps make the backward about as fast as cuDNN does in one
/// piece, they come in its place, unless cuDNN is asked for: they need next to
/// no workspace. If gradients may be added up in any order, which is asked for
/// to gain time, they must be as fast. At every budget, so that all plans
/// compute the same bits.
SmallVector<KernelAttr> cuda::getAttentionImplementations(TargetAttr Where,
                                                          Operation *Op) {
  double AsFast = Where.getDeterministic() ? 1.05 : 1;
  AttentionWork Work = getAttentionWork(Op);
  double Own = getOwnMicroseconds(Op, Work);
  if (takesCudnn(Where, Op)) {
    SmallVector<KernelAttr> Cudnn = getCudnnKernels(Where, Work);
    if (Where.getAttention() == AttentionKernels::cudnn || !Work.IsBackward ||
        getAttentionUnit(Op) != AttentionUnit::WarpGroup ||
        AsFast * Cudnn.front().getMicroseconds() <= Own)
      return Cudnn;
  }
  if (!cuda::hasKernels(Op))
    return {};
  cuda::KernelNeeds Needs = cuda::getKernelNeeds(Op);
  return {
      makeKernel(Where, KernelKind::own, Own, Needs.Workspace, Needs.Launches)};
}
