//===- Shape.cpp - copies between boxes of two tensors --------------------===//
//
// Transpose, slice, pad, concat, broadcast and a reshape that is no view are
// one kernel: it runs over a box of elements, each of which has a place in the
// operand and a place in the result. Elements that stay neighbours move
// together, up to 16 bytes. A transpose whose innermost dimension changes goes
// through a tile in shared memory.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

namespace {
using Sizes = llvm::SmallVector<int64_t>;

/// A box of elements with their strides and first places in two tensors.
struct Box {
  Sizes Shape, FromStride, ToStride;
  int64_t From = 0, To = 0;
  /// Of pad: elements outside [Low, Low + Size) of a dimension are zero.
  Sizes Low, Size;
};
} // namespace

static Sizes getStrides(llvm::ArrayRef<int64_t> Shape) {
  Sizes Strides(Shape.size(), 1);
  for (size_t Dim = Shape.size(); Dim-- > 1;)
    Strides[Dim - 1] = Strides[Dim] * Shape[Dim];
  return Strides;
}

/// Drops dimensions of size 1 and joins neighbours that are one run in both
/// tensors. A padded box keeps its dimensions.
static void simplify(Box &B) {
  if (!B.Low.empty())
    return;
  Box Out;
  Out.From = B.From;
  Out.To = B.To;
  for (size_t Dim = 0; Dim < B.Shape.size(); ++Dim) {
    if (B.Shape[Dim] == 1)
      continue;
    int64_t Run = B.Shape[Dim];
    if (!Out.Shape.empty() &&
        Out.FromStride.back() == Run * B.FromStride[Dim] &&
        Out.ToStride.back() == Run * B.ToStride[Dim]) {
      Out.Shape.back() *= Run;
      Out.FromStride.back() = B.FromStride[Dim];
      Out.ToStride.back() = B.ToStride[Dim];
      continue;
    }
    Out.Shape.push_back(Run);
    Out.FromStride.push_back(B.FromStride[Dim]);
    Out.ToStride.push_back(B.ToStride[Dim]);
  }
  B = std::move(Out);
}

/// Makes the innermost `Width` elements one: shapes and strides count such
/// units from here on.
static void widen(Box &B, int64_t Width) {
  auto Divide = [&](Sizes &Numbers) {
    for (int64_t &Number : Numbers)
      Number /= Width;
  };
  B.Shape.back() /= Width;
  for (Sizes *Strides : {&B.FromStride, &B.ToStride}) {
    Strides->pop_back();
    Divide(*Strides);
    Strides->push_back(1);
  }
  B.From /= Width;
  B.To /= Width;
}

/// The widest unit that every run of the box is a multiple of.
static int64_t getUnit(const Box &B, Value From, Value To) {
  if (B.Shape.empty() || !B.Low.empty() || B.FromStride.back() != 1 ||
      B.ToStride.back() != 1)
    return 1;
  int64_t Run = B.Shape.back();
  int64_t Bits = Run | B.From | B.To;
  for (size_t Dim = 0; Dim + 1 < B.Shape.size(); ++Dim)
    Bits |= B.FromStride[Dim] | B.ToStride[Dim];
  return getAccessWidth({From, To}, Bits);
}

static constexpr const char *CopySource = R"cuda(
// Copies a box of @COUNT@ units of @UNIT@ elements@PADDED@.
extern "C" __global__ void __launch_bounds__(256) @NAME@(const @T@ *x, @T@ *y) {
  @INDEX@ rest = (@INDEX@)blockIdx.x * 256 + threadIdx.x;
  if (rest >= @COUNT@)
    return;
  @INDEX@ from = @FROM@, to = @TO@;
@STEPS@
  store(y + (int64)to * @UNIT@, @VALUE@);
}
)cuda";

/// Statements that turn `rest` into `from` and `to`.
static std::string printSteps(const Box &B) {
  std::string Text;
  if (!B.Low.empty())
    Text += "  bool inside = true;\n";
  for (size_t Dim = B.Shape.size(); Dim-- > 0;) {
    std::string Index = "i" + std::to_string(Dim);
    std::string Size = std::to_string(B.Shape[Dim]);
    Text += "  auto " + Index + " = ";
    Text += Dim == 0 ? "rest;\n"
                     : "rest % " + Size + ";\n  rest /= " + Size + ";\n";
    std::string From = Index;
    if (!B.Low.empty()) {
      std::string Low = std::to_string(B.Low[Dim]);
      From = "(" + Index + " - " + Low + ")";
      Text += "  inside = inside && " + Index + " >= " + Low + " && " + Index +
              " < " + std::to_string(B.Low[Dim] + B.Size[Dim]) + ";\n";
    }
    if (B.FromStride[Dim] != 0)
      Text += "  from += " + From + " * " + std::to_string(B.FromStride[Dim]) +
              ";\n";
    Text +=
        "  to += " + Index + " * " + std::to_string(B.ToStride[Dim]) + ";\n";
  }
  return Text;
}

/// Copies a box of operand `Operand` into the result.
static void addCopy(Operation *Op, unsigned Operand, llvm::StringRef Name,
                    Box B, Launches &Out) {
  Value From = Op->getOperand(Operand), To = Op->getResult(0);
  simplify(B);
  int64_t Unit = getUnit(B, From, To);
  if (Unit > 1)
    widen(B, Unit);
  int64_t Count = 1;
  for (int64_t Size : B.Shape)
    Count *= Size;
  bool IsWide = std::max(getCount(From), getCount(To)) > (int64_t(1) << 30);
  std::string Width = std::to_string(Unit);
  std::string Value = "load<" + Width + ">(x + (int64)from * " + Width + ")";
  if (!B.Low.empty())
    Value = "inside ? " + Value + " : Vec<" + getName(To) + ", 1>{}";
  Writer W(Name, CopySource);
  W.set("T", getName(To)).set("INDEX", IsWide ? "int64" : "int");
  W.set("COUNT", Count).set("UNIT", Unit).set("FROM", B.From).set("TO", B.To);
  W.set("PADDED", B.Low.empty() ? "" : ", zero outside the operand");
  W.set("STEPS", printSteps(B)).set("VALUE", Value);
  W.block(256).grid(llvm::divideCeil(Count, 256));
  W.operand(Operand).result(0).finish(Out);
}

static constexpr const char *TileSource = R"cuda(
// Transposes tiles: x's innermost dimension has @B@ elements, y's has @A@.
extern "C" __global__ void __launch_bounds__(256) @NAME@(const @T@ *x, @T@ *y) {
  constexpr int Tile = 32;
  constexpr int64 A = @A@, B = @B@, TilesA = (A + Tile - 1) / Tile, TilesB = (B + Tile - 1) / Tile;
  __shared__ @T@ tile[Tile][Tile + @PAD@];
  int64 rest = blockIdx.x;
  int64 a = rest % TilesA * Tile;
  rest /= TilesA;
  int64 b = rest % TilesB * Tile;
  rest /= TilesB;
  int64 from = 0, to = 0;
@STEPS@
  int column = threadIdx.x % Tile, row = threadIdx.x / Tile;
#pragma unroll
  for (int i = 0; i < Tile; i += 8)
    if (a + row + i < A && b + column < B)
      tile[row + i][column] = x[from + (a + row + i) * @STRIDEA@ + b + column];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Tile; i += 8)
    if (b + row + i < B && a + column < A)
      y[to + (b + row + i) * @STRIDEB@ + a + column] = tile[column][row + i];
}
)cuda";

/// `B` has one dimension that is innermost in the operand and another that is
/// innermost in the result.
static void addTiles(TransposeOp Op, Box B, Launches &Out) {
  size_t InnerFrom = 0, InnerTo = 0;
  for (size_t Dim = 0; Dim < B.Shape.size(); ++Dim) {
    if (B.FromStride[Dim] == 1)
      InnerFrom = Dim;
    if (B.ToStride[Dim] == 1)
      InnerTo = Dim;
  }
  Writer W("transpose", TileSource);
  int64_t SizeA = B.Shape[InnerTo], SizeB = B.Shape[InnerFrom];
  int64_t Blocks = llvm::divideCeil(SizeA, 32) * llvm::divideCeil(SizeB, 32);
  std::string Steps;
  for (size_t Dim = B.Shape.size(); Dim-- > 0;) {
    if (Dim == InnerFrom || Dim == InnerTo)
      continue;
    Blocks *= B.Shape[Dim];
    std::string Size = std::to_string(B.Shape[Dim]);
    Steps += "  from += rest % " + Size + " * " +
             std::to_string(B.FromStride[Dim]) + ", to += rest % " + Size +
             " * " + std::to_string(B.ToStride[Dim]) + ", rest /= " + Size +
             ";\n";
  }
  W.set("T", getName(Op.getResult())).set("A", SizeA).set("B", SizeB);
  W.set("STRIDEA", B.FromStride[InnerTo]).set("STRIDEB", B.ToStride[InnerFrom]);
  W.set("PAD", std::max<int64_t>(1, 4 / getBytes(Op.getResult())));
  W.set("STEPS", Steps).block(256).grid(Blocks);
  W.operand(0).result(0).finish(Out);
}

void remat::cuda::addTranspose(TransposeOp Op, Launches &Out) {
  llvm::ArrayRef<int64_t> Shape = getType(Op.getResult()).getShape();
  Sizes Strides = getStrides(getType(Op.getOperand()).getShape());
  Box B;
  B.Shape.assign(Shape.begin(), Shape.end());
  B.ToStride = getStrides(Shape);
  for (int64_t Dim : Op.getPermutation())
    B.FromStride.push_back(Strides[Dim]);
  simplify(B);
  bool SameInnermost = B.Shape.empty() || B.FromStride.back() == 1;
  if (SameInnermost)
    return addCopy(Op, 0, "transpose_rows", B, Out);
  addTiles(Op, B, Out);
}

void remat::cuda::addSlice(SliceOp Op, Launches &Out) {
  Box B;
  B.Shape.assign(Op.getSizes().begin(), Op.getSizes().end());
  B.FromStride = getStrides(getType(Op.getOperand()).getShape());
  B.ToStride = getStrides(B.Shape);
  for (auto [Offset, Stride] : llvm::zip_equal(Op.getOffsets(), B.FromStride))
    B.From += Offset * Stride;
  addCopy(Op, 0, "slice", B, Out);
}

void remat::cuda::addPad(PadOp Op, Launches &Out) {
  llvm::ArrayRef<int64_t> From = getType(Op.getOperand()).getShape();
  llvm::ArrayRef<int64_t> To = getType(Op.getResult()).getShape();
  Box B;
  B.Shape.assign(To.begin(), To.end());
  B.FromStride = getStrides(From);
  B.ToStride = getStrides(To);
  B.Low.assign(Op.getLow().begin(), Op.getLow().end());
  B.Size.assign(From.begin(), From.end());
  addCopy(Op, 0, "pad", B, Out);
}

void remat::cuda::addConcat(ConcatOp Op, Launches &Out) {
  Sizes Strides = getStrides(getType(Op.getResult()).getShape());
  int64_t Begin = 0;
  for (auto [Index, Operand] : llvm::enumerate(Op.getOperands())) {
    llvm::ArrayRef<int64_t> Shape = getType(Operand).getShape();
    Box B;
    B.Shape.assign(Shape.begin(), Shape.end());
    B.FromStride = getStrides(Shape);
    B.ToStride = Strides;
    B.To = Begin * Strides[Op.getDim()];
    addCopy(Op, Index, "concat", B, Out);
    Begin += Shape[Op.getDim()];
  }
}

void remat::cuda::addBroadcast(BroadcastOp Op, Launches &Out) {
  llvm::ArrayRef<int64_t> From = getType(Op.getOperand()).getShape();
  llvm::ArrayRef<int64_t> To = getType(Op.getResult()).getShape();
  Sizes Strides = getStrides(From);
  size_t Missing = To.size() - From.size();
  Box B;
  B.Shape.assign(To.begin(), To.end());
  B.ToStride = getStrides(To);
  for (size_t Dim = 0; Dim < To.size(); ++Dim)
    B.FromStride.push_back(
        Dim < Missing || From[Dim - Missing] == 1 ? 0 : Strides[Dim - Missing]);
  addCopy(Op, 0, "broadcast", B, Out);
}

void remat::cuda::addReshape(ReshapeOp Op, Launches &Out) {
  Box B;
  B.Shape = {getCount(Op.getResult())};
  B.FromStride = B.ToStride = {1};
  addCopy(Op, 0, "copy", B, Out);
}
