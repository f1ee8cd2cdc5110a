//===- RematElementwiseOps.td - one record an operation --------*- tablegen -*-===//

#ifndef REMAT_IR_REMATELEMENTWISEOPS_TD
#define REMAT_IR_REMATELEMENTWISEOPS_TD

include "remat/IR/RematBase.td"

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

/// Constant but for jumps: the gradient is zero.
class Remat_StepFunctionOp<string mnemonic>
    : Remat_UnaryOp<mnemonic, [Remat_CheapToRepeat]> {
  let adjointInF32 = 0;
  let adjoint = "return Value();";
}

def Remat_NegOp : Remat_UnaryOp<"neg", [Remat_CheapToRepeat, Remat_Linear]> {
  let summary = "-x";
  let hasFolder = 1;
  let adjoint = "return B.neg(G);";
}
def Remat_AbsOp : Remat_UnaryOp<"abs", [Remat_CheapToRepeat]> {
  let summary = "|x|";
  let reads = "operand";
  let adjoint = [{
    Value Zero = B.scalarLike(0.0, G);
    Value OrMinus = B.select(B.compare(Predicate::lt, V, Zero), B.neg(G), Zero);
    return B.select(B.compare(Predicate::gt, V, Zero), G, OrMinus);
  }];
}
def Remat_ExpOp : Remat_UnaryOp<"exp", [], "full"> {
  let summary = "e to the x";
  let reads = "result";
  let adjoint = "return B.mul(G, V);";
}
def Remat_LogOp : Remat_UnaryOp<"log", [], "full"> {
  let summary = "natural logarithm";
  let reads = "operand";
  let adjoint = "return B.div(G, V);";
}
def Remat_Log1pOp : Remat_UnaryOp<"log1p", [], "full"> {
  let summary = "log(1 + x), exact where x is small";
  let reads = "operand";
  let adjoint = "return B.div(G, B.add(V, B.scalarLike(1.0, V)));";
}
def Remat_Expm1Op : Remat_UnaryOp<"expm1", [], "full"> {
  let summary = "exp(x) - 1, exact where x is small";
  let reads = "result";
  let adjoint = "return B.mul(G, B.add(V, B.scalarLike(1.0, V)));";
}
def Remat_SqrtOp : Remat_UnaryOp<"sqrt"> {
  let summary = "square root";
  let reads = "result";
  let adjoint = "return B.div(B.mul(G, 0.5), V);";
}
def Remat_RsqrtOp : Remat_UnaryOp<"rsqrt", [], "full"> {
  let summary = "1 / square root";
  let reads = "result";
  let adjoint = "return B.mul(B.mul(G, -0.5), B.mul(V, B.mul(V, V)));";
}
def Remat_ReciprocalOp : Remat_UnaryOp<"reciprocal", [], "full"> {
  let summary = "1 / x";
  let reads = "result";
  let adjoint = "return B.neg(B.mul(G, B.mul(V, V)));";
}
def Remat_SinOp : Remat_UnaryOp<"sin"> {
  let summary = "sine of x in radians";
  let reads = "operand";
  let adjoint = "return B.mul(G, CosOp::create(B, V));";
}
def Remat_CosOp : Remat_UnaryOp<"cos"> {
  let summary = "cosine of x in radians";
  let reads = "operand";
  let adjoint = "return B.neg(B.mul(G, SinOp::create(B, V)));";
}
def Remat_TanOp : Remat_UnaryOp<"tan", [], "full"> {
  let summary = "tangent of x in radians";
  let reads = "result";
  let adjoint = "return B.mul(G, B.add(B.mul(V, V), B.scalarLike(1.0, V)));";
}
def Remat_AtanOp : Remat_UnaryOp<"atan"> {
  let summary = "arc tangent, in radians";
  let reads = "operand";
  let adjoint = "return B.div(G, B.add(B.mul(V, V), B.scalarLike(1.0, V)));";
}
def Remat_FloorOp : Remat_StepFunctionOp<"floor"> {
  let summary = "largest integer that is at most x";
}
def Remat_CeilOp : Remat_StepFunctionOp<"ceil"> {
  let summary = "smallest integer that is at least x";
}
def Remat_RoundOp : Remat_StepFunctionOp<"round"> {
  let summary = "nearest integer; half way between two, the even one";
}
def Remat_SignOp : Remat_StepFunctionOp<"sign"> {
  let summary = "1 where x > 0, -1 where x < 0, 0 where x is 0; a NaN stays a NaN";
}
def Remat_TanhOp : Remat_UnaryOp<"tanh"> {
  let summary = "hyperbolic tangent";
  let reads = "result";
  let adjoint = "return B.mul(G, B.sub(B.scalarLike(1.0, V), B.mul(V, V)));";
}
def Remat_ErfOp : Remat_UnaryOp<"erf"> {
  let summary = "error function";
  let reads = "operand";
  let adjoint = [{
    Value Bell = ExpOp::create(B, B.neg(B.mul(V, V)));
    return B.mul(G, B.mul(Bell, 2.0 * std::numbers::inv_sqrtpi));
  }];
}
def Remat_SigmoidOp : Remat_UnaryOp<"sigmoid"> {
  let summary = "1 / (1 + exp(-x))";
  let reads = "result";
  let adjoint = "return B.mul(G, B.mul(V, B.sub(B.scalarLike(1.0, V), V)));";
}
def Remat_SiluOp : Remat_UnaryOp<"silu", [Remat_CheapToRepeat]> {
  let summary = "x * sigmoid(x)";
  let reads = "operand";
  let adjoint = [{
    // s (1 + x (1 - s)) with s = sigmoid(x).
    Value S = SigmoidOp::create(B, V);
    Value One = B.scalarLike(1.0, V);
    return B.mul(G, B.mul(S, B.add(One, B.mul(V, B.sub(One, S)))));
  }];
}
def Remat_HardswishOp : Remat_UnaryOp<"hardswish", [Remat_CheapToRepeat]> {
  let summary = "x * min(max(x + 3, 0), 6) / 6";
  let description = [{ A cheaper silu (Howard et al., 2019). }];
  let reads = "operand";
  let adjoint = [{
    // 0 below -3, 1 above 3, x / 3 + 1 / 2 between them.
    Value Slope = B.add(B.mul(V, 1.0 / 3.0), B.scalarLike(0.5, V));
    Value IsLow = B.compare(Predicate::lt, V, B.scalarLike(-3.0, V));
    Value IsHigh = B.compare(Predicate::gt, V, B.scalarLike(3.0, V));
    Value OrHigh = B.select(IsHigh, G, B.mul(G, Slope));
    return B.select(IsLow, B.scalarLike(0.0, G), OrHigh);
  }];
}
def Remat_ReluOp : Remat_UnaryOp<"relu", [Remat_CheapToRepeat]> {
  let summary = "max(x, 0)";
  let description = [{ A NaN stays a NaN. The backward reads the result only. }];
  let reads = "result";
  let adjointInF32 = 0;
  let adjoint = "return ReluBackwardOp::create(B, V, G);";
}

def Remat_LeakyReluOp : Remat_UnaryOp<"leaky_relu", [Remat_CheapToRepeat]> {
  let summary = "x where x > 0, negative_slope * x elsewhere";
  let description = [{
    (Maas et al., 2013.) A NaN stays a NaN. The backward reads the result, which
    has the sign of x, if the slope is positive, x otherwise.
  }];
  let arguments = (ins Remat_FloatTensor:$operand,
      DefaultValuedAttr<Remat_FiniteAttr, "1.0e-2">:$negative_slope);
  let reads = "getNegativeSlope().convertToDouble() > 0.0 ? result : operand";
  let adjoint = [{
    Value IsPositive = B.compare(Predicate::gt, V, B.scalarLike(0.0, V));
    double Slope = static_cast<float>(getNegativeSlope().convertToDouble());
    return B.select(IsPositive, G, B.mul(G, Slope));
  }];
}

def Remat_GeluOp : Remat_UnaryOp<"gelu"> {
  let summary = "Gaussian error linear unit";
  let description = [{
    `erf`: x * (1 + erf(x / sqrt(2))) / 2; `tanh`: its approximation
    x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2 (Hendrycks and Gimpel,
    2016). The backward reads x only.
  }];
  let arguments = (ins Remat_FloatTensor:$operand,
      DefaultValuedAttr<Remat_GeluAttr, "::remat::Gelu::erf">:$kind);
  let reads = "operand";
  let adjointInF32 = 0;
  let adjoint = "return GeluBackwardOp::create(B, V, G, getKind());";
}

def Remat_GeluBackwardOp
    : Remat_ScalarOp<"gelu_backward", [SameOperandsAndResultType]> {
  let summary = "gradient of gelu: derivative at `operand` times `grad`";
  let arguments = (ins Remat_FloatTensor:$operand, Remat_FloatTensor:$grad,
      DefaultValuedAttr<Remat_GeluAttr, "::remat::Gelu::erf">:$kind);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $grad attr-dict `:` type($result)";
}

def Remat_ReluBackwardOp
    : Remat_ScalarOp<"relu_backward", [SameOperandsAndResultType]> {
  let summary = "gradient of relu from its result: `grad` where `output` > 0, else 0";
  let arguments = (ins Remat_FloatTensor:$output, Remat_FloatTensor:$grad);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$output `,` $grad attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Binary, broadcasting
//===----------------------------------------------------------------------===//

def Remat_AddOp : Remat_BinaryOp<"add", [Commutative, Remat_CheapToRepeat, Remat_Linear]> {
  let summary = "x + y";
  let hasFolder = 1;
  let lhsAdjoint = "return G;";
  let rhsAdjoint = "return G;";
}
def Remat_SubOp : Remat_BinaryOp<"sub", [Remat_CheapToRepeat, Remat_Linear]> {
  let summary = "x - y";
  let hasFolder = 1;
  let lhsAdjoint = "return G;";
  let rhsAdjoint = "return B.neg(B.sumTo(G, shapeOf(Y)));";
}
def Remat_MulOp : Remat_BinaryOp<"mul", [Commutative, Remat_CheapToRepeat, Remat_Linear]> {
  let summary = "x * y";
  let hasFolder = 1;
  let lhsAdjoint = "return B.mul(G, Y);";
  let rhsAdjoint = "return B.mul(G, X);";
}
def Remat_DivOp : Remat_BinaryOp<"div", [Remat_Linear]> {
  let summary = "x / y";
  let description = [{
    Integers round toward zero; division by zero gives 0. The gradient of y,
    -g (x / y) / y, reads the quotient instead of x: whoever reads the quotient
    next keeps it anyway.
  }];
  let hasFolder = 1;
  let lhsAdjoint = "return B.div(G, Y);";
  let rhsAdjoint = [{
    Value Grad = B.div(B.mul(B.f32(G), B.f32(R)), B.f32(Y));
    return B.neg(B.sumTo(B.cast(Grad, elementOf(G)), shapeOf(Y)));
  }];
}
def Remat_MaxOp : Remat_BinaryOp<"max", [Remat_CheapToRepeat]> {
  let summary = "the larger of x and y; a NaN wins";
  let description = [{ Where x and y are equal, each gets half of the gradient. }];
  let lhsAdjoint = "return B.gradientWhere(Predicate::gt, X, Y, G);";
  let rhsAdjoint = "return B.gradientWhere(Predicate::gt, Y, X, G);";
}
def Remat_MinOp : Remat_BinaryOp<"min", [Remat_CheapToRepeat]> {
  let summary = "the smaller of x and y; a NaN wins";
  let description = [{ Where x and y are equal, each gets half of the gradient. }];
  let lhsAdjoint = "return B.gradientWhere(Predicate::lt, X, Y, G);";
  let rhsAdjoint = "return B.gradientWhere(Predicate::lt, Y, X, G);";
}
def Remat_PowOp : Remat_BinaryOp<"pow", [], "full"> {
  let summary = "x to the y";
  let arguments = (ins Remat_FloatTensor:$lhs, Remat_FloatTensor:$rhs);
  let results = (outs Remat_FloatTensor:$result);
  let lhsAdjoint = "return B.powBaseGradient(X, Y, G);";
  let rhsAdjoint = "return B.powExponentGradient(X, R, G);";
}

def Remat_Atan2Op : Remat_BinaryOp<"atan2"> {
  let summary = "angle of the point (y, x) = (rhs, lhs) from the positive rhs axis";
  let description = [{
    In radians, from -pi to pi: arc tangent of lhs / rhs, in the quadrant of the
    two signs.
  }];
  let arguments = (ins Remat_FloatTensor:$lhs, Remat_FloatTensor:$rhs);
  let results = (outs Remat_FloatTensor:$result);
  let lhsAdjoint = "return B.angleGradient(X, Y, Y, G);";
  let rhsAdjoint = [{
    return B.neg(B.sumTo(B.angleGradient(X, Y, X, G), shapeOf(Y)));
  }];
}
def Remat_RemainderOp : Remat_BinaryOp<"remainder"> {
  let summary = "x - y floor(x / y): what is left, with the sign of y";
  let description = [{
    As Python's `%`. The remainder by the integer 0 is 0, by the float 0 a NaN.
    The gradient of y, -floor(x / y), is made from x and y.
  }];
  let lhsAdjoint = "return G;";
  let rhsAdjoint = [{
    Value Quotient = FloorOp::create(B, B.div(B.f32(X), B.f32(Y)));
    Value Grad = B.cast(B.mul(B.f32(G), Quotient), elementOf(G));
    return B.neg(B.sumTo(Grad, shapeOf(Y)));
  }];
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// A function of the bits of two integers of one type; shapes broadcast.
class Remat_BitsOp<string mnemonic, list<Trait> traits = []>
    : Remat_ScalarOp<mnemonic, !listconcat(
        [Remat_BroadcastResult, Remat_CheapToRepeat], traits)> {
  let arguments = (ins Remat_IntTensor:$lhs, Remat_IntTensor:$rhs);
  let results = (outs Remat_IntTensor:$result);
  let assemblyFormat =
      "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def Remat_BitAndOp : Remat_BitsOp<"bit_and", [Commutative]> {
  let summary = "the bits that are set in both integers";
}
def Remat_BitOrOp : Remat_BitsOp<"bit_or", [Commutative]> {
  let summary = "the bits that are set in one of two integers";
}
def Remat_BitXorOp : Remat_BitsOp<"bit_xor", [Commutative]> {
  let summary = "the bits in which two integers differ";
}
def Remat_ShiftLeftOp : Remat_BitsOp<"shift_left"> {
  let summary = "the bits of x, moved y places up";
  let description = [{
    Zeros come in. Where y is negative or not below the width of x it is 0.
  }];
}
def Remat_ShiftRightOp : Remat_BitsOp<"shift_right"> {
  let summary = "the bits of x, moved y places down";
  let description = [{
    Zeros come in, whatever the sign was. Where y is negative or not below the
    width of x it is 0.
  }];
}

//===----------------------------------------------------------------------===//
// Compare, select, cast
//===----------------------------------------------------------------------===//

def Remat_CompareOp
    : Remat_ScalarOp<"compare", [Remat_InferType, Remat_CheapToRepeat]> {
  let summary = "elementwise comparison, broadcasting; a NaN is equal to nothing";
  let arguments = (ins Remat_PredicateAttr:$predicate,
                       Remat_NumberTensor:$lhs, Remat_NumberTensor:$rhs);
  let results = (outs Remat_BoolTensor:$result);
  let assemblyFormat = [{
    $predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_SelectOp : Remat_ScalarOp<"select", [
    Remat_InferType, Remat_Differentiable, Remat_CheapToRepeat]> {
  let summary = "elementwise choice, broadcasting";
  let hasFolder = 1;
  let arguments = (ins Remat_BoolTensor:$condition,
                       Remat_Tensor:$trueValue, Remat_Tensor:$falseValue);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = [{
    $condition `,` $trueValue `,` $falseValue attr-dict `:`
    functional-type(operands, results)
  }];
}

def Remat_CastOp : Remat_ScalarOp<"cast", [
    Remat_Differentiable, Remat_CheapToRepeat, Remat_CopiesOperand, Remat_Linear], "any"> {
  let summary = "conversion to another element type";
  let description = [{
    To a narrower float: round to nearest even. Float to integer: toward zero.
    To i1: whether it differs from zero. Shapes are equal. f8E4M3FN, which only
    casts and copies read and write, has no infinity: what is larger than 448
    becomes 448. No gradient passes through it.
  }];
  let arguments = (ins Remat_StoredTensor:$operand);
  let results = (outs Remat_StoredTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Remat_BitcastOp : Remat_ScalarOp<"bitcast", [Remat_CheapToRepeat], "written"> {
  let summary = "the bits of each f32 as an i32, or back";
  let description = [{ Shapes are equal. No gradient passes through it. }];
  let arguments = (ins Remat_WordTensor:$operand);
  let results = (outs Remat_WordTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
}

def Remat_StopGradientOp : Remat_UnaryOp<"stop_gradient",
    [Remat_CheapToRepeat, Remat_CopiesOperand]> {
  let summary = "the operand, through which no gradient flows";
  let description = [{ Differentiation takes it out of the graph. }];
  let adjoint = "return Value();";
}

def Remat_CopyOp : Remat_UnaryOp<"copy", [Remat_CheapToRepeat, Remat_CopiesOperand]> {
  let summary = "the same elements in memory that may be others'";
  let description = [{
    No folder removes it: it stands where a value must be there twice, such as a
    result beside the update that overwrites it.
  }];
  let arguments = (ins Remat_StoredTensor:$operand);
  let results = (outs Remat_StoredTensor:$result);
  let adjointInF32 = 0;
  let adjoint = "return G;";
}

//===----------------------------------------------------------------------===//
// Constants and random numbers
//===----------------------------------------------------------------------===//

def Remat_ConstantOp : Remat_Op<"constant", [ConstantLike, Remat_InferType]> {
  let summary = "a constant tensor";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Remat_RandomOp : Remat_Op<"random", [
    Remat_ElementwiseCost, Remat_Pointwise,
    Remat_RandomOpInterface]> {
  let summary = "random numbers from (seed, id, step)";
  let description = [{
    `uniform`: in [0, 1); `normal`: mean 0, variance 1 (Box and Muller, 1958).
    Element i takes word i mod 4 of Philox 4x32-10 with key = seed (low, high
    32 bits) and counter = (i / 4, (i / 4) >> 32 xor id >> 32, id, step), each
    word modulo 2^32. A word w gives (w >> 8) * 2^-24; normal pairs words 2j and
    2j + 1: r = sqrt(-2 ln(1 - u0)), element 2j is r cos(2 pi u1), element
    2j + 1 is r sin(2 pi u1).
  }];
  let arguments = (ins Remat_I64Scalar:$seed, Remat_I64Scalar:$step,
                       Remat_DistributionAttr:$distribution, I64Attr:$id);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$distribution $seed `,` $step attr-dict `:` type($result)";
}

def Remat_DropoutOp : Remat_Op<"dropout", [
    AllTypesMatch<["operand", "result"]>, Remat_ElementwiseCost, Remat_InPlace,
    Remat_Pointwise, Remat_Precision<"follow">, Remat_Differentiable,
    Remat_PlacedLoops, Remat_RandomOpInterface]> {
  let summary = "zeroes elements with probability p, scales the others by 1 / (1 - p)";
  let description = [{
    Element i is kept when its uniform number, drawn as in `remat.random`, is at
    least p. The backward is the same operation on the gradient: no mask is
    stored (Srivastava et al., 2014, for dropout).
  }];
  let arguments = (ins Remat_FloatTensor:$operand, Remat_I64Scalar:$seed,
                       Remat_I64Scalar:$step, F64Attr:$p, I64Attr:$id);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $seed `,` $step attr-dict `:` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif // REMAT_IR_REMATELEMENTWISEOPS_TD
