//===- Walk.cpp - blocks of elements in and out of tensors ----------------===//

#include "ops/Numeric.h"
#include "ops/Scalar.h"

using namespace remat::runtime;

Walk Walk::strided(std::span<const int64_t> Space,
                   std::span<const int64_t> Strides, int64_t Base) {
  Walk W;
  W.Base = Base;
  for (size_t I = 0; I < Space.size(); ++I) {
    if (Space[I] == 1)
      continue;
    if (!W.Dims.empty() && W.Strides.back() == Strides[I] * Space[I]) {
      W.Dims.back() *= Space[I];
      W.Strides.back() = Strides[I];
      continue;
    }
    W.Dims.push_back(Space[I]);
    W.Strides.push_back(Strides[I]);
  }
  return W;
}

Walk Walk::broadcast(std::span<const int64_t> Shape,
                     std::span<const int64_t> Space) {
  std::vector<int64_t> Strides(Space.size(), 0);
  int64_t Stride = 1;
  for (size_t I = Shape.size(); I-- > 0;) {
    if (Shape[I] != 1)
      Strides[I + Space.size() - Shape.size()] = Stride;
    Stride *= Shape[I];
  }
  return strided(Space, Strides);
}

int64_t Walk::locate(int64_t Index) const {
  int64_t Element = Base;
  for (size_t I = Dims.size(); I-- > 0; Index /= Dims[I])
    Element += Index % Dims[I] * Strides[I];
  return Element;
}

/// Copies one run of elements of a C++ type, converting each by `Convert`.
template <typename From, typename To, typename Function>
static void copyRun(const From *In, int64_t Stride, To *Out, int64_t Count,
                    Function Convert) {
  if (Stride == 0)
    std::fill(Out, Out + Count, Convert(*In));
  else if (Stride == 1)
    for (int64_t I = 0; I < Count; ++I)
      Out[I] = Convert(In[I]);
  else
    for (int64_t I = 0; I < Count; ++I)
      Out[I] = Convert(In[I * Stride]);
}

template <typename From, typename To, typename Function>
static void loadAs(const char *Data, const Walk &W, int64_t First,
                   int64_t Count, void *Out, Function Convert) {
  auto *In = reinterpret_cast<const From *>(Data);
  W.forRuns(First, Count,
            [&](int64_t Element, int64_t Stride, int64_t Done, int64_t Run) {
              copyRun(In + Element, Stride, static_cast<To *>(Out) + Done, Run,
                      Convert);
            });
}

void remat::runtime::loadBlock(DType Type, const char *Data, const Walk &W,
                               int64_t First, int64_t Count, void *Out) {
  dispatchElement(Type, [&](auto Row) {
    using Element = decltype(Row);
    using Stored = typename Element::Stored;
    using Computed = typename Element::Computed;
    loadAs<Stored, Computed>(Data, W, First, Count, Out, [](Stored X) {
      if constexpr (Element::Kind == ElementKind::Bool)
        return Computed(X != 0);
      else if constexpr (std::is_same_v<Stored, Computed>)
        return X;
      else
        return widen(X);
    });
  });
}

void remat::runtime::storeBlock(DType Type, char *Data, int64_t First,
                                int64_t Count, const void *In) {
  if (holdsFloats(Type)) {
    storeFloats(Type, Data, First, Count, static_cast<const float *>(In));
    return;
  }
  int64_t Width = static_cast<int64_t>(getByteWidth(Type));
  std::memmove(Data + First * Width, In, Count * Width);
}

void remat::runtime::roundBlock(DType Type, void *Block, int64_t Count) {
  dispatchElement(Type, [&](auto Row) {
    using Stored = typename decltype(Row)::Stored;
    using Computed = typename decltype(Row)::Computed;
    if constexpr (Row.HoldsFloats && !std::is_same_v<Stored, Computed>) {
      auto *Floats = static_cast<Computed *>(Block);
      for (int64_t I = 0; I < Count; ++I)
        Floats[I] = widen(narrow<Stored>(Floats[I]));
    }
  });
}
