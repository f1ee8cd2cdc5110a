//===- RematElementwiseOps.td - one record an operation --------*- tablegen -*-===//

#ifndef REMAT_IR_REMATELEMENTWISEOPS_TD
#define REMAT_IR_REMATELEMENTWISEOPS_TD

include "remat/IR/RematBase.td"

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

def Remat_NegOp : Remat_UnaryOp<"neg", "-a"> { let summary = "-x"; let hasFolder = 1; }
def Remat_AbsOp : Remat_UnaryOp<"abs", "fabsf(a)"> { let summary = "|x|"; }
def Remat_ExpOp : Remat_UnaryOp<"exp", "expf(a)"> { let summary = "e to the x"; }
def Remat_LogOp : Remat_UnaryOp<"log", "logf(a)"> { let summary = "natural logarithm"; }
def Remat_SqrtOp : Remat_UnaryOp<"sqrt", "sqrtf(a)"> { let summary = "square root"; }
def Remat_RsqrtOp : Remat_UnaryOp<"rsqrt", "1.0f / sqrtf(a)"> { let summary = "1 / square root"; }
def Remat_ReciprocalOp : Remat_UnaryOp<"reciprocal", "1.0f / a"> { let summary = "1 / x"; }
def Remat_SinOp : Remat_UnaryOp<"sin", "sinf(a)"> { let summary = "sine of x in radians"; }
def Remat_CosOp : Remat_UnaryOp<"cos", "cosf(a)"> { let summary = "cosine of x in radians"; }
def Remat_TanhOp : Remat_UnaryOp<"tanh", "tanhf(a)"> { let summary = "hyperbolic tangent"; }
def Remat_ErfOp : Remat_UnaryOp<"erf", "erff(a)"> { let summary = "error function"; }
def Remat_SigmoidOp : Remat_UnaryOp<"sigmoid", "1.0f / (1.0f + expf(-a))"> {
  let summary = "1 / (1 + exp(-x))";
}
def Remat_SiluOp : Remat_UnaryOp<"silu", "a / (1.0f + expf(-a))"> {
  let summary = "x * sigmoid(x)";
}
def Remat_ReluOp : Remat_UnaryOp<"relu", "a < 0.0f ? 0.0f : a"> {
  let summary = "max(x, 0)";
  let description = [{ A NaN stays a NaN. The backward reads the result only. }];
}

def Remat_GeluOp : Remat_Op<"gelu", [
    SameOperandsAndResultType, Remat_ElementwiseCost, Remat_InPlace,
    DeclareOpInterfaceMethods<Remat_ScalarOpInterface>, Remat_Differentiable]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    `erf`: x * (1 + erf(x / sqrt(2))) / 2; `tanh`: its approximation
    x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2 (Hendrycks and Gimpel,
    2016). The backward reads x only.
  }];
  let arguments = (ins Remat_FloatTensor:$operand,
      DefaultValuedAttr<Remat_GeluAttr, "::remat::Gelu::erf">:$kind);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Remat_GeluBackwardOp : Remat_Op<"gelu_backward", [
    SameOperandsAndResultType, Remat_ElementwiseCost, Remat_InPlace,
    DeclareOpInterfaceMethods<Remat_ScalarOpInterface>]> {
  let summary = "gradient of gelu: derivative at `operand` times `grad`";
  let arguments = (ins Remat_FloatTensor:$operand, Remat_FloatTensor:$grad,
      DefaultValuedAttr<Remat_GeluAttr, "::remat::Gelu::erf">:$kind);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $grad attr-dict `:` type($result)";
}

def Remat_ReluBackwardOp
    : Remat_ScalarOp<"relu_backward", "a > 0.0f ? b : 0.0f", [SameOperandsAndResultType]> {
  let summary = "gradient of relu from its result: `grad` where `output` > 0, else 0";
  let arguments = (ins Remat_FloatTensor:$output, Remat_FloatTensor:$grad);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$output `,` $grad attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Binary, broadcasting
//===----------------------------------------------------------------------===//

def Remat_AddOp : Remat_BinaryOp<"add", "a + b", [Commutative]> {
  let summary = "x + y"; let hasFolder = 1;
}
def Remat_SubOp : Remat_BinaryOp<"sub", "a - b"> { let summary = "x - y"; let hasFolder = 1; }
def Remat_MulOp : Remat_BinaryOp<"mul", "a * b", [Commutative]> {
  let summary = "x * y"; let hasFolder = 1;
}
def Remat_DivOp : Remat_BinaryOp<"div", "a / b"> {
  let summary = "x / y";
  let description = [{ Integers round toward zero; division by zero gives 0. }];
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::std::string getScalarExpression() {
      return ::llvm::isa<::mlir::FloatType>(getResult().getType().getElementType())
                 ? "a / b" : "b == 0 ? 0 : a / b";
    }
  }];
}
def Remat_MaxOp : Remat_BinaryOp<"max", "a > b || a != a ? a : b"> {
  let summary = "the larger of x and y; a NaN wins";
  let description = [{ Where x and y are equal, each gets half of the gradient. }];
}
def Remat_MinOp : Remat_BinaryOp<"min", "a < b || a != a ? a : b"> {
  let summary = "the smaller of x and y; a NaN wins";
  let description = [{ Where x and y are equal, each gets half of the gradient. }];
}
def Remat_PowOp : Remat_Op<"pow", [
    Remat_BroadcastResult, Remat_ElementwiseCost, Remat_InPlace, Remat_Differentiable,
    Remat_ScalarOpInterface]> {
  let summary = "x to the y";
  let arguments = (ins Remat_FloatTensor:$lhs, Remat_FloatTensor:$rhs);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::std::string getScalarExpression() { return "powf(a, b)"; }
  }];
}

//===----------------------------------------------------------------------===//
// Compare, select, cast
//===----------------------------------------------------------------------===//

def Remat_CompareOp : Remat_Op<"compare", [
    Remat_InferType, Remat_ElementwiseCost, Remat_InPlace,
    DeclareOpInterfaceMethods<Remat_ScalarOpInterface>]> {
  let summary = "elementwise comparison, broadcasting; a NaN is equal to nothing";
  let arguments = (ins Remat_PredicateAttr:$predicate,
                       Remat_NumberTensor:$lhs, Remat_NumberTensor:$rhs);
  let results = (outs Remat_BoolTensor:$result);
  let assemblyFormat = [{
    $predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_SelectOp : Remat_ScalarOp<"select", "a ? b : c",
                                    [Remat_InferType, Remat_Differentiable]> {
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

def Remat_CastOp : Remat_ScalarOp<"cast", "a", [Remat_Differentiable]> {
  let summary = "conversion to another element type";
  let description = [{
    To a narrower float: round to nearest even. Float to integer: toward zero.
    To i1: whether it differs from zero. Shapes are equal.
  }];
  let arguments = (ins Remat_Tensor:$operand);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
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
    Remat_ElementwiseCost, DeclareOpInterfaceMethods<Remat_RandomOpInterface>]> {
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
    Remat_Differentiable, DeclareOpInterfaceMethods<Remat_RandomOpInterface>]> {
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
