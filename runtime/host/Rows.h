//===- Rows.h - sums and maxima over rows -----------------------*- C++ -*-===//
//
// Row operations that single ops and kernel groups share.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_HOST_ROWS_H
#define REMAT_RUNTIME_HOST_ROWS_H

#include "ops/Numeric.h"
#include "ops/Op.h"
#include "ops/Reduction.h"
#include <cstdint>

namespace remat::runtime {

/// The sum of `Count` floats, or their mean, rounded once to f32.
template <typename Function>
float sumFloats(Reduction Kind, int64_t Count, Function F) {
  double Total = sum(Count, F);
  return static_cast<float>(
      Kind == Reduction::Mean ? Total / static_cast<double>(Count) : Total);
}

/// The mean of integers is rounded toward zero.
inline int64_t finishInteger(Reduction Kind, uint64_t Total, int64_t Count) {
  auto Signed = static_cast<int64_t>(Total);
  return Kind == Reduction::Mean ? Signed / Count : Signed;
}

/// Reduces `Count` neighbours in their computing type.
inline float reduceRow(Reduction Kind, const float *Row, int64_t Count) {
  if (Kind != Reduction::Max)
    return sumFloats(Kind, Count, [&](int64_t I) { return double(Row[I]); });
  float Best = Row[0];
  for (int64_t I = 1; I < Count; ++I)
    Best = maximum(Best, Row[I]);
  return Best;
}
template <typename Int>
Int reduceRow(Reduction Kind, const Int *Row, int64_t Count) {
  if (Kind == Reduction::Max)
    return *std::max_element(Row, Row + Count);
  uint64_t Total = 0;
  for (int64_t I = 0; I < Count; ++I)
    Total += static_cast<uint64_t>(static_cast<int64_t>(Row[I]));
  return static_cast<Int>(finishInteger(Kind, Total, Count));
}

/// exp(x - max) / sum over a row. Out may be the row itself.
template <typename T> void softmaxRow(const T *In, T *Out, int64_t Count) {
  float Max = widen(In[0]);
  for (int64_t I = 1; I < Count; ++I)
    Max = maximum(Max, widen(In[I]));
  auto Total = static_cast<float>(
      sum(Count, [&](int64_t I) { return double(expf(widen(In[I]) - Max)); }));
  for (int64_t I = 0; I < Count; ++I)
    Out[I] = narrow<T>(expf(widen(In[I]) - Max) / Total);
}

/// y * (g - sum(y * g)) over a row. Out may be either of them.
template <typename T>
void softmaxBackwardRow(const T *Y, const T *G, T *Out, int64_t Count) {
  auto Dot = static_cast<float>(sum(Count, [&](int64_t I) {
    return double(widen(Y[I])) * double(widen(G[I]));
  }));
  for (int64_t I = 0; I < Count; ++I)
    Out[I] = narrow<T>(widen(Y[I]) * (widen(G[I]) - Dot));
}

/// Rounds `Count` floats to what elements of T are.
template <typename T> void roundElements(float *Row, int64_t Count) {
  for (int64_t I = 0; I < Count; ++I)
    Row[I] = widen(narrow<T>(Row[I]));
}

/// Rounds `Count` floats to what elements of `Type` are.
inline void roundFloats(DType Type, float *Row, int64_t Count) {
  dispatchFloat(Type, [&](auto *Null) {
    roundElements<std::remove_pointer_t<decltype(Null)>>(Row, Count);
  });
}

/// Adds `Count` elements to a row.
template <typename T>
void addElements(const T *From, int64_t Count, float *Row) {
  for (int64_t I = 0; I < Count; ++I)
    Row[I] += widen(From[I]);
}

/// Adds the `Count` elements of `V` from `First` on to a row.
inline void addRow(const Value &V, int64_t First, int64_t Count, float *Row) {
  dispatchFloat(V.Type, [&](auto *Null) {
    addElements(V.as<std::remove_pointer_t<decltype(Null)>>() + First, Count,
                Row);
  });
}

} // namespace remat::runtime

#endif // REMAT_RUNTIME_HOST_ROWS_H
