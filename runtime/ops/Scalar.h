//===- Scalar.h - elementwise ops over small blocks -------------*- C++ -*-===//
//
// Elementwise ops work on blocks of elements in their computing type: float for
// f32, bf16 and f16, int32_t, int64_t, and uint8_t (0 or 1) for i1. A single op
// and an op inside a kernel group run the same functions over the same types
// and round at the same places, so that fusion changes no bit.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_OPS_SCALAR_H
#define REMAT_RUNTIME_OPS_SCALAR_H

#include "remat/runtime/Program.h"
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace remat::runtime {

/// Elements of a block.
inline constexpr int64_t BlockSize = 1024;

/// Operands of the elementwise op that has most.
inline constexpr unsigned MaxScalarArity = 5;

/// Bytes of one element in its computing type.
inline int64_t getComputeWidth(DType Type) {
  return dispatchElement(Type, [](auto Row) -> int64_t {
    return sizeof(typename decltype(Row)::Computed);
  });
}

/// Whether a tensor's elements are stored as they are computed with. An i1 byte
/// may be anything but zero where it stands for true.
inline bool isStoredAsComputed(DType Type) {
  return dispatchElement(Type, [](auto Row) {
    using Element = decltype(Row);
    return Row.Kind != ElementKind::Bool &&
           std::is_same_v<typename Element::Stored, typename Element::Computed>;
  });
}

/// Out[i] = op(In[0][i], In[1][i], ...) for i < Count. Out may be one of In.
class ScalarFunction {
public:
  using Loop = void (*)(const void *const *In, void *Out, int64_t Count,
                        float Number);

  ScalarFunction() = default;
  /// `Number` is what an attribute of the op says, for those that have one.
  ScalarFunction(Loop Run, float Number = 0.0f) : Run(Run), Number(Number) {}

  explicit operator bool() const { return Run; }
  void operator()(const void *const *In, void *Out, int64_t Count) const {
    Run(In, Out, Count, Number);
  }

private:
  Loop Run = nullptr;
  float Number = 0.0f;
};

/// The names of all elementwise ops.
std::vector<std::string_view> getScalarNames();

/// Operands of the elementwise op of that name, or nothing.
std::optional<unsigned> getScalarArity(std::string_view Name);

/// The function of an elementwise op, or null when it does not exist for these
/// types and attributes.
ScalarFunction resolveScalar(std::string_view Name,
                             std::span<const DType> Operands, DType Result,
                             const AttributeList &Attributes);

struct OpCall;
/// The same for an op whose counts are known to be right.
ScalarFunction resolveScalar(const OpCall &Op);

/// Rounds elements in their computing type to what `Type` can hold.
void roundBlock(DType Type, void *Block, int64_t Count);

/// How elements of a row-major space are found in a tensor: by a stride for
/// each dimension of the space, in elements. Neighbouring dimensions that can
/// be walked as one are merged; the innermost one is the last.
struct Walk {
  std::vector<int64_t> Dims, Strides;
  int64_t Base = 0; ///< element of the tensor at the space's origin

  /// The walk over `Space` with one stride a dimension.
  static Walk strided(std::span<const int64_t> Space,
                      std::span<const int64_t> Strides, int64_t Base = 0);
  /// The walk that repeats `Shape` to `Space` by NumPy's rule.
  static Walk broadcast(std::span<const int64_t> Shape,
                        std::span<const int64_t> Space);

  bool isContiguous() const {
    return Dims.empty() || (Dims.size() == 1 && Strides[0] == 1);
  }
  /// The tensor's element at position `Index` of the space.
  int64_t locate(int64_t Index) const;
  /// Calls F(Element, Stride, Done, Run) for runs that cover positions [First,
  /// First + Count): the next `Run` positions, of which `Done` came before,
  /// are elements Element, Element + Stride, ...
  template <typename Function>
  void forRuns(int64_t First, int64_t Count, Function F) const;
};

/// Positions [First, First + Count) of the walk's space, in the computing type.
void loadBlock(DType Type, const char *Data, const Walk &W, int64_t First,
               int64_t Count, void *Out);
/// Elements [First, First + Count) of a tensor from their computing type.
void storeBlock(DType Type, char *Data, int64_t First, int64_t Count,
                const void *In);

template <typename Function>
void Walk::forRuns(int64_t First, int64_t Count, Function F) const {
  if (Dims.empty()) {
    F(Base, int64_t(0), int64_t(0), Count);
    return;
  }
  size_t Rank = Dims.size();
  int64_t Position[MaxRank];
  int64_t Rest = First, Element = Base;
  for (size_t I = Rank; I-- > 0; Rest /= Dims[I]) {
    Position[I] = Rest % Dims[I];
    Element += Position[I] * Strides[I];
  }
  for (int64_t Done = 0; Done < Count;) {
    int64_t Run = std::min(Count - Done, Dims.back() - Position[Rank - 1]);
    F(Element, Strides.back(), Done, Run);
    Done += Run;
    Position[Rank - 1] += Run;
    Element += Run * Strides.back();
    for (size_t I = Rank - 1; I > 0 && Position[I] == Dims[I]; --I) {
      Element += Strides[I - 1] - Dims[I] * Strides[I];
      Position[I] = 0;
      ++Position[I - 1];
    }
  }
}

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_SCALAR_H
