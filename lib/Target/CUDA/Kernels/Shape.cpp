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

/// The box's dimensions as arguments of the kernels, innermost first; those in
/// `Without` are left out.
static TypeList getDimensions(const Box &B, llvm::ArrayRef<size_t> Without) {
  std::vector<TypeName> Dims;
  for (size_t Dim = B.Shape.size(); Dim-- > 0;) {
    if (llvm::is_contained(Without, Dim))
      continue;
    if (B.Low.empty())
      Dims.push_back(kernels::Dimension{.Size = B.Shape[Dim],
                                        .FromStride = B.FromStride[Dim],
                                        .ToStride = B.ToStride[Dim]});
    else
      Dims.push_back(kernels::PaddedDimension{.Size = B.Shape[Dim],
                                              .FromStride = B.FromStride[Dim],
                                              .ToStride = B.ToStride[Dim],
                                              .Low = B.Low[Dim],
                                              .Valid = B.Size[Dim],
                                              .IsOutermost = Dim == 0});
  }
  return Dims;
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
  // A padded dimension looks at its index.
  bool IsGiven = B.Low.empty() && !B.Shape.empty();
  auto ofOutermost = [&](const Sizes &Strides) {
    return IsGiven ? integer(Strides[0]) : absent();
  };
  addLaunch(Name,
            kernels::CopyBox{.T = getName(To),
                             .Index = IsWide ? "int64" : "int",
                             .Count = Count,
                             .N = Unit,
                             .Dims = IsGiven ? getDimensions(B, {0})
                                             : getDimensions(B, {}),
                             .X = operand(Operand),
                             .Y = result(0),
                             .FromPlace = integer(B.From),
                             .ToPlace = integer(B.To),
                             .FromStride = ofOutermost(B.FromStride),
                             .ToStride = ofOutermost(B.ToStride)},
            {.Block = 256, .GridX = int64_t(llvm::divideCeil(Count, 256))},
            Out);
}

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
  int64_t SizeA = B.Shape[InnerTo], SizeB = B.Shape[InnerFrom];
  int64_t Blocks = llvm::divideCeil(SizeA, 32) * llvm::divideCeil(SizeB, 32);
  for (size_t Dim = 0; Dim < B.Shape.size(); ++Dim)
    if (Dim != InnerFrom && Dim != InnerTo)
      Blocks *= B.Shape[Dim];
  addLaunch("transpose",
            kernels::TransposeTiles{
                .T = getName(Op.getResult()),
                .A = SizeA,
                .B = SizeB,
                .StrideA = B.FromStride[InnerTo],
                .StrideB = B.ToStride[InnerFrom],
                .Pad = std::max<int64_t>(1, 4 / getBytes(Op.getResult())),
                .Dims = getDimensions(B, {InnerFrom, InnerTo}),
                .X = operand(0),
                .Y = result(0)},
            {.Block = 256, .GridX = Blocks}, Out);
}

static void addTranspose(TransposeOp Op, Launches &Out) {
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

static void addSlice(SliceOp Op, Launches &Out) {
  Box B;
  B.Shape.assign(Op.getSizes().begin(), Op.getSizes().end());
  B.FromStride = getStrides(getType(Op.getOperand()).getShape());
  B.ToStride = getStrides(B.Shape);
  for (auto [Offset, Stride] : llvm::zip_equal(Op.getOffsets(), B.FromStride))
    B.From += Offset * Stride;
  addCopy(Op, 0, "slice", B, Out);
}

static void addPad(PadOp Op, Launches &Out) {
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

static void addConcat(ConcatOp Op, Launches &Out) {
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

static void addBroadcast(BroadcastOp Op, Launches &Out) {
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

static void addReshape(ReshapeOp Op, Launches &Out) {
  Box B;
  B.Shape = {getCount(Op.getResult())};
  B.FromStride = B.ToStride = {1};
  addCopy(Op, 0, "copy", B, Out);
}

static KernelNeeds getConcatNeeds(ConcatOp Op) {
  return {0, Op->getNumOperands()};
}

llvm::ArrayRef<OwnKernels> remat::cuda::getShapeKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<TransposeOp, addTranspose>(),
      kernelsOf<SliceOp, addSlice>(),
      kernelsOf<PadOp, addPad>(),
      kernelsOf<ConcatOp, addConcat, getConcatNeeds>(),
      kernelsOf<BroadcastOp, addBroadcast>(),
      kernelsOf<ReshapeOp, addReshape>(),
  };
  return Table;
}
