//===- Scalar.cpp - the functions of elementwise ops ----------------------===//

#include "ops/Scalar.h"
#include "ops/Arithmetic.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

template <typename T, auto F>
static void unary(const void *const *In, void *Out, int64_t Count, float) {
  auto *A = static_cast<const T *>(In[0]);
  auto *R = static_cast<T *>(Out);
  for (int64_t I = 0; I < Count; ++I)
    R[I] = F(A[I]);
}

/// A function of one float and of a number that an attribute gives.
template <auto F>
static void unaryWith(const void *const *In, void *Out, int64_t Count,
                      float Number) {
  auto *A = static_cast<const float *>(In[0]);
  auto *R = static_cast<float *>(Out);
  for (int64_t I = 0; I < Count; ++I)
    R[I] = F(A[I], Number);
}

template <typename T, typename Result, auto F>
static void binary(const void *const *In, void *Out, int64_t Count, float) {
  auto *A = static_cast<const T *>(In[0]);
  auto *B = static_cast<const T *>(In[1]);
  auto *R = static_cast<Result *>(Out);
  for (int64_t I = 0; I < Count; ++I)
    R[I] = F(A[I], B[I]);
}

template <typename T>
static void select(const void *const *In, void *Out, int64_t Count, float) {
  auto *Condition = static_cast<const uint8_t *>(In[0]);
  auto *A = static_cast<const T *>(In[1]);
  auto *B = static_cast<const T *>(In[2]);
  auto *R = static_cast<T *>(Out);
  for (int64_t I = 0; I < Count; ++I)
    R[I] = Condition[I] ? A[I] : B[I];
}

/// (x - mean) * rstd * scale + bias.
static void normalize(const void *const *In, void *Out, int64_t Count, float) {
  auto At = [&](int Operand) {
    return static_cast<const float *>(In[Operand]);
  };
  const float *X = At(0), *Mean = At(1), *Rstd = At(2), *Scale = At(3),
              *Bias = At(4);
  auto *R = static_cast<float *>(Out);
  for (int64_t I = 0; I < Count; ++I)
    R[I] = (X[I] - Mean[I]) * Rstd[I] * Scale[I] + Bias[I];
}

namespace {
/// Element types of a call.
struct Types {
  std::span<const DType> Operands;
  DType Result;

  /// All operands are of one type, the result too unless it is compared.
  bool areEqual() const {
    for (DType Type : Operands)
      if (Type != Operands[0])
        return false;
    return true;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

/// Toward zero; what does not fit becomes the nearest number that does, a NaN
/// becomes 0 (as conversion instructions of GPUs do).
template <typename Integer> static Integer truncate(float X) {
  // 2^31 and 2^63 are exact in f32, the largest integers are not.
  constexpr float Limit =
      -static_cast<float>(std::numeric_limits<Integer>::min());
  if (X != X)
    return 0;
  if (X >= Limit)
    return std::numeric_limits<Integer>::max();
  if (X < -Limit)
    return std::numeric_limits<Integer>::min();
  return static_cast<Integer>(X);
}

/// To i1, which is computed with as uint8_t: whether it differs from zero.
template <typename To, typename From> static To convert(From X) {
  if constexpr (std::is_same_v<To, uint8_t>)
    return X != From(0);
  else if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, float>)
    return truncate<To>(X);
  else
    return static_cast<To>(X);
}

template <typename From, typename To>
static void cast(const void *const *In, void *Out, int64_t Count, float) {
  auto *A = static_cast<const From *>(In[0]);
  auto *R = static_cast<To *>(Out);
  for (int64_t I = 0; I < Count; ++I)
    R[I] = convert<To>(A[I]);
}

static ScalarFunction resolveCast(const Types &T, const AttributeList &) {
  return dispatchElement(T.Operands[0], [&](auto From) {
    return dispatchElement(T.Result, [&](auto To) {
      return ScalarFunction(cast<typename decltype(From)::Computed,
                                 typename decltype(To)::Computed>);
    });
  });
}

//===----------------------------------------------------------------------===//
// Functions of floats
//===----------------------------------------------------------------------===//

static constexpr float InvSqrt2 = 0.70710678118654752f;
static constexpr float InvSqrt2Pi = 0.39894228040143268f;
static constexpr float Sqrt2OverPi = 0.79788456080286536f;
static constexpr float GeluCubic = 0.044715f;

/// tanh in f64 by the exponential, rounded once: faster than the C library's,
/// and closer. Near zero, where the exponential cancels, the series.
static float hyperbolicTangent(float X) {
  double Wide = X;
  if (std::fabs(Wide) < 1e-4)
    return static_cast<float>(Wide - Wide * Wide * Wide / 3);
  // Beyond 20 it is 1 to more digits than there are.
  double E = std::exp(2 * (Wide > 20 ? 20 : Wide < -20 ? -20 : Wide));
  return static_cast<float>((E - 1) / (E + 1));
}

static float sign(float X) { return X > 0.0f ? 1.0f : X < 0.0f ? -1.0f : X; }

static float hardswish(float X) {
  float Clamped = X < -3.0f ? 0.0f : X > 3.0f ? 6.0f : X + 3.0f;
  return X * Clamped / 6.0f;
}

static float geluErf(float X) { return 0.5f * X * (1.0f + erff(X * InvSqrt2)); }

static float geluTanh(float X) {
  float Inner = Sqrt2OverPi * (X + GeluCubic * X * X * X);
  return 0.5f * X * (1.0f + hyperbolicTangent(Inner));
}

/// Phi(x) + x phi(x), with the normal distribution's Phi and phi.
static float geluErfBackward(float X, float Grad) {
  float Cumulative = 0.5f * (1.0f + erff(X * InvSqrt2));
  float Density = InvSqrt2Pi * expf(-0.5f * X * X);
  return Grad * (Cumulative + X * Density);
}

static float geluTanhBackward(float X, float Grad) {
  float T = hyperbolicTangent(Sqrt2OverPi * (X + GeluCubic * X * X * X));
  float Inner = Sqrt2OverPi * (1.0f + 3.0f * GeluCubic * X * X);
  return Grad * (0.5f * (1.0f + T) + 0.5f * X * (1.0f - T * T) * Inner);
}

/// One loop, for floats of any width.
template <ScalarFunction::Loop Loop>
static ScalarFunction floats(const Types &T, const AttributeList &) {
  return T.areEqual() && isFloat(T.Operands[0]) && T.Result == T.Operands[0]
             ? ScalarFunction(Loop)
             : ScalarFunction();
}

static ScalarFunction resolveNormalize(const Types &T, const AttributeList &) {
  for (DType Type : T.Operands.subspan(1))
    if (Type != DType::F32)
      return ScalarFunction();
  return isFloat(T.Operands[0]) && T.Result == T.Operands[0]
             ? ScalarFunction(normalize)
             : ScalarFunction();
}

static ScalarFunction leakyRelu(const Types &T,
                                const AttributeList &Attributes) {
  constexpr auto Loop =
      unaryWith<[](float A, float Slope) { return A > 0.0f ? A : A * Slope; }>;
  double Slope = Attributes.getFloat("negative_slope", 0.01);
  return floats<Loop>(T, Attributes)
             ? ScalarFunction(Loop, static_cast<float>(Slope))
             : ScalarFunction();
}

/// The loop of the attribute `kind`.
template <ScalarFunction::Loop Erf, ScalarFunction::Loop Tanh>
static ScalarFunction ofKind(const Types &T, const AttributeList &Attributes) {
  std::string_view Kind = Attributes.getText("kind");
  return Kind == "erf"    ? floats<Erf>(T, Attributes)
         : Kind == "tanh" ? floats<Tanh>(T, Attributes)
                          : ScalarFunction();
}

//===----------------------------------------------------------------------===//
// Arithmetic on floats and integers, which wrap around
//===----------------------------------------------------------------------===//

/// `Function::of` two elements of one type: integers, and floats unless it is
/// of `IntegersOnly`.
template <typename Function, bool IntegersOnly = false>
static ScalarFunction numbers(const Types &T, const AttributeList &) {
  if (!T.areEqual() || T.Result != T.Operands[0])
    return ScalarFunction();
  return dispatchElement(T.Result, [](auto Row) {
    using Number = typename decltype(Row)::Computed;
    if constexpr (Row.Kind == ElementKind::Integer ||
                  (Row.IsFloat && !IntegersOnly))
      return ScalarFunction(
          binary<Number, Number, Function::template of<Number>>);
    else
      return ScalarFunction();
  });
}

template <typename Function>
static constexpr auto Integers = numbers<Function, /*IntegersOnly=*/true>;

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static void copyWords(const void *const *In, void *Out, int64_t Count, float) {
  std::memcpy(Out, In[0], Count * 4);
}

static ScalarFunction resolveBitcast(const Types &T, const AttributeList &) {
  DType From = T.Operands[0], To = T.Result;
  bool IsWord = (From == DType::F32 && To == DType::I32) ||
                (From == DType::I32 && To == DType::F32);
  return IsWord ? ScalarFunction(copyWords) : ScalarFunction();
}

//===----------------------------------------------------------------------===//
// Compare, select
//===----------------------------------------------------------------------===//

template <typename T>
static ScalarFunction resolvePredicate(std::string_view Predicate) {
  if (Predicate == "eq")
    return binary<T, uint8_t, [](T A, T B) { return A == B; }>;
  if (Predicate == "ne")
    return binary<T, uint8_t, [](T A, T B) { return A != B; }>;
  if (Predicate == "lt")
    return binary<T, uint8_t, [](T A, T B) { return A < B; }>;
  if (Predicate == "le")
    return binary<T, uint8_t, [](T A, T B) { return A <= B; }>;
  if (Predicate == "gt")
    return binary<T, uint8_t, [](T A, T B) { return A > B; }>;
  if (Predicate == "ge")
    return binary<T, uint8_t, [](T A, T B) { return A >= B; }>;
  return ScalarFunction();
}

static ScalarFunction resolveCompare(const Types &T,
                                     const AttributeList &Attributes) {
  std::string_view Predicate = Attributes.getText("predicate");
  if (!T.areEqual() || T.Result != DType::I1)
    return ScalarFunction();
  return dispatchElement(T.Operands[0], [&](auto Row) {
    if constexpr (!Row.IsFloat && Row.Kind != ElementKind::Integer)
      return ScalarFunction();
    else
      return resolvePredicate<typename decltype(Row)::Computed>(Predicate);
  });
}

static ScalarFunction resolveSelect(const Types &T, const AttributeList &) {
  if (T.Operands[0] != DType::I1 || T.Operands[1] != T.Result ||
      T.Operands[2] != T.Result)
    return ScalarFunction();
  return dispatchElement(T.Result, [](auto Row) {
    return ScalarFunction(select<typename decltype(Row)::Computed>);
  });
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
struct Row {
  std::string_view Name;
  unsigned Arity;
  ScalarFunction (*Resolve)(const Types &, const AttributeList &);
};
} // namespace

static constexpr Row Table[] = {
    {"neg", 1, floats<unary<float, [](float A) { return -A; }>>},
    {"abs", 1, floats<unary<float, [](float A) { return fabsf(A); }>>},
    {"exp", 1, floats<unary<float, [](float A) { return expf(A); }>>},
    {"log", 1, floats<unary<float, [](float A) { return logf(A); }>>},
    {"log1p", 1, floats<unary<float, [](float A) { return log1pf(A); }>>},
    {"expm1", 1, floats<unary<float, [](float A) { return expm1f(A); }>>},
    {"sqrt", 1, floats<unary<float, [](float A) { return sqrtf(A); }>>},
    {"rsqrt", 1, floats<unary<float, [](float A) { return 1.0f / sqrtf(A); }>>},
    {"reciprocal", 1, floats<unary<float, [](float A) { return 1.0f / A; }>>},
    {"sin", 1, floats<unary<float, [](float A) { return sinf(A); }>>},
    {"cos", 1, floats<unary<float, [](float A) { return cosf(A); }>>},
    {"tan", 1, floats<unary<float, [](float A) { return tanf(A); }>>},
    {"atan", 1, floats<unary<float, [](float A) { return atanf(A); }>>},
    {"floor", 1, floats<unary<float, [](float A) { return floorf(A); }>>},
    {"ceil", 1, floats<unary<float, [](float A) { return ceilf(A); }>>},
    {"round", 1, floats<unary<float, [](float A) { return rintf(A); }>>},
    {"sign", 1, floats<unary<float, sign>>},
    {"tanh", 1, floats<unary<float, hyperbolicTangent>>},
    {"erf", 1, floats<unary<float, [](float A) { return erff(A); }>>},
    {"sigmoid", 1,
     floats<unary<float, [](float A) { return 1.0f / (1.0f + expf(-A)); }>>},
    {"silu", 1,
     floats<unary<float, [](float A) { return A / (1.0f + expf(-A)); }>>},
    {"hardswish", 1, floats<unary<float, hardswish>>},
    {"relu", 1,
     floats<unary<float, [](float A) { return A < 0.0f ? 0.0f : A; }>>},
    {"leaky_relu", 1, leakyRelu},
    {"relu_backward", 2,
     floats<binary<float, float,
                   [](float A, float B) { return A > 0.0f ? B : 0.0f; }>>},
    {"gelu", 1, ofKind<unary<float, geluErf>, unary<float, geluTanh>>},
    {"gelu_backward", 2,
     ofKind<binary<float, float, geluErfBackward>,
            binary<float, float, geluTanhBackward>>},
    {"pow", 2,
     floats<binary<float, float, [](float A, float B) { return powf(A, B); }>>},
    {"atan2", 2,
     floats<
         binary<float, float, [](float A, float B) { return atan2f(A, B); }>>},
    {"remainder", 2, numbers<Remainder>},
    {"add", 2, numbers<Add>},
    {"sub", 2, numbers<Sub>},
    {"mul", 2, numbers<Mul>},
    {"div", 2, numbers<Div>},
    {"max", 2, numbers<Max>},
    {"min", 2, numbers<Min>},
    {"bit_and", 2, Integers<BitAnd>},
    {"bit_or", 2, Integers<BitOr>},
    {"bit_xor", 2, Integers<BitXor>},
    {"shift_left", 2, Integers<ShiftLeft>},
    {"shift_right", 2, Integers<ShiftRight>},
    {"bitcast", 1, resolveBitcast},
    {"compare", 2, resolveCompare},
    {"select", 3, resolveSelect},
    {"normalize", 5, resolveNormalize},
    {"cast", 1, resolveCast},
    {"copy", 1, resolveCast},
    {"stop_gradient", 1, resolveCast},
};

static_assert(
    [] {
      for (const Row &R : Table)
        if (R.Arity > MaxScalarArity)
          return false;
      return true;
    }(),
    "kernels pass no more operands than MaxScalarArity");

static const Row *findRow(std::string_view Name) {
  for (const Row &R : Table)
    if (R.Name == Name)
      return &R;
  return nullptr;
}

std::vector<std::string_view> remat::runtime::getScalarNames() {
  std::vector<std::string_view> Names;
  for (const Row &R : Table)
    Names.push_back(R.Name);
  return Names;
}

std::optional<unsigned> remat::runtime::getScalarArity(std::string_view Name) {
  const Row *R = findRow(Name);
  return R ? std::optional(R->Arity) : std::nullopt;
}

ScalarFunction remat::runtime::resolveScalar(std::string_view Name,
                                             std::span<const DType> Operands,
                                             DType Result,
                                             const AttributeList &Attributes) {
  const Row *R = findRow(Name);
  return R && R->Arity == Operands.size()
             ? R->Resolve({Operands, Result}, Attributes)
             : ScalarFunction();
}
