//===- Scalar.cpp - the functions of elementwise ops ----------------------===//

#include "host/Scalar.h"
#include <cmath>
#include <limits>
#include <type_traits>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

template <typename T, auto F>
static void unary(const void *const *In, void *Out, int64_t Count) {
  auto *A = static_cast<const T *>(In[0]);
  auto *R = static_cast<T *>(Out);
  for (int64_t I = 0; I < Count; ++I)
    R[I] = F(A[I]);
}

template <typename T, typename Result, auto F>
static void binary(const void *const *In, void *Out, int64_t Count) {
  auto *A = static_cast<const T *>(In[0]);
  auto *B = static_cast<const T *>(In[1]);
  auto *R = static_cast<Result *>(Out);
  for (int64_t I = 0; I < Count; ++I)
    R[I] = F(A[I], B[I]);
}

template <typename T>
static void select(const void *const *In, void *Out, int64_t Count) {
  auto *Condition = static_cast<const uint8_t *>(In[0]);
  auto *A = static_cast<const T *>(In[1]);
  auto *B = static_cast<const T *>(In[2]);
  auto *R = static_cast<T *>(Out);
  for (int64_t I = 0; I < Count; ++I)
    R[I] = Condition[I] ? A[I] : B[I];
}

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
static void cast(const void *const *In, void *Out, int64_t Count) {
  auto *A = static_cast<const From *>(In[0]);
  auto *R = static_cast<To *>(Out);
  for (int64_t I = 0; I < Count; ++I)
    R[I] = convert<To>(A[I]);
}

template <typename From> static ScalarFunction resolveCastTo(DType To) {
  switch (To) {
  case DType::I32:
    return cast<From, int32_t>;
  case DType::I64:
    return cast<From, int64_t>;
  case DType::I1:
    return cast<From, uint8_t>;
  default:
    return cast<From, float>;
  }
}

static ScalarFunction resolveCast(DType From, DType To) {
  switch (From) {
  case DType::I32:
    return resolveCastTo<int32_t>(To);
  case DType::I64:
    return resolveCastTo<int64_t>(To);
  case DType::I1:
    return resolveCastTo<uint8_t>(To);
  default:
    return resolveCastTo<float>(To);
  }
}

//===----------------------------------------------------------------------===//
// Unary
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

namespace {
struct FloatEntry {
  std::string_view Name;
  ScalarFunction Function;
};
} // namespace

static constexpr FloatEntry UnaryTable[] = {
    {"neg", unary<float, [](float A) { return -A; }>},
    {"abs", unary<float, [](float A) { return fabsf(A); }>},
    {"exp", unary<float, [](float A) { return expf(A); }>},
    {"log", unary<float, [](float A) { return logf(A); }>},
    {"sqrt", unary<float, [](float A) { return sqrtf(A); }>},
    {"rsqrt", unary<float, [](float A) { return 1.0f / sqrtf(A); }>},
    {"reciprocal", unary<float, [](float A) { return 1.0f / A; }>},
    {"sin", unary<float, [](float A) { return sinf(A); }>},
    {"cos", unary<float, [](float A) { return cosf(A); }>},
    {"tanh", unary<float, [](float A) { return hyperbolicTangent(A); }>},
    {"erf", unary<float, [](float A) { return erff(A); }>},
    {"sigmoid", unary<float, [](float A) { return 1.0f / (1.0f + expf(-A)); }>},
    {"silu", unary<float, [](float A) { return A / (1.0f + expf(-A)); }>},
    {"relu", unary<float, [](float A) { return A < 0.0f ? 0.0f : A; }>},
};

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

namespace {
/// Integer arithmetic wraps around.
template <typename T> struct Wrap {
  using Type = T;
};
template <> struct Wrap<int32_t> {
  using Type = uint32_t;
};
template <> struct Wrap<int64_t> {
  using Type = uint64_t;
};

template <typename T> struct Arithmetic {
  using U = typename Wrap<T>::Type;
  static T add(T A, T B) { return T(U(A) + U(B)); }
  static T sub(T A, T B) { return T(U(A) - U(B)); }
  static T mul(T A, T B) { return T(U(A) * U(B)); }
  static T div(T A, T B) {
    if constexpr (std::is_integral_v<T>) {
      if (B == 0)
        return 0;
      if (B == -1) // the least integer has no positive counterpart
        return T(U(0) - U(A));
    }
    return A / B;
  }
  static T max(T A, T B) { return A > B || A != A ? A : B; }
  static T min(T A, T B) { return A < B || A != A ? A : B; }
};
} // namespace

template <typename T>
static ScalarFunction resolveArithmetic(std::string_view Name) {
  using A = Arithmetic<T>;
  if (Name == "add")
    return binary<T, T, A::add>;
  if (Name == "sub")
    return binary<T, T, A::sub>;
  if (Name == "mul")
    return binary<T, T, A::mul>;
  if (Name == "div")
    return binary<T, T, A::div>;
  if (Name == "max")
    return binary<T, T, A::max>;
  if (Name == "min")
    return binary<T, T, A::min>;
  return nullptr;
}

template <typename T>
static ScalarFunction resolveCompare(std::string_view Predicate) {
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
  return nullptr;
}

/// Ops over floats only.
static ScalarFunction resolveFloat(std::string_view Name,
                                   const AttributeList &Attributes) {
  for (const FloatEntry &E : UnaryTable)
    if (E.Name == Name)
      return E.Function;
  if (Name == "pow")
    return binary<float, float, [](float A, float B) { return powf(A, B); }>;
  if (Name == "relu_backward")
    return binary<float, float,
                  [](float A, float B) { return A > 0.0f ? B : 0.0f; }>;
  std::string_view Kind = Attributes.getText("kind");
  if (Kind != "erf" && Kind != "tanh")
    return nullptr;
  if (Name == "gelu")
    return Kind == "erf" ? unary<float, geluErf> : unary<float, geluTanh>;
  if (Name == "gelu_backward")
    return Kind == "erf" ? binary<float, float, geluErfBackward>
                         : binary<float, float, geluTanhBackward>;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Look-up
//===----------------------------------------------------------------------===//

std::optional<unsigned> remat::runtime::getScalarArity(std::string_view Name) {
  for (const FloatEntry &E : UnaryTable)
    if (E.Name == Name)
      return 1;
  if (Name == "gelu" || Name == "cast")
    return 1;
  for (std::string_view Binary :
       {"add", "sub", "mul", "div", "max", "min", "pow", "compare",
        "relu_backward", "gelu_backward"})
    if (Binary == Name)
      return 2;
  if (Name == "select")
    return 3;
  return std::nullopt;
}

static ScalarFunction resolveSelect(DType Type) {
  switch (getComputeWidth(Type)) {
  case 8:
    return select<int64_t>;
  case 1:
    return select<uint8_t>;
  default:
    return isFloat(Type) ? select<float> : select<int32_t>;
  }
}

ScalarFunction remat::runtime::resolveScalar(std::string_view Name,
                                             std::span<const DType> Operands,
                                             DType Result,
                                             const AttributeList &Attributes) {
  if (getScalarArity(Name) != Operands.size())
    return nullptr;
  if (Name == "cast")
    return resolveCast(Operands[0], Result);
  if (Name == "select")
    return Operands[0] == DType::I1 && Operands[1] == Result &&
                   Operands[2] == Result
               ? resolveSelect(Result)
               : nullptr;
  for (DType Type : Operands)
    if (Type != Operands[0] || Type == DType::I1)
      return nullptr;
  bool Float = isFloat(Operands[0]), Narrow = Operands[0] == DType::I32;
  if (Name == "compare") {
    std::string_view Predicate = Attributes.getText("predicate");
    return Result != DType::I1 ? nullptr
           : Float             ? resolveCompare<float>(Predicate)
           : Narrow            ? resolveCompare<int32_t>(Predicate)
                               : resolveCompare<int64_t>(Predicate);
  }
  if (Result != Operands[0])
    return nullptr;
  ScalarFunction Function = Float    ? resolveArithmetic<float>(Name)
                            : Narrow ? resolveArithmetic<int32_t>(Name)
                                     : resolveArithmetic<int64_t>(Name);
  if (!Function && Float)
    Function = resolveFloat(Name, Attributes);
  return Function;
}
