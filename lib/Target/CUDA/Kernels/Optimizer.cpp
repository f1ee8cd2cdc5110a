//===- Optimizer.cpp - SGD, AdamW and the gradient norm -------------------===//
//
// The kernels are in Optimizer.cuh.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace remat;
using namespace remat::cuda;

static double toDouble(const llvm::APFloat &Number) {
  return Number.convertToDouble();
}

/// The natural logarithm of `Beta`; of 0, one so small that the power vanishes.
static double getLog(double Beta) { return Beta > 0 ? std::log(Beta) : -1e4; }

/// A block for each run of 256 times `Width` elements.
static LaunchSize getFlatSize(int64_t Count, int64_t Width) {
  return {.Block = 256, .GridX = int64_t(llvm::divideCeil(Count, 256 * Width))};
}

/// An operand that may be missing: one that is there has the next index.
static Passed nextOperand(bool IsThere, unsigned &Next) {
  return IsThere ? operand(Next++) : absent();
}

static void addSgd(SgdOp Op, Launches &Out) {
  bool HasBuffer = static_cast<bool>(Op.getBuffer());
  bool HasScale = static_cast<bool>(Op.getGradScale());
  int64_t Count = getCount(Op.getParameter());
  llvm::SmallVector<mlir::Value> Values = {Op.getParameter(), Op.getGrad(),
                                           Op.getNewParameter()};
  if (HasBuffer)
    Values.append({Op.getBuffer(), Op.getNewBuffer()});
  int64_t Width = getAccessWidth(Values, Count);
  unsigned Next = 2;
  addLaunch("sgd",
            kernels::Sgd{.T = getName(Op.getParameter()),
                         .G = getName(Op.getGrad()),
                         .Count = Count,
                         .N = Width,
                         .HasBuffer = HasBuffer,
                         .HasScale = HasScale,
                         .P = operand(0),
                         .Grad = operand(1),
                         .Buffer = nextOperand(HasBuffer, Next),
                         .Rate = nextOperand(true, Next),
                         .Scale = nextOperand(HasScale, Next),
                         .NewP = result(0),
                         .NewBuffer = HasBuffer ? result(1) : absent(),
                         .WeightDecay = toDouble(Op.getWeightDecay()),
                         .Momentum = toDouble(Op.getMomentum())},
            getFlatSize(Count, Width), Out);
}

static void addAdamW(AdamWOp Op, Launches &Out) {
  int64_t Count = getCount(Op.getParameter());
  int64_t Width = getAccessWidth(
      {Op.getParameter(), Op.getGrad(), Op.getMoment1(), Op.getMoment2(),
       Op.getNewParameter(), Op.getNewMoment1(), Op.getNewMoment2()},
      Count);
  bool HasScale = static_cast<bool>(Op.getGradScale());
  double Beta1 = toDouble(Op.getBeta1()), Beta2 = toDouble(Op.getBeta2());
  addLaunch("adamw",
            kernels::AdamW{.T = getName(Op.getParameter()),
                           .G = getName(Op.getGrad()),
                           .Count = Count,
                           .N = Width,
                           .HasScale = HasScale,
                           .InHalves = Op.getInHalves(),
                           .AsHalves = Op.getAsHalves(),
                           .P = operand(0),
                           .Grad = operand(1),
                           .Moment1 = operand(2),
                           .Moment2 = operand(3),
                           .Rate = operand(4),
                           .Step = operand(5),
                           .Scale = HasScale ? operand(6) : absent(),
                           .NewP = result(0),
                           .NewMoment1 = result(1),
                           .NewMoment2 = result(2),
                           .Beta1 = Beta1,
                           .OneMinusBeta1 = 1 - Beta1,
                           .LogBeta1 = getLog(Beta1),
                           .Beta2 = Beta2,
                           .OneMinusBeta2 = 1 - Beta2,
                           .LogBeta2 = getLog(Beta2),
                           .WeightDecay = toDouble(Op.getWeightDecay()),
                           .Epsilon = toDouble(Op.getEpsilon())},
            getFlatSize(Count, Width), Out);
}

static void addJoinHalves(JoinHalvesOp Op, Launches &Out) {
  int64_t Count = getCount(Op.getResult());
  int64_t Width = getAccessWidth({Op.getOperand(), Op.getResult()}, Count);
  addLaunch("join_halves",
            kernels::JoinHalves{
                .Count = Count, .N = Width, .X = operand(0), .Y = result(0)},
            getFlatSize(Count, Width), Out);
}

static void addGlobalNorm(GlobalNormOp Op, Launches &Out) {
  int64_t Partials = 0;
  for (auto [Index, Operand] : llvm::enumerate(Op.getOperands())) {
    int64_t Count = getCount(Operand), Chunks = getFlatChunks(Count);
    addLaunch("sum_squares",
              kernels::SumOfSquares{
                  .T = getName(Operand),
                  .Count = Count,
                  .Part = llvm::alignTo(llvm::divideCeil(Count, Chunks), 64),
                  .N = getAccessWidth({Operand}, Count),
                  .X = operand(Index),
                  .Partial = workspace(Partials * 4)},
              {.Block = 256, .GridX = Chunks}, Out);
    Partials += Chunks;
  }
  addLaunch("global_norm",
            kernels::RootOfSum{
                .Count = Partials, .Partial = workspace(), .Norm = result(0)},
            {.Block = 1024}, Out);
}

static KernelNeeds getNormNeeds(GlobalNormOp Op) {
  int64_t Partials = 0;
  for (mlir::Value Operand : Op.getOperands())
    Partials += getFlatChunks(getCount(Operand));
  return {Partials * 4, Op->getNumOperands() + 1};
}

llvm::ArrayRef<OwnKernels> remat::cuda::getOptimizerKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<SgdOp, addSgd>(),
      kernelsOf<AdamWOp, addAdamW>(),
      kernelsOf<JoinHalvesOp, addJoinHalves>(),
      kernelsOf<GlobalNormOp, addGlobalNorm, getNormNeeds>(),
  };
  return Table;
}
