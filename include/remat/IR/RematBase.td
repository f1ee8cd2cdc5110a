//===- RematBase.td - base classes of the operations -----------*- tablegen -*-===//

#ifndef REMAT_IR_REMATBASE_TD
#define REMAT_IR_REMATBASE_TD

include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/IR/RematDialect.td"
include "remat/IR/RematInterfaces.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Remat_FloatElement : AnyTypeOf<[F32, BF16, F16], "f32, bf16 or f16">;
def Remat_IntElement : AnyTypeOf<[I32, I64], "i32 or i64">;
def Remat_NumberElement : AnyTypeOf<[F32, BF16, F16, I32, I64],
                                    "f32, bf16, f16, i32 or i64">;
def Remat_Element : AnyTypeOf<[F32, BF16, F16, I32, I64, I1],
                              "f32, bf16, f16, i32, i64 or i1">;

def Remat_Tensor : StaticShapeTensorOf<[Remat_Element]>;
def Remat_FloatTensor : StaticShapeTensorOf<[Remat_FloatElement]>;
def Remat_NumberTensor : StaticShapeTensorOf<[Remat_NumberElement]>;
def Remat_IntTensor : StaticShapeTensorOf<[Remat_IntElement]>;
def Remat_BoolTensor : StaticShapeTensorOf<[I1]>;
def Remat_F32Tensor : StaticShapeTensorOf<[F32]>;

class Remat_Scalar<Type element, string description, string build>
    : Type<And<[StaticShapeTensorOf<[element]>.predicate, HasAnyRankOfPred<[0]>]>,
           description, "::mlir::RankedTensorType">,
      BuildableType<"::mlir::RankedTensorType::get({}, " # build # ")">;
def Remat_F32Scalar : Remat_Scalar<F32, "a tensor<f32>", "$_builder.getF32Type()">;
def Remat_I64Scalar : Remat_Scalar<I64, "a tensor<i64>", "$_builder.getI64Type()">;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// All tensors that the operation reads and makes have at least one element and
/// a byte size that fits int64_t; checked before the operation's own verifier.
def Remat_SizedTensors : NativeOpTrait<"SizedTensors"> {
  let cppNamespace = "::remat";
}

class Remat_Op<string mnemonic, list<Trait> traits = []>
    : Op<Remat_Dialect, mnemonic,
         !listconcat([Pure, Remat_SizedTensors], traits)>;

/// The result's type follows from NumPy's broadcast of all operands, which have
/// one element type.
def Remat_BroadcastResultTrait : NativeOpTrait<"BroadcastResult"> {
  let cppNamespace = "::remat";
}
def Remat_BroadcastResult
    : TraitList<[InferTypeOpInterface, Remat_BroadcastResultTrait]>;

/// The adjoint is built in lib/IR/Adjoints.
def Remat_Differentiable
    : DeclareOpInterfaceMethods<Remat_DifferentiableOpInterface>;
def Remat_InPlace : DeclareOpInterfaceMethods<Remat_InPlaceOpInterface>;
def Remat_InPlaceFromOperands
    : DeclareOpInterfaceMethods<Remat_InPlaceOpInterface, ["getReusableOperands"]>;
def Remat_ElementwiseCost : DeclareOpInterfaceMethods<Remat_CostOpInterface>;
def Remat_Cost : DeclareOpInterfaceMethods<Remat_CostOpInterface, ["getFlops"]>;
def Remat_View : DeclareOpInterfaceMethods<Remat_ViewOpInterface>;
defvar Remat_InferType = InferTypeOpAdaptor;

/// An elementwise operation given by one C expression; see ScalarOpInterface.
class Remat_ScalarOp<string mnemonic, string expression, list<Trait> traits = []>
    : Remat_Op<mnemonic, !listconcat(
        [Remat_ElementwiseCost, Remat_InPlace, Remat_ScalarOpInterface], traits)> {
  code expressionMethod = [{
    ::std::string getScalarExpression() { return "}] # expression # [{"; }
  }];
  let extraClassDeclaration = expressionMethod;
}

class Remat_UnaryOp<string mnemonic, string expression, list<Trait> traits = []>
    : Remat_ScalarOp<mnemonic, expression, !listconcat(
        [SameOperandsAndResultType, Remat_Differentiable], traits)> {
  let arguments = (ins Remat_FloatTensor:$operand);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

/// Operands of one element type; shapes broadcast as NumPy's do.
class Remat_BinaryOp<string mnemonic, string expression, list<Trait> traits = []>
    : Remat_ScalarOp<mnemonic, expression, !listconcat(
        [Remat_BroadcastResult, Remat_Differentiable], traits)> {
  let arguments = (ins Remat_NumberTensor:$lhs, Remat_NumberTensor:$rhs);
  let results = (outs Remat_NumberTensor:$result);
  let assemblyFormat =
      "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

#endif // REMAT_IR_REMATBASE_TD
