//===- Pooling.cpp - the largest element of windows -----------------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Numeric.h"
#include "ops/Window.h"
#include <limits>

using namespace remat::runtime;

/// Whether `X` is larger than `Best`, as NaN is than all others.
static bool exceeds(float X, float Best) {
  return X > Best || (std::isnan(X) && !std::isnan(Best));
}

/// Calls `F(Position, Element, Value)` for each position of the window over a
/// plane, whose elements are `Stride` apart: the number of the first largest
/// element, -1 where all is padding.
template <typename T, typename Function>
static void forLargest(const Window &W, const T *Plane, int64_t Stride,
                       Function F) {
  int64_t Position = 0;
  for (int64_t Z = 0; Z < W.Count[0]; ++Z)
    for (int64_t Y = 0; Y < W.Count[1]; ++Y)
      for (int64_t X = 0; X < W.Count[2]; ++X) {
        float Best = -std::numeric_limits<float>::infinity();
        int64_t At = -1;
        for (int64_t I = 0; I < W.getSize(); ++I) {
          int64_t InZ = W.locate(0, Z, I / W.Size[2] / W.Size[1]);
          int64_t InY = W.locate(1, Y, I / W.Size[2] % W.Size[1]);
          int64_t InX = W.locate(2, X, I % W.Size[2]);
          if (InZ < 0 || InZ >= W.Extent[0] || InY < 0 || InY >= W.Extent[1] ||
              InX < 0 || InX >= W.Extent[2])
            continue;
          int64_t Element = (InZ * W.Extent[1] + InY) * W.Extent[2] + InX;
          float Value = widen(Plane[Element * Stride]);
          if (At < 0 || exceeds(Value, Best)) {
            Best = Value;
            At = Element;
          }
        }
        F(Position++, At, Best);
      }
}

/// The first of `Size` elements of plane and channel number `Plane`.
static int64_t getFirst(const Pooling &P, int64_t Plane, int64_t Size) {
  return Plane / P.Channels * Size * P.Channels + Plane % P.Channels;
}

static Status runMaxPool(const OpCall &Op, Context &Ctx) {
  Pooling P = getPooling(Op);
  int64_t Extent = P.TheWindow.getExtent(), Count = P.TheWindow.getCount();
  dispatchFloat(P.X->Type, [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    Ctx.parallelFor(P.Batch * P.Channels, [&](int64_t Plane, unsigned) {
      T *Out = P.Y->as<T>() + getFirst(P, Plane, Count);
      forLargest(P.TheWindow, P.X->as<T>() + getFirst(P, Plane, Extent),
                 P.Channels, [&](int64_t Position, int64_t, float Best) {
                   Out[Position * P.Channels] = narrow<T>(Best);
                 });
    });
  });
  return {};
}

static Status runMaxPoolBackward(const OpCall &Op, Context &Ctx) {
  Pooling P = getPooling(Op);
  int64_t Extent = P.TheWindow.getExtent(), Count = P.TheWindow.getCount();
  REMAT_TRY(Ctx.reserveScratch(sizeof(float) * uint64_t(Extent)));
  dispatchFloat(P.X->Type, [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    Ctx.parallelFor(P.Batch * P.Channels, [&](int64_t Plane, unsigned Worker) {
      float *Sums = Ctx.getScratch<float>(Worker);
      std::fill_n(Sums, Extent, 0.0f);
      const T *Grad = P.Y->as<T>() + getFirst(P, Plane, Count);
      int64_t First = getFirst(P, Plane, Extent);
      forLargest(P.TheWindow, P.X->as<T>() + First, P.Channels,
                 [&](int64_t Position, int64_t At, float) {
                   if (At >= 0)
                     Sums[At] += widen(Grad[Position * P.Channels]);
                 });
      T *Out = Op.Results[0].as<T>() + First;
      for (int64_t I = 0; I < Extent; ++I)
        Out[I * P.Channels] = narrow<T>(Sums[I]);
    });
  });
  return {};
}

std::span<const HostKernel> remat::runtime::getPoolingKernels() {
  static const HostKernel Kernels[] = {
      {"max_pool", runMaxPool},
      {"max_pool_backward", runMaxPoolBackward},
  };
  return Kernels;
}
