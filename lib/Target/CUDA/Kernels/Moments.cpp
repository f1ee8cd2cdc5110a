//===- Moments.cpp - statistics over dimensions ---------------------------===//
//
// The kernels are in Moments.cuh.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

namespace {
/// Two sums a result over `Reduced` dimensions of operand X.
struct PairSums {
  bool IsMoments, IsMasked;
  Value X;
  SmallVector<int64_t> Reduced;

  int64_t getLength() const {
    int64_t Length = 1;
    for (int64_t Dim : Reduced)
      Length *= getType(X).getDimSize(Dim);
    return Length;
  }
  int64_t getResults() const { return getCount(X) / getLength(); }
};

/// How the elements are shared out.
struct PairPlan {
  bool IsColumns; ///< reduced dimensions come before all others
  int64_t Lanes = 1, Width = 1, Tiles = 1; ///< of columns
  int64_t Chunks = 1;
};
} // namespace

static PairSums getSums(MomentsOp Op) {
  return {true, false, Op.getOperand(), llvm::to_vector(Op.getDims())};
}
static PairSums getSums(NormalizeSumsOp Op) {
  SmallVector<int64_t> Reduced;
  for (auto [Dim, Size] : llvm::enumerate(getType(Op.getMean()).getShape()))
    if (Size == 1)
      Reduced.push_back(static_cast<int64_t>(Dim));
  return {false, !Op.getAffine().empty(), Op.getOperand(), Reduced};
}

/// Of shapes and types alone: where tensors lie must not change a sum's order.
static PairPlan getPlan(const PairSums &S) {
  constexpr int64_t Wanted = 1056; // blocks: eight a multiprocessor
  // Of a block with one lane: four rows a thread.
  constexpr int64_t LeastRows = 4 * int64_t(256);
  bool SeesKept = false, IsColumns = true;
  for (auto [Dim, Size] : llvm::enumerate(getType(S.X).getShape())) {
    bool IsReduced = llvm::is_contained(S.Reduced, static_cast<int64_t>(Dim));
    IsColumns &= Size == 1 || !IsReduced || !SeesKept;
    SeesKept |= Size != 1 && !IsReduced;
  }
  int64_t Results = S.getResults(), Length = S.getLength();
  PairPlan Plan = {.IsColumns = IsColumns};
  int64_t Most;
  if (IsColumns) {
    Plan.Width = 16 / getBytes(S.X);
    while (Results % Plan.Width != 0)
      Plan.Width /= 2;
    Plan.Lanes = std::min<int64_t>(
        32, int64_t(llvm::PowerOf2Ceil(Results / Plan.Width)));
    Plan.Tiles = int64_t(llvm::divideCeil(Results, Plan.Lanes * Plan.Width));
    Most = int64_t(llvm::divideCeil(Length, LeastRows / Plan.Lanes));
    Plan.Chunks = std::clamp<int64_t>(Wanted / Plan.Tiles, 1, Most);
  } else {
    Most = int64_t(llvm::divideCeil(Length, 4096));
    Plan.Chunks = std::clamp<int64_t>(Wanted / Results, 1, Most);
  }
  return Plan;
}

static TypeName getStrides(const PairSums &S, bool Reduced) {
  return getStrides(getType(S.X).getShape(), S.Reduced, Reduced);
}

namespace {
/// What the launches are passed.
struct PairTensors {
  Passed X, Grad, Mean, Rstd, Scale, Bias;
};
} // namespace

static void addColumns(const PairSums &S, const PairPlan &Plan,
                       const PairTensors &T, int64_t Access, Launches &Out) {
  int64_t Length = S.getLength();
  addLaunch("two_sums_of_columns",
            kernels::PairColumns{
                .T = getName(S.X),
                .IsMoments = S.IsMoments,
                .IsMasked = S.IsMasked,
                .R = Length,
                .C = S.getResults(),
                .Part = int64_t(llvm::divideCeil(Length, Plan.Chunks)),
                .Chunks = Plan.Chunks,
                .Tiles = Plan.Tiles,
                .Lanes = Plan.Lanes,
                .W = Plan.Width,
                .N = std::min(Access, Plan.Width),
                .X = T.X,
                .Grad = T.Grad,
                .Mean = T.Mean,
                .Rstd = T.Rstd,
                .Scale = T.Scale,
                .Bias = T.Bias,
                .Partial = workspace()},
            {.Block = 256, .GridX = Plan.Tiles * Plan.Chunks}, Out);
}

static void addStrided(const PairSums &S, const PairPlan &Plan,
                       const PairTensors &T, Launches &Out) {
  int64_t Length = S.getLength(), Results = S.getResults();
  addLaunch("two_sums",
            kernels::PairStrided{
                .T = getName(S.X),
                .IsMoments = S.IsMoments,
                .IsMasked = S.IsMasked,
                .Results = Results,
                .Count = Length,
                .Part = int64_t(llvm::divideCeil(Length, Plan.Chunks)),
                .Chunks = Plan.Chunks,
                .Kept = getStrides(S, false),
                .Reduced = getStrides(S, true),
                .X = T.X,
                .Grad = T.Grad,
                .Mean = T.Mean,
                .Rstd = T.Rstd,
                .Scale = T.Scale,
                .Bias = T.Bias,
                .Partial = workspace()},
            {.Block = 256, .GridX = Results * Plan.Chunks}, Out);
}

template <typename OpT> static void addPairSums(OpT Op, Launches &Out) {
  PairSums S = getSums(Op);
  PairPlan Plan = getPlan(S);
  // Moments read the operand alone: what else is passed is not read.
  auto Statistic = [&](unsigned Number, bool IsRead) {
    return IsRead ? operand(Number) : workspace();
  };
  PairTensors T = {operand(S.IsMoments ? 0 : 1), operand(0),
                   Statistic(2, !S.IsMoments),   Statistic(3, S.IsMasked),
                   Statistic(4, S.IsMasked),     Statistic(5, S.IsMasked)};
  int64_t Access = getAccessWidth({S.X, Op->getOperand(0)}, S.getResults());
  if (Plan.IsColumns)
    addColumns(S, Plan, T, Access, Out);
  else
    addStrided(S, Plan, T, Out);
  addLaunch(
      "two_sums_join",
      kernels::PairJoin{.T = getName(S.X),
                        .IsMoments = S.IsMoments,
                        .Results = S.getResults(),
                        .Count = S.getLength(),
                        .Chunks = Plan.Chunks,
                        .Kept = getStrides(S, false),
                        .X = T.X,
                        .Partial = workspace(),
                        .One = result(0),
                        .Two = result(1)},
      {.Block = 256, .GridX = int64_t(llvm::divideCeil(S.getResults(), 8))},
      Out);
}

template <typename OpT> static KernelNeeds getPairNeeds(OpT Op) {
  PairSums S = getSums(Op);
  return {2 * getPlan(S).Chunks * S.getResults() *
              static_cast<int64_t>(sizeof(float)),
          2};
}

llvm::ArrayRef<OwnKernels> remat::cuda::getMomentKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<MomentsOp, addPairSums<MomentsOp>, getPairNeeds<MomentsOp>>(),
      kernelsOf<NormalizeSumsOp, addPairSums<NormalizeSumsOp>,
                getPairNeeds<NormalizeSumsOp>>(),
  };
  return Table;
}
