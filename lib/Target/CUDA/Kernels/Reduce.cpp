//===- Reduce.cpp - sums, means and maxima over dimensions ----------------===//
//
// The kernels are in Reduce.cuh.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

namespace {
/// What is the same for all launches of one reduction.
struct Reducer {
  bool IsMax, IsMean;
  int64_t Count; ///< elements a result
  /// The type that totals are made and, between two launches, kept in.
  std::string Accumulator;

  kernels::Reduction getKind(const std::string &In, const std::string &Out,
                             bool IsLast) const {
    return {.In = In,
            .Out = Out,
            .IsMax = IsMax,
            .Divisor = IsMean && IsLast ? Count : 1};
  }
};

/// One launch's elements, [Outer, R, C], and its types. R is reduced in
/// `Chunks` parts; C is 1 for rows.
struct ReduceStage {
  std::string Name, In, Out;
  int64_t Outer, R, C, Chunks, Width;
  bool IsLast;
  Passed From, To;
};
} // namespace

static void addRows(const Reducer &Reduce, const ReduceStage &S,
                    Launches &Out) {
  int64_t Part =
      S.Chunks == 1 ? S.R : llvm::alignTo(llvm::divideCeil(S.R, S.Chunks), 64);
  int64_t Results = S.Outer * S.Chunks;
  RowPlan Plan = getRowPlan(Part);
  addLaunch(S.Name,
            kernels::ReduceRows{.In = S.In,
                                .Out = S.Out,
                                .Kind = Reduce.getKind(S.In, S.Out, S.IsLast),
                                .Results = Results,
                                .R = S.R,
                                .Part = Part,
                                .Chunks = S.Chunks,
                                .Threads = Plan.Threads,
                                .RowsPerBlock = Plan.RowsPerBlock,
                                .N = S.Width,
                                .X = S.From,
                                .Y = S.To},
            {.Block = Plan.getBlockThreads(),
             .GridX = int64_t(llvm::divideCeil(Results, Plan.RowsPerBlock))},
            Out);
}

static void addColumns(const Reducer &Reduce, const ReduceStage &S,
                       Launches &Out) {
  int64_t Tiles = llvm::divideCeil(S.C, 32 * S.Width);
  addLaunch(
      S.Name,
      kernels::ReduceColumns{.In = S.In,
                             .Out = S.Out,
                             .Kind = Reduce.getKind(S.In, S.Out, S.IsLast),
                             .R = S.R,
                             .C = S.C,
                             .Part = llvm::divideCeil(S.R, S.Chunks),
                             .Chunks = S.Chunks,
                             .Tiles = Tiles,
                             .N = S.Width,
                             .X = S.From,
                             .Y = S.To},
      {.Block = 256, .GridX = Tiles * S.Outer * S.Chunks}, Out);
}

TypeName remat::cuda::getStrides(llvm::ArrayRef<int64_t> Shape,
                                 llvm::ArrayRef<int64_t> Dims, bool Reduced) {
  std::vector<TypeName> Strides;
  int64_t Stride = 1;
  for (int64_t Dim = static_cast<int64_t>(Shape.size()) - 1; Dim >= 0; --Dim) {
    if (llvm::is_contained(Dims, Dim) == Reduced && Shape[Dim] > 1)
      Strides.push_back(kernels::Stride{.Size = Shape[Dim], .Stride = Stride});
    Stride *= Shape[Dim];
  }
  return kernels::StrideList{.Strides = Strides};
}

static void addStrided(ReduceOp Op, const Reducer &Reduce, Launches &Out) {
  llvm::ArrayRef<int64_t> Shape = getType(Op.getOperand()).getShape();
  std::string In = getName(Op.getOperand()), Result = getName(Op.getResult());
  int64_t Results = getCount(Op.getResult());
  addLaunch(
      "reduce_strided",
      kernels::ReduceStrided{.In = In,
                             .Out = Result,
                             .Kind = Reduce.getKind(In, Result, true),
                             .Results = Results,
                             .Count = Reduce.Count,
                             .Kept = getStrides(Shape, Op.getDims(), false),
                             .Reduced = getStrides(Shape, Op.getDims(), true),
                             .X = operand(0),
                             .Y = result(0)},
      {.Block = 256, .GridX = int64_t(llvm::divideCeil(Results, 8))}, Out);
}

/// [Columns, Outer, Reduced] to [Outer]: rows first, then columns.
static void addRowsAndColumns(ReduceOp Op, const ReducePlan &Plan,
                              const Reducer &Reduce, Launches &Out) {
  int64_t Width = getAccessWidth({Op.getOperand()}, Plan.Reduced);
  addRows(Reduce,
          {"reduce_rows", getName(Op.getOperand()), Reduce.Accumulator,
           Plan.Columns * Plan.Outer, Plan.Reduced, 1, 1, Width, false,
           operand(0), workspace()},
          Out);
  addColumns(Reduce,
             {"reduce_rows_join", Reduce.Accumulator, getName(Op.getResult()),
              1, Plan.Columns, Plan.Outer, 1, 1, true, workspace(), result(0)},
             Out);
}

static void addReduce(ReduceOp Op, Launches &Out) {
  RankedTensorType Operand = getType(Op.getOperand());
  ReducePlan Plan = getReducePlan(Operand.getShape(), Op.getDims());
  Reducer Reduce = {
      Op.getKind() == Reduction::max, Op.getKind() == Reduction::mean,
      getCount(Op.getOperand()) / getCount(Op.getResult()),
      isa<FloatType>(Operand.getElementType()) ? "float" : "int64"};
  if (Plan.Strided)
    return addStrided(Op, Reduce, Out);
  if (Plan.Columns > 1)
    return addRowsAndColumns(Op, Plan, Reduce, Out);

  bool IsRow = Plan.Inner == 1, TwoStages = Plan.Chunks > 1;
  auto Add = IsRow ? addRows : addColumns;
  std::string Name = IsRow ? "reduce_rows" : "reduce_columns";
  std::string In = getName(Op.getOperand()), Result = getName(Op.getResult());
  int64_t Width =
      getAccessWidth({Op.getOperand()}, IsRow ? Plan.Reduced : Plan.Inner);
  Add(Reduce,
      {Name, In, TwoStages ? Reduce.Accumulator : Result, Plan.Outer,
       Plan.Reduced, Plan.Inner, Plan.Chunks, Width, !TwoStages, operand(0),
       TwoStages ? workspace() : result(0)},
      Out);
  if (TwoStages)
    Add(Reduce,
        {Name + "_join", Reduce.Accumulator, Result, Plan.Outer, Plan.Chunks,
         Plan.Inner, 1, 1, true, workspace(), result(0)},
        Out);
}

//===----------------------------------------------------------------------===//
// Sums that kernels of elementwise operations make
//===----------------------------------------------------------------------===//

ReducePlan remat::cuda::getSumPlan(mlir::Operation *Sum) {
  auto Reduce = cast<ReduceOp>(Sum);
  return getReducePlan(getType(Reduce.getOperand()).getShape(),
                       Reduce.getDims());
}

void remat::cuda::addSumJoin(mlir::Operation *Sum, unsigned Result,
                             int64_t Partials,
                             llvm::SmallVectorImpl<Launch> &Out) {
  ReducePlan Plan = getSumPlan(Sum);
  Reducer Reduce = {false, false, Plan.Reduced, "float"};
  addColumns(Reduce,
             {"reduce_columns_join", "float", getName(Sum->getResult(0)), 1,
              Plan.Chunks, Plan.Inner, 1, 1, true, workspace(Partials),
              result(Result)},
             Out);
}

KernelNeeds remat::cuda::getSumNeeds(KernelOp Op) {
  KernelNeeds Needs;
  for (unsigned I = 0; I < Op.getNumResults(); ++I)
    if (Operation *Sum = Op.getSum(I)) {
      int64_t Partials = getSumPlan(Sum).getPartials();
      Needs.Workspace += Partials * 4;
      Needs.Launches += Partials != 0;
    }
  return Needs;
}

static KernelNeeds getReduceNeeds(ReduceOp Op) {
  RankedTensorType Type = getType(Op.getOperand());
  int64_t Bytes = isa<FloatType>(Type.getElementType()) ? 4 : 8;
  ReducePlan Plan = getReducePlan(Type.getShape(), Op.getDims());
  return {Plan.getPartials() * Bytes, Plan.getPartials() == 0 ? 1 : 2};
}

llvm::ArrayRef<OwnKernels> remat::cuda::getReduceKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<ReduceOp, addReduce, getReduceNeeds>(),
  };
  return Table;
}
