//===- CUDATarget.cpp - the kernels of a CUDA device and their cost -------===//
//
// Times from measured rates, workspaces by rules; the runtime refuses a program
// for which a library wants more.
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CUDA/CUDATarget.h"
#include "AttentionTarget.h"
#include "KernelChoice.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/Liveness.h"
#include "remat/Analysis/ScanBody.h"
#include "remat/IR/RematOps.h"
#include "remat/Target/CUDA/Emission.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using cuda::makeKernel;

namespace {

class CUDATarget : public RooflineTarget {
public:
  using RooflineTarget::RooflineTarget;

  SmallVector<KernelAttr> getImplementations(Operation *Op) const override;
  InFlightDiagnostic emitNoImplementation(Operation *Op) const override;
  bool sumsInKernels(Operation *Sum) const override;

private:
  KernelAttr getConvolutionKernel(Operation *Op) const;
  double getMatmulMicroseconds(MatmulOp Op) const;
};

} // namespace

constexpr double LaunchMicroseconds = 2; ///< of one launch in a graph of many

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
  return makeKernel(getAttr(), KernelKind::cudnn, Microseconds,
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
    return {makeKernel(getAttr(), KernelKind::own, 0, /*Workspace=*/0,
                       /*Launches=*/0)};
  if (auto Scan = dyn_cast<ScanOp>(Op))
    return getScanKernels(*this, Scan);
  if (auto Matmul = dyn_cast<MatmulOp>(Op)) {
    if (hasOtherBias(Matmul) || getBatches(Matmul) > MostBatches)
      return {};
    return {makeKernel(getAttr(), KernelKind::cublaslt,
                       getMatmulMicroseconds(Matmul),
                       getMatmulWorkspace(Matmul), /*Launches=*/1)};
  }
  if (isa<CollectiveOpInterface>(Op))
    return {makeKernel(getAttr(), KernelKind::nccl, getMicroseconds(Op),
                       /*Workspace=*/0,
                       /*Launches=*/1)};
  if (isa<AttentionOp, AttentionBackwardOp>(Op))
    return cuda::getAttentionImplementations(getAttr(), Op);
  if (hasCudnnConvolution(Op) &&
      getAttr().getAttention() != AttentionKernels::own)
    return {getConvolutionKernel(Op)};
  if (!cuda::isPointwiseKernel(Op) && !cuda::hasKernels(Op))
    return {};
  cuda::KernelNeeds Needs = cuda::getKernelNeeds(Op);
  auto More = static_cast<double>(std::max<int64_t>(Needs.Launches, 1) - 1);
  return {makeKernel(getAttr(), KernelKind::own,
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
  // Measured on an H200: copies at 4.25 TB/s, the memory-bound kernels of a
  // step of GPT-2 at 4.1 in sum (within 2 %), bf16 matrix products of a GPT's
  // shapes at 500 to 780 TFLOP/s; f32 without TF32 from the data sheet.
  Roofline Rates;
  Rates.MatrixFlops32 = 5e13;
  Rates.MatrixFlops16 = 7.5e14;
  Rates.ScalarFlops = 3e13;
  Rates.BytesPerSecond = 4.1e12;
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
