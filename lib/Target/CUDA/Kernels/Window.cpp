//===- Window.cpp - convolution and pooling -------------------------------===//
//
// The kernels are in Window.cuh.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

/// The sizes of `V` but for channels behind the window's dimensions.
static llvm::ArrayRef<int64_t> getPlanes(Value V, bool ChannelsLast) {
  return getType(V).getShape().drop_back(ChannelsLast ? 1 : 0);
}

/// The window over the last dimensions of `From`, or those before the channels,
/// whose positions are those of `To`; dimensions that are not there have one
/// element.
template <typename OpT>
static kernels::Window getWindow(OpT Op, Value From, Value To,
                                 llvm::ArrayRef<int64_t> Size) {
  llvm::ArrayRef<int64_t> Extent =
      getPlanes(From, Op.getChannelsLast()).take_back(Size.size());
  llvm::ArrayRef<int64_t> Count =
      getPlanes(To, Op.getChannelsLast()).take_back(Size.size());
  // Numbers of 32 bits where a block's last thread cannot leave them.
  constexpr int64_t Most = std::numeric_limits<int32_t>::max() / 2;
  bool IsSmall = getCount(From) < Most && getCount(To) < Most;
  for (size_t Dim = 0; Dim < Size.size(); ++Dim)
    IsSmall &= Op.getLow()[Dim] + Extent[Dim] < Most / 2 &&
               Op.getStrides()[Dim] < Most / 2 / Count[Dim] &&
               Op.getDilation()[Dim] < Most / 2 / Size[Dim];
  std::string Index = IsSmall ? "int" : "int64";
  auto Axis = [&](size_t FromEnd) -> TypeName {
    if (FromEnd > Size.size())
      return kernels::Axis{.I = Index,
                           .Extent = 1,
                           .Count = 1,
                           .Size = 1,
                           .Stride = 1,
                           .Low = 0,
                           .Dilation = 1};
    size_t Dim = Size.size() - FromEnd;
    return kernels::Axis{.I = Index,
                         .Extent = Extent[Dim],
                         .Count = Count[Dim],
                         .Size = Size[Dim],
                         .Stride = Op.getStrides()[Dim],
                         .Low = Op.getLow()[Dim],
                         .Dilation = Op.getDilation()[Dim]};
  };
  return {.AxisZ = Axis(3), .AxisY = Axis(2), .AxisX = Axis(1)};
}

static int64_t getBlocks(int64_t Count) {
  return static_cast<int64_t>(llvm::divideCeil(Count, 256));
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {
/// The product of matrices that an operation is: M x N results a group, each of
/// K terms.
struct Product {
  TypeName Text;
  int64_t Groups, M, N, K;

  int64_t getCount() const { return Groups * M * N; }
};

/// A convolution of X by a weight to Y. Channels, outputs and the elements of a
/// channel of X (inputs) and of Y (positions) are those of one group.
struct Sizes {
  TypeName W;
  int64_t Batch, Groups, Channels, Outputs, Window, Inputs, Positions;

  bool ChannelsLast;

  template <typename OpT>
  Sizes(OpT Op, Value X, Value Weight, Value Y)
      : W(getWindow(Op, X, Y, getSize(Op, Weight))),
        ChannelsLast(Op.getChannelsLast()) {
    llvm::ArrayRef<int64_t> Shape = getType(Weight).getShape();
    Batch = getType(X).getDimSize(0);
    Groups = Op.getGroups();
    Channels = ChannelsLast ? Shape.back() : Shape[1];
    Outputs = Shape[0] / Groups;
    Window = ShapedType::getNumElements(getSize(Op, Weight));
    Inputs = getCount(X) / (Groups * Channels);
    Positions = getCount(Y) / (Groups * Outputs);
  }

  /// The window's sizes.
  template <typename OpT>
  static llvm::ArrayRef<int64_t> getSize(OpT Op, Value Weight) {
    llvm::ArrayRef<int64_t> Shape = getType(Weight).getShape();
    return Op.getChannelsLast() ? Shape.drop_front().drop_back()
                                : Shape.drop_front(2);
  }

  template <typename Kernel> TypeName getText() const {
    return Kernel{.W = W,
                  .Batch = Batch,
                  .Groups = Groups,
                  .Channels = Channels,
                  .Outputs = Outputs,
                  .ChannelsLast = ChannelsLast};
  }
};

/// How the tiles of a product are cut.
struct Split {
  int64_t Blocks, Part, Chunks;
};
} // namespace

static Product getProduct(ConvolutionOp Op) {
  Sizes S(Op, Op.getOperand(), Op.getWeight(), Op.getResult());
  return {S.getText<kernels::ConvolutionProduct>(), S.Groups, S.Outputs,
          S.Positions, S.Channels * S.Window};
}
static Product getProduct(ConvolutionInputGradOp Op) {
  Sizes S(Op, Op.getResult(), Op.getWeight(), Op.getGrad());
  return {S.getText<kernels::InputGradProduct>(), S.Groups, S.Channels,
          S.Inputs, S.Outputs * S.Window};
}
static Product getProduct(ConvolutionWeightGradOp Op) {
  Sizes S(Op, Op.getOperand(), Op.getResult(), Op.getGrad());
  return {S.getText<kernels::WeightGradProduct>(), S.Groups, S.Outputs,
          S.Channels * S.Window, S.Positions};
}

/// Groups of fewer rows leave most of a tile empty.
static constexpr int64_t LeastRows = 16;

static Split splitProduct(const Product &P) {
  // Enough blocks for two on each multiprocessor, each with enough terms to be
  // worth its results' way through memory.
  constexpr int64_t Tile = 64, Wanted = 2 * Multiprocessors, LeastTerms = 512;
  int64_t Tiles = static_cast<int64_t>(llvm::divideCeil(P.M, Tile) *
                                       llvm::divideCeil(P.N, Tile)) *
                  P.Groups;
  int64_t Chunks = std::clamp<int64_t>(Wanted / Tiles, 1,
                                       std::max<int64_t>(1, P.K / LeastTerms));
  int64_t Part = llvm::divideCeil(P.K, Chunks);
  Chunks = llvm::divideCeil(P.K, Part);
  return {Tiles * Chunks, Part, Chunks};
}

template <typename OpT> static void addConvolution(OpT Op, Launches &Out) {
  Product P = getProduct(Op);
  // The left factor is the weight, or the result's gradient.
  bool IsWeightFirst = !std::is_same_v<OpT, ConvolutionWeightGradOp>;
  Passed A = operand(IsWeightFirst ? 1 : 0);
  Passed B = operand(IsWeightFirst ? 0 : 1);
  std::string Type = getName(Op.getResult());
  if (P.M < LeastRows) {
    int64_t Threads = P.K >= 4096 ? 256 : P.K >= 256 ? 32 : 1;
    addLaunch("convolution_elements",
              kernels::ConvolutionElements{.T = Type,
                                           .Product = P.Text,
                                           .Threads = Threads,
                                           .A = A,
                                           .B = B,
                                           .Y = result(0)},
              {.Block = 256, .GridX = getBlocks(P.getCount() * Threads)}, Out);
    return;
  }
  Split S = splitProduct(P);
  bool IsWhole = S.Chunks == 1;
  addLaunch("convolution_tiles",
            kernels::ConvolutionTiles{.T = Type,
                                      .Out = IsWhole ? Type : "float",
                                      .Product = P.Text,
                                      .Part = S.Part,
                                      .Chunks = S.Chunks,
                                      .A = A,
                                      .B = B,
                                      .Y = IsWhole ? result(0) : workspace()},
            {.Block = 256, .GridX = S.Blocks}, Out);
  if (!IsWhole)
    addLaunch("convolution_join",
              kernels::ConvolutionJoin{.T = Type,
                                       .Count = P.getCount(),
                                       .Chunks = S.Chunks,
                                       .Partial = workspace(),
                                       .Y = result(0)},
              {.Block = 256, .GridX = getBlocks(P.getCount())}, Out);
}

template <typename OpT> static KernelNeeds getConvolutionNeeds(OpT Op) {
  Product P = getProduct(Op);
  if (P.M < LeastRows)
    return {};
  int64_t Chunks = splitProduct(P).Chunks;
  if (Chunks == 1)
    return {};
  return {Chunks * P.getCount() * static_cast<int64_t>(sizeof(float)), 2};
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

namespace {
/// How a pooling's channels are shared out.
struct PoolChannels {
  int64_t C, N; ///< all that follow each other, and those of a thread
};
} // namespace

template <typename OpT>
static PoolChannels getChannels(OpT Op, llvm::ArrayRef<Value> Values) {
  int64_t C = Op.getChannelsLast() ? getColumns(Op.getOperand()) : 1;
  return {C, getAccessWidth(Values, C)};
}

static void addMaxPool(MaxPoolOp Op, Launches &Out) {
  PoolChannels Channels = getChannels(Op, {Op.getOperand(), Op.getResult()});
  int64_t Count = getCount(Op.getResult());
  addLaunch("max_pool",
            kernels::MaxPool{.T = getName(Op.getOperand()),
                             .W = getWindow(Op, Op.getOperand(), Op.getResult(),
                                            Op.getWindow()),
                             .Count = Count / Channels.C,
                             .C = Channels.C,
                             .N = Channels.N,
                             .X = operand(0),
                             .Y = result(0)},
            {.Block = 256, .GridX = getBlocks(Count / Channels.N)}, Out);
}

namespace {
/// Tiles as long as the strides, of which windows see several elements each.
struct PoolTiles {
  int64_t Count = 1;    ///< of a plane
  int64_t Elements = 1; ///< of a tile
  int64_t Windows = 1;  ///< that see a tile, at most
};
} // namespace

static PoolTiles getTiles(MaxPoolBackwardOp Op) {
  llvm::ArrayRef<int64_t> Window = Op.getWindow();
  llvm::ArrayRef<int64_t> Extent =
      getPlanes(Op.getOperand(), Op.getChannelsLast()).take_back(Window.size());
  PoolTiles Tiles;
  for (size_t Dim = 0; Dim < Window.size(); ++Dim) {
    int64_t Stride = Op.getStrides()[Dim], Low = Op.getLow()[Dim];
    Tiles.Count *= (Extent[Dim] - 1 + Low) / Stride - Low / Stride + 1;
    Tiles.Elements *= Stride;
    Tiles.Windows *= Op.getDilation()[Dim] * (Window[Dim] - 1) / Stride + 1;
    // What a thread keeps in registers; products stay small.
    constexpr int64_t MostElements = 4, MostWindows = 9;
    if (Tiles.Elements > MostElements || Tiles.Windows > MostWindows)
      return {.Count = 0};
  }
  return Tiles;
}

/// `Kernel` for `Count` parts of the result, elements or tiles, of each
/// channel.
template <typename Kernel>
static void addPoolGradient(llvm::StringRef Name, MaxPoolBackwardOp Op,
                            const PoolChannels &Channels, int64_t Count,
                            Launches &Out) {
  addLaunch(
      Name,
      Kernel{.T = getName(Op.getOperand()),
             .W = getWindow(Op, Op.getOperand(), Op.getGrad(), Op.getWindow()),
             .Count = Count,
             .C = Channels.C,
             .N = Channels.N,
             .Grad = operand(0),
             .X = operand(1),
             .Y = result(0)},
      {.Block = 256, .GridX = getBlocks(Count * (Channels.C / Channels.N))},
      Out);
}

static void addMaxPoolBackward(MaxPoolBackwardOp Op, Launches &Out) {
  PoolChannels Channels =
      getChannels(Op, {Op.getGrad(), Op.getOperand(), Op.getResult()});
  int64_t Count = getCount(Op.getResult()) / Channels.C;
  PoolTiles Tiles = getTiles(Op);
  if (Tiles.Elements <= 1 || Tiles.Count <= 0)
    return addPoolGradient<kernels::MaxPoolBackward>("max_pool_backward", Op,
                                                     Channels, Count, Out);
  int64_t Extent = 1;
  for (int64_t Size : getPlanes(Op.getOperand(), Op.getChannelsLast())
                          .take_back(Op.getWindow().size()))
    Extent *= Size;
  addPoolGradient<kernels::MaxPoolBackwardTiles>(
      "max_pool_backward_tiles", Op, Channels, Count / Extent * Tiles.Count,
      Out);
}

llvm::ArrayRef<OwnKernels> remat::cuda::getWindowKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<ConvolutionOp, addConvolution<ConvolutionOp>,
                getConvolutionNeeds<ConvolutionOp>>(),
      kernelsOf<ConvolutionInputGradOp, addConvolution<ConvolutionInputGradOp>,
                getConvolutionNeeds<ConvolutionInputGradOp>>(),
      kernelsOf<ConvolutionWeightGradOp,
                addConvolution<ConvolutionWeightGradOp>,
                getConvolutionNeeds<ConvolutionWeightGradOp>>(),
      kernelsOf<MaxPoolOp, addMaxPool>(),
      kernelsOf<MaxPoolBackwardOp, addMaxPoolBackward>(),
  };
  return Table;
}
