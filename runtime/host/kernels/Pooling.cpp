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
/// plane: the place of the first largest element, -1 where all is padding.
template <typename T, typename Function>
static void forLargest(const Window &W, const T *Plane, Function F) {
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
          float Value = widen(Plane[Element]);
          if (At < 0 || exceeds(Value, Best)) {
            Best = Value;
            At = Element;
          }
        }
        F(Position++, At, Best);
      }
}

static Status runMaxPool(const OpCall &Op, Context &Ctx) {
  Pooling P = getPooling(Op);
  int64_t Extent = P.TheWindow.getExtent(), Count = P.TheWindow.getCount();
  dispatchFloat(P.X->Type, [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    Ctx.parallelFor(P.Batch, [&](int64_t Plane, unsigned) {
      T *Out = P.Y->as<T>() + Plane * Count;
      forLargest(P.TheWindow, P.X->as<T>() + Plane * Extent,
                 [&](int64_t Position, int64_t, float Best) {
                   Out[Position] = narrow<T>(Best);
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
    Ctx.parallelFor(P.Batch, [&](int64_t Plane, unsigned Worker) {
      float *Sums = Ctx.getScratch<float>(Worker);
      std::fill_n(Sums, Extent, 0.0f);
      const T *Grad = P.Y->as<T>() + Plane * Count;
      forLargest(P.TheWindow, P.X->as<T>() + Plane * Extent,
                 [&](int64_t Position, int64_t At, float) {
                   if (At >= 0)
                     Sums[At] += widen(Grad[Position]);
                 });
      storeFloats(P.X->Type, Op.Results[0].Data, Plane * Extent, Extent, Sums);
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
