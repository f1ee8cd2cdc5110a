//===- Expressions.cpp - scalar functions in CUDA C++ ---------------------===//
//
// One row an operation: an expression over `a`, `b`, `c`, ... for operands 0,
// 1, 2, ... Floats of any width arrive as `float` and the result is rounded to
// its type; integers arrive as themselves, i1 as `bool`. An operation of the
// dialect that is a scalar function and has no row here does not compile.
//
//===----------------------------------------------------------------------===//

#include "Expressions.h"
#include "PointwiseText.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

static std::string express(NegOp) { return "-a"; }
static std::string express(AbsOp) { return "fabsf(a)"; }
static std::string express(ExpOp) { return "expf(a)"; }
static std::string express(LogOp) { return "logf(a)"; }
static std::string express(Log1pOp) { return "log1pf(a)"; }
static std::string express(Expm1Op) { return "expm1f(a)"; }
static std::string express(SqrtOp) { return "sqrtf(a)"; }
static std::string express(RsqrtOp) { return "1.0f / sqrtf(a)"; }
static std::string express(ReciprocalOp) { return "1.0f / a"; }
static std::string express(SinOp) { return "sinf(a)"; }
static std::string express(CosOp) { return "cosf(a)"; }
static std::string express(TanOp) { return "tanf(a)"; }
static std::string express(AtanOp) { return "atanf(a)"; }
static std::string express(FloorOp) { return "floorf(a)"; }
static std::string express(CeilOp) { return "ceilf(a)"; }
static std::string express(RoundOp) { return "rintf(a)"; }
static std::string express(SignOp) {
  return "a > 0.0f ? 1.0f : (a < 0.0f ? -1.0f : a)";
}
static std::string express(TanhOp) { return "tanhf(a)"; }
static std::string express(ErfOp) { return "erff(a)"; }
static std::string express(SigmoidOp) { return "sigmoidOf(a)"; }
static std::string express(SiluOp) { return "a * sigmoidOf(a)"; }
static std::string express(HardswishOp) {
  return "a * (a < -3.0f ? 0.0f : (a > 3.0f ? 6.0f : a + 3.0f)) / 6.0f";
}
static std::string express(ReluOp) { return "a < 0.0f ? 0.0f : a"; }
static std::string express(LeakyReluOp Op) {
  float Slope = static_cast<float>(Op.getNegativeSlope().convertToDouble());
  return "a > 0.0f ? a : a * " + cuda::printFloatLiteral(APFloat(Slope));
}
static std::string express(ReluBackwardOp) { return "a > 0.0f ? b : 0.0f"; }

static std::string express(GeluOp Op) {
  if (Op.getKind() == Gelu::erf)
    return "0.5f * a * (1.0f + erff(a * 0.70710678118654752f))";
  return "a * geluSigmoid(a)";
}

static std::string express(GeluBackwardOp Op) {
  // erf: Phi(a) + a phi(a), the normal distribution and its density.
  if (Op.getKind() == Gelu::erf)
    return "b * (0.5f * (1.0f + erff(a * 0.70710678118654752f)) + "
           "a * 0.39894228040143268f * expf(-0.5f * a * a))";
  return "b * geluSlope(a)";
}

static std::string express(AddOp) { return "a + b"; }
static std::string express(SubOp) { return "a - b"; }
static std::string express(MulOp) { return "a * b"; }
static std::string express(DivOp Op) {
  return isa<FloatType>(Op.getResult().getType().getElementType())
             ? "a / b"
             : "b == 0 ? 0 : a / b";
}
static std::string express(MaxOp) { return "a > b || a != a ? a : b"; }
static std::string express(MinOp) { return "a < b || a != a ? a : b"; }
static std::string express(PowOp) { return "powf(a, b)"; }
static std::string express(Atan2Op) { return "atan2f(a, b)"; }
static std::string express(RemainderOp) { return "remainderOf(a, b)"; }
static std::string express(BitAndOp) { return "a & b"; }
static std::string express(BitOrOp) { return "a | b"; }
static std::string express(BitXorOp) { return "a ^ b"; }
static std::string express(ShiftLeftOp) { return "shiftLeft(a, b)"; }
static std::string express(ShiftRightOp) { return "shiftRight(a, b)"; }
static std::string express(BitcastOp Op) {
  return Op.getType().getElementType().isF32() ? "__int_as_float(a)"
                                               : "__float_as_int((float)a)";
}
static std::string express(SelectOp) { return "a ? b : c"; }
static std::string express(NormalizeOp) { return "(a - b) * c * d + e"; }
static std::string express(CastOp) { return "a"; }
static std::string express(CopyOp) { return "a"; }
static std::string express(StopGradientOp) { return "a"; }

static std::string express(CompareOp Op) {
  switch (Op.getPredicate()) {
  case Predicate::eq:
    return "a == b";
  case Predicate::ne:
    return "a != b";
  case Predicate::lt:
    return "a < b";
  case Predicate::le:
    return "a <= b";
  case Predicate::gt:
    return "a > b";
  case Predicate::ge:
    return "a >= b";
  }
  llvm_unreachable("all predicates are handled");
}

template <typename OpType>
static void expressIf(Operation *Op, std::optional<std::string> &Text) {
  if constexpr (OpType::template hasTrait<ScalarFunction>())
    if (auto Scalar = dyn_cast<OpType>(Op))
      Text = express(Scalar);
}

template <typename... OpTypes>
static std::optional<std::string> expressOneOf(Operation *Op) {
  std::optional<std::string> Text;
  (expressIf<OpTypes>(Op, Text), ...);
  return Text;
}

std::optional<std::string> remat::cuda::getExpression(Operation *Op) {
  return expressOneOf<
#define GET_OP_LIST
#include "remat/IR/RematOps.cpp.inc"
      >(Op);
}
