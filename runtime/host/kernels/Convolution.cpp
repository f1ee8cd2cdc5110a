//===- Convolution.cpp - convolutions as matrix products ------------------===//
//
// The elements that a window sees are laid out as columns, a matrix with a row
// for each channel and element of the window and a column for each position,
// and a BLAS does the rest (K. Chellapilla, S. Puri, P. Simard, "High
// Performance Convolutional Neural Networks for Document Processing", 2006).
// Tasks are cut by shapes alone, and each has its sums to itself: values do not
// depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "host/Blas.h"
#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Numeric.h"
#include "ops/Window.h"

using namespace remat::runtime;

/// Floats of columns that a task aims at.
static constexpr int64_t ColumnFloats = 1 << 18;

/// How many positions a task takes at a time where each has `Depth` rows.
static int64_t getPositions(int64_t Depth, int64_t Count) {
  return std::min(Count, std::clamp<int64_t>(ColumnFloats / Depth, 32, 2048));
}

namespace {
/// Channels [Channel, Channel + Channels) of an image of X and positions
/// [First, First + Count) of the window.
struct Part {
  int64_t Image, Channel, Channels, First, Count;
};
} // namespace

/// Calls `F(X, Column, Length, Stride)` for runs of columns of one row that
/// have an element each: element X of the image's channel, at distance Stride
/// from the next, in columns [Column, Column + Length).
template <typename Function>
static void forRuns(const Window &W, const Window::Sizes &Offset, const Part &P,
                    Function F) {
  int64_t Width = W.Count[2];
  for (int64_t Done = 0; Done < P.Count;) {
    int64_t Position = P.First + Done, Begin = Position % Width;
    int64_t Line = Position / Width;
    int64_t Run = std::min(Width - Begin, P.Count - Done);
    int64_t Z = W.locate(0, Line / W.Count[1], Offset[0]);
    int64_t Y = W.locate(1, Line % W.Count[1], Offset[1]);
    if (Z >= 0 && Z < W.Extent[0] && Y >= 0 && Y < W.Extent[1]) {
      // The first and the last column whose element is no padding.
      int64_t At = W.locate(2, 0, Offset[2]), Stride = W.Stride[2];
      int64_t Low = At < 0 ? (-At + Stride - 1) / Stride : 0;
      int64_t High =
          At < W.Extent[2] ? (W.Extent[2] - At + Stride - 1) / Stride : 0;
      Low = std::max(Low, Begin);
      High = std::min(High, Begin + Run);
      if (Low < High)
        F((Z * W.Extent[1] + Y) * W.Extent[2] + At + Low * Stride,
          Done + Low - Begin, High - Low, Stride);
    }
    Done += Run;
  }
}

/// Calls `F(Row, Channel, Offset)` for each row of the columns of `P`.
template <typename Function>
static void forRows(const Window &W, const Part &P, Function F) {
  int64_t Row = 0;
  for (int64_t C = 0; C < P.Channels; ++C)
    for (int64_t Z = 0; Z < W.Size[0]; ++Z)
      for (int64_t Y = 0; Y < W.Size[1]; ++Y)
        for (int64_t X = 0; X < W.Size[2]; ++X)
          F(Row++, C, Window::Sizes{Z, Y, X});
}

/// Lays out the columns of `P`, with `P.Count` floats a row.
static void layOut(const Convolution &C, const Part &P, float *Columns) {
  const Window &W = C.TheWindow;
  int64_t Plane = W.getExtent(), AllChannels = C.Channels * C.Groups;
  dispatchFloat(C.X->Type, [&](auto *Null) {
    ImageLayout At = C.getImage(AllChannels, Plane);
    auto *Image = C.X->as<std::remove_pointer_t<decltype(Null)>>() +
                  P.Image * AllChannels * Plane + P.Channel * At.Channel;
    forRows(W, P, [&](int64_t Row, int64_t Channel, Window::Sizes Offset) {
      float *Out = Columns + Row * P.Count;
      std::fill_n(Out, P.Count, 0.0f);
      forRuns(W, Offset, P,
              [&](int64_t X, int64_t Column, int64_t Length, int64_t Stride) {
                auto *From = Image + Channel * At.Channel + X * At.Element;
                for (int64_t I = 0; I < Length; ++I)
                  Out[Column + I] = widen(From[I * Stride * At.Element]);
              });
    });
  });
}

/// Adds columns to the planes of their channels.
static void addColumns(const Window &W, const Part &P, const float *Columns,
                       float *Planes) {
  int64_t Plane = W.getExtent();
  forRows(W, P, [&](int64_t Row, int64_t Channel, Window::Sizes Offset) {
    const float *In = Columns + Row * P.Count;
    forRuns(W, Offset, P,
            [&](int64_t X, int64_t Column, int64_t Length, int64_t Stride) {
              float *To = Planes + Channel * Plane + X;
              for (int64_t I = 0; I < Length; ++I)
                To[I * Stride] += In[Column + I];
            });
  });
}

/// Calls `F(Number, Element)` for each of `Rows` rows of a weight, which has
/// `C.getDepth()` elements a row: the number of the element where channels come
/// before the window's dimensions, and its place.
template <typename Function>
static void forWeights(const Convolution &C, int64_t Rows, Function F) {
  int64_t Size = C.TheWindow.getSize(), Number = 0;
  for (int64_t Row = 0; Row < Rows; ++Row)
    for (int64_t Channel = 0; Channel < C.Channels; ++Channel)
      for (int64_t I = 0; I < Size; ++I, ++Number)
        F(Number,
          Row * C.getDepth() +
              (C.ChannelsLast ? I * C.Channels + Channel : Channel * Size + I));
}

namespace {
/// The weight as floats, channels before the window's dimensions: its own
/// memory if it is such, a copy else.
class Floats {
public:
  Floats(Context &Ctx, const Convolution &C)
      : IsOwn(C.Weight->Type == DType::F32 && !C.ChannelsLast),
        Copy(Ctx, IsOwn ? 0 : C.Weight->NumElements),
        Data(IsOwn ? C.Weight->as<float>() : Copy.data()) {
    const Value &V = *C.Weight;
    if (!IsOwn)
      dispatchFloat(V.Type, [&](auto *Null) {
        auto *From = V.as<std::remove_pointer_t<decltype(Null)>>();
        forWeights(C, C.Groups * C.Outputs, [&](int64_t Number, int64_t At) {
          Copy[Number] = widen(From[At]);
        });
      });
  }
  const float *at(int64_t Element) const { return Data + Element; }

private:
  bool IsOwn;
  ScratchArray<float> Copy;
  const float *Data;
};
} // namespace

/// Writes `Count` elements of a channel of an image of `V`, from element
/// `First` of the channel on.
static void storeChannel(const Convolution &C, const Value &V, int64_t Image,
                         int64_t Channel, int64_t First, int64_t Count,
                         const float *From) {
  int64_t Size = V.NumElements / C.Batch;
  bool IsX = &V == C.X;
  int64_t Plane = IsX ? C.TheWindow.getExtent() : C.TheWindow.getCount();
  ImageLayout At = C.getImage(Size / Plane, Plane);
  dispatchFloat(V.Type, [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    T *To = V.as<T>() + Image * Size + Channel * At.Channel;
    for (int64_t I = 0; I < Count; ++I)
      To[(First + I) * At.Element] = narrow<T>(From[I]);
  });
}

static Status runConvolution(const OpCall &Op, Context &Ctx) {
  Convolution C = getConvolution(Op);
  Floats Weight(Ctx, C);
  int64_t Depth = C.getDepth(), Count = C.TheWindow.getCount();
  int64_t Width = getPositions(Depth, Count);
  REMAT_TRY(Ctx.reserveScratch(sizeof(float) *
                               uint64_t((Depth + C.Outputs) * Width)));
  int64_t Tiles = (Count + Width - 1) / Width;
  Ctx.parallelFor(
      C.Batch * C.Groups * Tiles, [&](int64_t Task, unsigned Worker) {
        int64_t Group = Task / Tiles % C.Groups;
        Part P = {.Image = Task / Tiles / C.Groups,
                  .Channel = Group * C.Channels,
                  .Channels = C.Channels,
                  .First = Task % Tiles * Width,
                  .Count = std::min(Width, Count - Task % Tiles * Width)};
        float *Columns = Ctx.getScratch<float>(Worker);
        float *Out = Columns + Depth * Width;
        layOut(C, P, Columns);
        multiply(false, false, C.Outputs, P.Count, Depth, 1.0f,
                 Weight.at(Group * C.Outputs * Depth), Depth, Columns, P.Count,
                 0.0f, Out, P.Count);
        for (int64_t I = 0; I < C.Outputs; ++I)
          storeChannel(C, *C.Y, P.Image, Group * C.Outputs + I, P.First,
                       P.Count, Out + I * P.Count);
      });
  return {};
}

/// Channels of a group that a task takes at a time where each has `Floats`
/// floats: tasks of a group have none in common.
static int64_t getChannels(const Convolution &C, int64_t Floats) {
  return std::min(C.Channels,
                  std::clamp<int64_t>(ColumnFloats / Floats, 1, 64));
}

/// Positions [First, First + Count) of the gradient of a group's outputs, as
/// floats: rows with `Stride` floats from one to the next. `Scratch` has room
/// for them.
static const float *loadGrad(const Convolution &C, int64_t Image, int64_t Group,
                             const Part &P, float *Scratch, int64_t &Stride) {
  int64_t Count = C.TheWindow.getCount(), AllOutputs = C.Groups * C.Outputs;
  ImageLayout At = C.getImage(AllOutputs, Count);
  int64_t First = Image * AllOutputs * Count + Group * C.Outputs * At.Channel +
                  P.First * At.Element;
  bool IsOwn = C.Y->Type == DType::F32 && !C.ChannelsLast;
  Stride = IsOwn ? Count : P.Count;
  if (IsOwn)
    return C.Y->as<float>() + First;
  dispatchFloat(C.Y->Type, [&](auto *Null) {
    auto *From = C.Y->as<std::remove_pointer_t<decltype(Null)>>() + First;
    for (int64_t I = 0; I < C.Outputs; ++I)
      for (int64_t J = 0; J < P.Count; ++J)
        Scratch[I * P.Count + J] = widen(From[I * At.Channel + J * At.Element]);
  });
  return Scratch;
}

static Status runInputGrad(const OpCall &Op, Context &Ctx) {
  Convolution C = getConvolution(Op);
  const Window &W = C.TheWindow;
  Floats Weight(Ctx, C);
  int64_t Depth = C.getDepth(), Count = W.getCount(), Plane = W.getExtent();
  int64_t Channels = getChannels(C, std::max(Plane, W.getSize()));
  int64_t Width = getPositions(Channels * W.getSize(), Count);
  int64_t ColumnsSize = Channels * W.getSize() * Width;
  REMAT_TRY(Ctx.reserveScratch(
      sizeof(float) *
      uint64_t(ColumnsSize + C.Outputs * Width + Channels * Plane)));
  int64_t Blocks = (C.Channels + Channels - 1) / Channels;
  Ctx.parallelFor(C.Batch * C.Groups * Blocks, [&](int64_t Task,
                                                   unsigned Worker) {
    int64_t Group = Task / Blocks % C.Groups;
    int64_t Own = Task % Blocks * Channels; // first channel in the group
    Part P = {.Image = Task / Blocks / C.Groups,
              .Channel = Group * C.Channels + Own,
              .Channels = std::min(Channels, C.Channels - Own),
              .First = 0,
              .Count = 0};
    float *Columns = Ctx.getScratch<float>(Worker);
    float *Grad = Columns + ColumnsSize;
    float *Planes = Grad + C.Outputs * Width;
    std::fill_n(Planes, P.Channels * Plane, 0.0f);
    for (P.First = 0; P.First < Count; P.First += Width) {
      P.Count = std::min(Width, Count - P.First);
      int64_t Stride;
      const float *G = loadGrad(C, P.Image, Group, P, Grad, Stride);
      multiply(true, false, P.Channels * W.getSize(), P.Count, C.Outputs, 1.0f,
               Weight.at(Group * C.Outputs * Depth + Own * W.getSize()), Depth,
               G, Stride, 0.0f, Columns, P.Count);
      addColumns(W, P, Columns, Planes);
    }
    for (int64_t I = 0; I < P.Channels; ++I)
      storeChannel(C, *C.X, P.Image, P.Channel + I, 0, Plane,
                   Planes + I * Plane);
  });
  return {};
}

/// Writes `Channels` channels, from `First` on, of a group's weights, which
/// begin with row `Row`.
static void storeWeights(const Convolution &C, int64_t Row, int64_t First,
                         int64_t Channels, const float *From) {
  int64_t Size = C.TheWindow.getSize();
  dispatchFloat(C.Weight->Type, [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    for (int64_t O = 0; O < C.Outputs; ++O) {
      T *To = C.Weight->as<T>() + (Row + O) * C.getDepth();
      for (int64_t I = 0; I < Channels * Size; ++I) {
        int64_t Channel = First + I / Size;
        To[C.ChannelsLast ? I % Size * C.Channels + Channel
                          : First * Size + I] =
            narrow<T>(From[O * Channels * Size + I]);
      }
    }
  });
}

static Status runWeightGrad(const OpCall &Op, Context &Ctx) {
  Convolution C = getConvolution(Op);
  const Window &W = C.TheWindow;
  int64_t Count = W.getCount();
  int64_t Channels = getChannels(C, 32 * W.getSize());
  int64_t Width = getPositions(Channels * W.getSize(), Count);
  int64_t ColumnsSize = Channels * W.getSize() * Width;
  int64_t SumsSize = C.Outputs * Channels * W.getSize();
  REMAT_TRY(Ctx.reserveScratch(
      sizeof(float) * uint64_t(ColumnsSize + C.Outputs * Width + SumsSize)));
  int64_t Blocks = (C.Channels + Channels - 1) / Channels;
  Ctx.parallelFor(C.Groups * Blocks, [&](int64_t Task, unsigned Worker) {
    int64_t Group = Task / Blocks, Own = Task % Blocks * Channels;
    Part P = {.Image = 0,
              .Channel = Group * C.Channels + Own,
              .Channels = std::min(Channels, C.Channels - Own),
              .First = 0,
              .Count = 0};
    int64_t Rows = P.Channels * W.getSize();
    float *Columns = Ctx.getScratch<float>(Worker);
    float *Grad = Columns + ColumnsSize, *Sums = Grad + C.Outputs * Width;
    std::fill_n(Sums, C.Outputs * Rows, 0.0f);
    for (P.Image = 0; P.Image < C.Batch; ++P.Image)
      for (P.First = 0; P.First < Count; P.First += Width) {
        P.Count = std::min(Width, Count - P.First);
        int64_t Stride;
        const float *G = loadGrad(C, P.Image, Group, P, Grad, Stride);
        layOut(C, P, Columns);
        multiply(false, true, C.Outputs, Rows, P.Count, 1.0f, G, Stride,
                 Columns, P.Count, 1.0f, Sums, Rows);
      }
    storeWeights(C, Group * C.Outputs, Own, P.Channels, Sums);
  });
  return {};
}

std::span<const HostKernel> remat::runtime::getConvolutionKernels() {
  static const HostKernel Kernels[] = {
      {"convolution", runConvolution},
      {"convolution_input_grad", runInputGrad},
      {"convolution_weight_grad", runWeightGrad},
  };
  return Kernels;
}
