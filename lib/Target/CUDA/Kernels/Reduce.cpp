//===- Reduce.cpp - sums, means and maxima over dimensions ----------------===//
//
// Over the last dimensions: 32 threads or a block a result. Over others: a
// thread a column. Where few results are wanted of many elements, parts of each
// result go to the workspace and a second launch joins them in order.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Analysis/CUDAKernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

static constexpr const char *RowsSource = R"cuda(
// @WHAT@ over rows of @R@, in parts of @PART@.
extern "C" __global__ void __launch_bounds__(@BLOCK@) @NAME@(const @IN@ *x, @OUT@ *y) {
  constexpr int64 Results = @RESULTS@, R = @R@, Part = @PART@, Chunks = @CHUNKS@;
  constexpr int Threads = @THREADS@, N = @N@;
  int64 result = (int64)blockIdx.x * @ROWSPERBLOCK@ + threadIdx.x / Threads;
  if (result >= Results)
    return;
  int64 begin = result % Chunks * Part, end = begin + Part < R ? begin + Part : R;
  x += result / Chunks * R;
  @ACC@ total = @INIT@;
#pragma unroll 4
  for (int64 i = begin + threadIdx.x % Threads * N; i < end; i += Threads * N) {
    Vec<@IN@, N> v = load<N>(x + i);
    for (int k = 0; k < N; ++k)
      total = @COMBINE@;
  }
  total = @GROUP@(total);
  if (threadIdx.x % Threads == 0)
    y[result] = @FINISH@;
}
)cuda";

static constexpr const char *ColumnsSource = R"cuda(
// @WHAT@ over dimension 1 of [@O@, @R@, @C@], in parts of @PART@.
extern "C" __global__ void __launch_bounds__(256) @NAME@(const @IN@ *x, @OUT@ *y) {
  constexpr int64 R = @R@, C = @C@, Part = @PART@, Chunks = @CHUNKS@, Tiles = @TILES@;
  constexpr int N = @N@, Lanes = 32, Parts = 8;
  __shared__ @ACC@ totals[Parts][Lanes * N];
  int lane = threadIdx.x % Lanes, part = threadIdx.x / Lanes;
  int64 column = ((int64)blockIdx.x % Tiles * Lanes + lane) * N, result = blockIdx.x / Tiles;
  int64 begin = result % Chunks * Part, end = begin + Part < R ? begin + Part : R;
  x += result / Chunks * R * C + column;
  @ACC@ total[N];
  for (int k = 0; k < N; ++k)
    total[k] = @INIT@;
  if (column < C)
#pragma unroll 4
    for (int64 r = begin + part; r < end; r += Parts) {
      Vec<@IN@, N> v = load<N>(x + r * C);
      for (int k = 0; k < N; ++k)
        total[k] = @COMBINEK@;
    }
  for (int k = 0; k < N; ++k)
    totals[part][k * Lanes + lane] = total[k];
  __syncthreads();
  if (part == 0 && column < C)
    for (int k = 0; k < N; ++k) {
      @ACC@ total = totals[0][k * Lanes + lane];
      for (int p = 1; p < Parts; ++p)
        total = @JOIN@;
      y[result * C + column + k] = @FINISH@;
    }
}
)cuda";

static constexpr const char *StridedSource = R"cuda(
// @WHAT@ over @COUNT@ elements a result; dimensions that are not neighbours.
extern "C" __global__ void __launch_bounds__(256) @NAME@(const @IN@ *x, @OUT@ *y) {
  int64 result = (int64)blockIdx.x * 8 + threadIdx.x / 32;
  if (result >= @RESULTS@)
    return;
  int64 rest = result;
@KEPT@
  @ACC@ total = @INIT@;
  for (int64 i = threadIdx.x % 32; i < @COUNT@; i += 32) {
    const @IN@ *from = x;
    rest = i;
@REDUCED@
    @ACC@ value = @LOADFROM@;
    total = @JOINVALUE@;
  }
  total = @GROUP@(total);
  if (threadIdx.x % 32 == 0)
    y[result] = @FINISH@;
}
)cuda";

namespace {
/// The texts that make a reduction a sum, a mean or a maximum of some type.
class ReduceText {
public:
  ReduceText(ReduceOp Op, int64_t Count)
      : IsFloat(isa<FloatType>(getType(Op.getOperand()).getElementType())),
        IsMax(Op.getKind() == Reduction::max),
        IsMean(Op.getKind() == Reduction::mean), Count(Count) {}

  std::string accumulator() const { return IsFloat ? "float" : "int64"; }
  std::string join(llvm::StringRef Value) const {
    return (IsMax ? "maximum(total, " + Value + ")" : "total + " + Value).str();
  }
  std::string read(llvm::StringRef Value) const {
    return (IsFloat ? "toFloat(" + Value + ")" : "(int64)" + Value).str();
  }

  void set(Writer &W, llvm::StringRef In, llvm::StringRef Out, bool IsLast,
           llvm::StringRef Group) const {
    std::string Total = "total";
    if (IsLast && IsMean)
      Total = IsFloat ? "total / " + printFloat(static_cast<double>(Count))
                      : "total / " + std::to_string(Count);
    W.set("WHAT", IsMax ? "Maximum" : IsMean ? "Mean" : "Sum");
    W.set("ACC", accumulator()).set("IN", In.str()).set("OUT", Out.str());
    W.set("INIT", !IsMax    ? "0"
                  : IsFloat ? "-infinity()"
                            : "-0x7fffffffffffffffll - 1");
    W.set("COMBINE", join(read("v[k]")));
    std::string Element = join(read("v[k]"));
    W.set("COMBINEK", replaceTotal(Element));
    W.set("JOIN", join("totals[p][k * Lanes + lane]"));
    W.set("LOADFROM", read("*from")).set("JOINVALUE", join("value"));
    W.set("FINISH", IsFloat ? "fromFloat<" + Out.str() + ">(" + Total + ")"
                            : "(" + Out.str() + ")(" + Total + ")");
    W.set("GROUP",
          (Group.starts_with("warp") ? "warp" : "block") +
              std::string(IsMax ? "Max" : "Sum") +
              Group.drop_front(Group.starts_with("warp") ? 4 : 5).str());
  }

private:
  static std::string replaceTotal(std::string Text) {
    size_t At = Text.find("total");
    return Text.replace(At, 5, "total[k]");
  }

  bool IsFloat, IsMax, IsMean;
  int64_t Count;
};
} // namespace

/// One launch over [Results / Chunks, R] in `Chunks` parts of `Part`.
static Writer makeRows(const ReduceText &Text, llvm::StringRef Name,
                       llvm::StringRef In, llvm::StringRef Result,
                       int64_t Outer, int64_t R, int64_t Chunks, int64_t Width,
                       bool IsLast) {
  int64_t Part =
      Chunks == 1 ? R : llvm::alignTo(llvm::divideCeil(R, Chunks), 64);
  RowPlan Plan = getRowPlan(Part);
  Writer W(Name, RowsSource);
  bool IsWarp = Plan.Threads == 32;
  Text.set(W, In, Result, IsLast,
           IsWarp ? "warp" : "block<" + std::to_string(Plan.Threads) + ">");
  W.set("RESULTS", Outer * Chunks).set("R", R).set("PART", Part);
  W.set("CHUNKS", Chunks).set("THREADS", Plan.Threads).set("N", Width);
  W.set("ROWSPERBLOCK", Plan.RowsPerBlock).block(Plan.getBlockThreads());
  W.grid(llvm::divideCeil(Outer * Chunks, Plan.RowsPerBlock));
  return W;
}

/// One launch over [Outer, R, C] in `Chunks` parts of R.
static Writer makeColumns(const ReduceText &Text, llvm::StringRef Name,
                          llvm::StringRef In, llvm::StringRef Result,
                          int64_t Outer, int64_t R, int64_t C, int64_t Chunks,
                          int64_t Width, bool IsLast) {
  int64_t Tiles = llvm::divideCeil(C, 32 * Width);
  Writer W(Name, ColumnsSource);
  Text.set(W, In, Result, IsLast, "warp");
  W.set("O", Outer).set("R", R).set("C", C).set("CHUNKS", Chunks);
  W.set("PART", llvm::divideCeil(R, Chunks)).set("TILES", Tiles);
  W.set("N", Width).block(256).grid(Tiles * Outer * Chunks);
  return W;
}

/// Statements that step `Pointer` by the index left in `rest`, over the
/// dimensions of `Shape` that are reduced, or that are kept.
static std::string printSteps(llvm::ArrayRef<int64_t> Shape,
                              llvm::ArrayRef<int64_t> Dims, bool Reduced,
                              llvm::StringRef Pointer, llvm::StringRef Indent) {
  std::string Text;
  int64_t Stride = 1;
  for (int64_t Dim = static_cast<int64_t>(Shape.size()) - 1; Dim >= 0; --Dim) {
    if (llvm::is_contained(Dims, Dim) == Reduced && Shape[Dim] > 1) {
      std::string Size = std::to_string(Shape[Dim]);
      Text += (Indent + Pointer + " += rest % " + Size + " * " +
               std::to_string(Stride) + ", rest /= " + Size + ";\n")
                  .str();
    }
    Stride *= Shape[Dim];
  }
  return Text;
}

static void addStrided(ReduceOp Op, const ReduceText &Text, int64_t Count,
                       Launches &Out) {
  llvm::ArrayRef<int64_t> Shape = getType(Op.getOperand()).getShape();
  Writer W("reduce_strided", StridedSource);
  Text.set(W, getName(Op.getOperand()), getName(Op.getResult()), true, "warp");
  W.set("RESULTS", getCount(Op.getResult())).set("COUNT", Count);
  W.set("KEPT", printSteps(Shape, Op.getDims(), false, "x", "  "));
  W.set("REDUCED", printSteps(Shape, Op.getDims(), true, "from", "    "));
  W.block(256).grid(llvm::divideCeil(getCount(Op.getResult()), 8));
  W.operand(0).result(0).finish(Out);
}

void remat::cuda::addReduce(ReduceOp Op, Launches &Out) {
  int64_t Count = getCount(Op.getOperand()) / getCount(Op.getResult());
  ReducePlan Plan =
      getReducePlan(getType(Op.getOperand()).getShape(), Op.getDims());
  ReduceText Text(Op, Count);
  if (Plan.Strided)
    return addStrided(Op, Text, Count, Out);

  bool IsRow = Plan.Inner == 1, TwoStages = Plan.Chunks > 1;
  std::string In = getName(Op.getOperand()), Result = getName(Op.getResult());
  std::string Accumulator = Text.accumulator();
  std::string First = TwoStages ? Accumulator : Result;
  int64_t Width =
      getAccessWidth({Op.getOperand()}, IsRow ? Plan.Reduced : Plan.Inner);
  Writer W = IsRow ? makeRows(Text, "reduce_rows", In, First, Plan.Outer,
                              Plan.Reduced, Plan.Chunks, Width, !TwoStages)
                   : makeColumns(Text, "reduce_columns", In, First, Plan.Outer,
                                 Plan.Reduced, Plan.Inner, Plan.Chunks, Width,
                                 !TwoStages);
  W.operand(0);
  if (!TwoStages)
    return W.result(0).finish(Out);
  W.workspace().finish(Out);
  Writer Join =
      IsRow ? makeRows(Text, "reduce_rows_join", Accumulator, Result,
                       Plan.Outer, Plan.Chunks, 1, 1, true)
            : makeColumns(Text, "reduce_columns_join", Accumulator, Result,
                          Plan.Outer, Plan.Chunks, Plan.Inner, 1, 1, true);
  Join.workspace().result(0).finish(Out);
}
