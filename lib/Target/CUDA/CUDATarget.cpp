//===- CUDATarget.cpp - the kernels of a CUDA device and their cost -------===//
//
// Times from measured rates, workspaces by rules. cuDNN says what it needs only
// on a GPU, so its workspaces follow a formula found by asking it for some
// hundred shapes (cuDNN 9.19, H200: head widths 8 to 256, 7 to 8192 rows); the
// runtime refuses a program for which the library wants more.
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CUDA/CUDATarget.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/Liveness.h"
#include "remat/Analysis/ScanBody.h"
#include "remat/IR/AttentionSizes.h"
#include "remat/IR/RematOps.h"
#include "remat/Target/CUDA/Emission.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

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

class CUDATarget : public RooflineTarget {
public:
  using RooflineTarget::RooflineTarget;

  SmallVector<KernelAttr> getImplementations(Operation *Op) const override;
  InFlightDiagnostic emitNoImplementation(Operation *Op) const override;
  bool sumsInKernels(Operation *Sum) const override;

private:
  KernelAttr makeKernel(KernelKind Kind, double Microseconds, int64_t Workspace,
                        int64_t Launches, int64_t Slices = 1,
                        bool Deterministic = true) const;
  bool usesCudnn(Operation *Op) const;
  int64_t getCudnnWorkspace(const AttentionWork &Work, int64_t Slices) const;
  SmallVector<KernelAttr> getCudnnKernels(const AttentionWork &Work) const;
  SmallVector<KernelAttr> getAttentionKernels(Operation *Op) const;
  KernelAttr getConvolutionKernel(Operation *Op) const;
  double getMatmulMicroseconds(MatmulOp Op) const;
};

} // namespace

constexpr double LaunchMicroseconds = 2; ///< of one launch in a graph of many

KernelAttr CUDATarget::makeKernel(KernelKind Kind, double Microseconds,
                                  int64_t Workspace, int64_t Launches,
                                  int64_t Slices, bool Deterministic) const {
  return KernelAttr::get(getAttr().getContext(), Kind, Microseconds, Workspace,
                         Launches, Slices, Deterministic);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

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
bool CUDATarget::usesCudnn(Operation *Op) const {
  if (getAttr().getAttention() == AttentionKernels::own)
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
int64_t CUDATarget::getCudnnWorkspace(const AttentionWork &Work,
                                      int64_t Slices) const {
  if (!Work.IsBackward)
    return 256;
  const AttentionSizes &Sizes = Work.Sizes;
  int64_t Columns =
      getAttr().getArch() == "sm_90" ? 64 : std::max<int64_t>(64, Sizes.Width);
  int64_t Gradients = getAttr().getDeterministic()
                          ? llvm::divideCeil(Sizes.Keys, KeysOfBlock)
                          : 1;
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
/// backward 2 %, and in any order 3 % (from an H100's times beside those of the
/// other); 5 % less here, since within a step the clock is lower. Heads of 128
/// are a third faster at 1,024 tokens.
static double getCudnnRate(const AttentionWork &Work, bool Deterministic) {
  constexpr double Narrow = 64, Wide = 128, RateOfWide = 1.35;
  double Width = std::clamp<double>(Work.Sizes.Width, Narrow, Wide);
  double Factor = 1 + (RateOfWide - 1) * (Width - Narrow) / (Wide - Narrow);
  if (!Work.IsCausal)
    return Factor * (Work.IsBackward ? 2.26e14 : 2.9e14);
  double Keys = getSeenKeys(Work);
  if (Work.IsBackward && !Deterministic)
    return Factor * 4.5e14 / (1 + 1263 / Keys);
  return Factor * (Work.IsBackward ? 3.1e14 : 4.37e14) / (1 + 645 / Keys);
}

SmallVector<KernelAttr>
CUDATarget::getCudnnKernels(const AttentionWork &Work) const {
  bool Deterministic = getAttr().getDeterministic() || !Work.IsBackward;
  double Rate = getCudnnRate(Work, Deterministic);
  double Microseconds = 5 + Work.Flops / Rate * 1e6;
  SmallVector<KernelAttr> Kernels;
  for (int64_t Slices : listSlices(Work)) {
    double More = getSliceMicroseconds(Work, Slices, Rate);
    Kernels.push_back(
        makeKernel(KernelKind::cudnn,
                   Microseconds + More * static_cast<double>(Slices - 1),
                   getCudnnWorkspace(Work, Slices), /*Launches=*/Slices, Slices,
                   Deterministic));
  }
  return Kernels;
}

/// The time of own kernels. Those on tensor cores compute blocks of scores
/// whole, as if a causal query saw 260 keys more, and make seven products for
/// the backward's five; dropout's random numbers take as long for any width,
/// and are made again by each kernel of the backward. Measured on an H200 with
/// heads of 64, 96 and 128 at 1,024 to 16,384 tokens, within 15 %.
static double getOwnAttentionSeconds(Operation *Op, const AttentionWork &Work) {
  if (!cuda::usesTensorCores(Op))
    return Work.Flops / 4e12;
  double Blocks = Work.IsCausal ? 1 + 260 / getSeenKeys(Work) : 1;
  double Rate = Work.IsBackward ? 1.9e14 : 2.2e14;
  double OfScore = Work.IsDropped ? (Work.IsBackward ? 3.1e-12 : 1.3e-12) : 0;
  return Work.Flops / Rate * Blocks + Work.Scores * OfScore;
}

SmallVector<KernelAttr> CUDATarget::getAttentionKernels(Operation *Op) const {
  AttentionWork Work = getAttentionWork(Op);
  if (usesCudnn(Op))
    return getCudnnKernels(Work);
  if (!cuda::hasKernels(Op))
    return {};
  cuda::KernelNeeds Needs = cuda::getKernelNeeds(Op);
  return {makeKernel(KernelKind::own,
                     5 + getOwnAttentionSeconds(Op, Work) * 1e6,
                     Needs.Workspace, Needs.Launches)};
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Whether `Op` is a convolution that cuDNN runs rightly: with more padding at
/// one side than at the other a plan of its for groups of one channel gives
/// wrong values (cuDNN 9.19, bf16 and f16, a window over one dimension).
static bool hasCudnnConvolution(Operation *Op) {
  auto IsEven = [](auto Convolution) {
    return Convolution.getLow() == Convolution.getHigh();
  };
  return llvm::TypeSwitch<Operation *, bool>(Op)
      .Case<ConvolutionOp, ConvolutionInputGradOp, ConvolutionWeightGradOp>(
          IsEven)
      .Default(false);
}

/// By cuDNN, whose plan the runtime chooses: it must do with this workspace.
/// The copies that a plan makes in another layout are as large as the tensors;
/// what else it asks for is sums of parts. One size for a shape, so that a
/// convolution runs by the same plan, with the same bits, wherever it runs.
KernelAttr CUDATarget::getConvolutionKernel(Operation *Op) const {
  constexpr int64_t MostForSums = 32 << 20;
  auto Tensors = static_cast<int64_t>(cast<CostOpInterface>(Op).getBytes());
  // About half of the rate of matrix products.
  double Microseconds = 5 + 2 * getMicroseconds(Op);
  return makeKernel(KernelKind::cudnn, Microseconds,
                    Tensors + std::min(4 * Tensors, MostForSums),
                    /*Launches=*/1, /*Slices=*/1,
                    getAttr().getDeterministic() || isa<ConvolutionOp>(Op));
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// cuBLASLt needs workspace where few tiles share a long sum, to split it;
/// everywhere else none is as fast as 32 MiB (measured on GPT-2's shapes).
static int64_t getMatmulWorkspace(MatmulOp Op) {
  auto Result = cast<RankedTensorType>(Op.getResult().getType());
  int64_t Elements = Result.getNumElements();
  constexpr int64_t TileElements = int64_t(128) * 256, FewTiles = 66,
                    LongSum = 4096;
  if (Elements > TileElements * FewTiles ||
      Op.getFlops() < 2.0 * LongSum * Elements)
    return 0;
  return std::min<int64_t>(Elements * 16, 32 << 20);
}

/// How many times as long a product of 16 bits takes as one whose rows are all
/// multiples of 16 bytes: matrix units read other rows in smaller pieces.
/// Measured on an H100 at 3,000 to 50,000 columns, within a fifth.
static double getSlowdown(MatmulOp Op) {
  int64_t Row = 0; // what divides it divides the bytes of each row
  for (Value V :
       {Value(Op.getLhs()), Value(Op.getRhs()), Value(Op.getResult())}) {
    auto Type = cast<RankedTensorType>(V.getType());
    if (Type.getElementTypeBitWidth() == 16)
      Row |= Type.getShape().back() * 2;
  }
  return Row % 16 == 0 ? 1 : Row % 4 == 0 ? 3.1 : 6.2;
}

/// How many times as long a product takes as one of whole tiles of 128 rows and
/// columns: the last ones are computed whole.
static double getPadding(MatmulOp Op) {
  constexpr int64_t Tile = 128;
  double Padding = 1;
  for (int64_t Size : Op.getResult().getType().getShape().take_back(2))
    if (Size > Tile)
      Padding *= static_cast<double>(llvm::alignTo(Size, Tile)) /
                 static_cast<double>(Size);
  return Padding;
}

/// cuBLASLt adds a bias of the result's type only.
static bool hasOtherBias(MatmulOp Op) {
  return Op.getBias() && getElementTypeOrSelf(Op.getBias().getType()) !=
                             Op.getResult().getType().getElementType();
}

/// cuBLASLt counts batches in 32 bits.
static constexpr int64_t MostBatches = std::numeric_limits<int32_t>::max();

static int64_t getBatches(MatmulOp Op) {
  ArrayRef<int64_t> Shape = Op.getResult().getType().getShape();
  return getNumElements(Shape.drop_back(2)).value_or(0);
}

/// Matrix units idle while the first tiles are loaded and the last ones written
/// (measured: about 5 us). To read the addend takes its time beside the
/// arithmetic (12 to 16 us for 50 MB).
double CUDATarget::getMatmulMicroseconds(MatmulOp Op) const {
  constexpr double Idle = 5;
  double Addend = Op.getAddend() ? *getByteSize(Op.getAddend().getType()) : 0;
  return Idle + getMicroseconds(Op) * getSlowdown(Op) * getPadding(Op) +
         getTrafficMicroseconds(Addend);
}

static InFlightDiagnostic explainMatmul(MatmulOp Op) {
  if (!hasOtherBias(Op))
    return Op.emitOpError()
           << "cannot run on CUDA: " << getBatches(Op)
           << " products are more than the " << MostBatches << " of one call";
  RankedTensorType Result = Op.getResult().getType();
  InFlightDiagnostic Diag =
      Op.emitOpError() << "cannot run on CUDA: no kernel adds a bias "
                       << Op.getBias().getType() << " to a result " << Result;
  Diag.attachNote() << "cast the bias to " << Result.getElementType();
  return Diag;
}

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

SmallVector<KernelAttr> CUDATarget::getImplementations(Operation *Op) const {
  if (isView(Op) || isResidentConstant(Op))
    return {makeKernel(KernelKind::own, 0, /*Workspace=*/0, /*Launches=*/0)};
  if (auto Scan = dyn_cast<ScanOp>(Op))
    return getScanKernels(*this, Scan);
  if (auto Matmul = dyn_cast<MatmulOp>(Op)) {
    if (hasOtherBias(Matmul) || getBatches(Matmul) > MostBatches)
      return {};
    return {makeKernel(KernelKind::cublaslt, getMatmulMicroseconds(Matmul),
                       getMatmulWorkspace(Matmul), /*Launches=*/1)};
  }
  if (isa<CollectiveOpInterface>(Op))
    return {makeKernel(KernelKind::nccl, getMicroseconds(Op), /*Workspace=*/0,
                       /*Launches=*/1)};
  if (isa<AttentionOp, AttentionBackwardOp>(Op))
    return getAttentionKernels(Op);
  if (hasCudnnConvolution(Op) &&
      getAttr().getAttention() != AttentionKernels::own)
    return {getConvolutionKernel(Op)};
  if (!cuda::isPointwiseKernel(Op) && !cuda::hasKernels(Op))
    return {};
  cuda::KernelNeeds Needs = cuda::getKernelNeeds(Op);
  auto More = static_cast<double>(std::max<int64_t>(Needs.Launches, 1) - 1);
  return {makeKernel(KernelKind::own,
                     getMicroseconds(Op) + More * LaunchMicroseconds,
                     Needs.Workspace, Needs.Launches)};
}

/// The first operation of a body that no kernel runs is what keeps a scan from
/// running.
static InFlightDiagnostic explainScan(const CUDATarget &Where, ScanOp Scan) {
  for (Operation &Op : Scan.getBlock().without_terminator())
    if (Scan.getArena() && Where.getImplementations(&Op).empty())
      return Where.emitNoImplementation(&Op);
  return emitNoScanKernel(Scan);
}

InFlightDiagnostic CUDATarget::emitNoImplementation(Operation *Op) const {
  if (auto Scan = dyn_cast<ScanOp>(Op))
    return explainScan(*this, Scan);
  if (auto Matmul = dyn_cast<MatmulOp>(Op))
    return explainMatmul(Matmul);
  if (isa<AttentionOp, AttentionBackwardOp>(Op)) {
    auto Query = cast<RankedTensorType>(Op->getOperand(0).getType());
    InFlightDiagnostic Diag =
        Op->emitOpError() << "cannot run on CUDA: heads of "
                          << Query.getShape().back() << " elements of "
                          << Query.getElementType() << ", where kernels take "
                          << cuda::getWidestAttention();
    Diag.attachNote() << "matmul and softmax take heads of any width";
    return Diag;
  }
  InFlightDiagnostic Diag = Op->emitOpError()
                            << "cannot run on CUDA: no kernel takes ";
  llvm::interleaveComma(Op->getOperandTypes(), Diag);
  if (isa<KernelOp>(Op))
    Diag.attachNote() << "run --canonicalize, which takes a kernel apart that "
                         "is not elementwise over one shape";
  return Diag;
}

/// Where the read that it saves takes longer than the start of a kernel, and
/// there are columns for a warp.
bool CUDATarget::sumsInKernels(Operation *Sum) const {
  constexpr int64_t LeastElements = 1 << 20, LeastColumns = 32;
  auto Type = cast<RankedTensorType>(Sum->getOperand(0).getType());
  return Type.getNumElements() >= LeastElements &&
         Type.getShape().back() >= LeastColumns;
}

std::unique_ptr<Target> cuda::createTarget(TargetAttr Attr) {
  // Measured on an H200: copies at 4.25 TB/s, bf16 matrix products of a GPT's
  // shapes at 500 to 780 TFLOP/s; f32 without TF32 from the data sheet.
  Roofline Rates;
  Rates.MatrixFlops32 = 5e13;
  Rates.MatrixFlops16 = 7.6e14;
  Rates.ScalarFlops = 3e13;
  Rates.BytesPerSecond = 3.8e12;
  Rates.LaunchMicroseconds = LaunchMicroseconds;
  // Data sheets, less what NCCL's protocols take: NVLink 4 has 450 GB/s a
  // direction and a GPU, its network adapter of 400 Gbit/s 50 GB/s. Not
  // measured: that takes more than one GPU.
  Links &L = Rates.Between;
  L.StartMicroseconds = 8;
  L.HopMicroseconds = 2;
  L.FarHopMicroseconds = 6;
  L.BytesPerSecond = 3.6e11;
  L.FarBytesPerSecond = 4e10;
  L.RanksOfHost = 8;
  L.HasTrees = true;
  return std::make_unique<CUDATarget>(Attr, Rates);
}
