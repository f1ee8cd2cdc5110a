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

/// Casts and copies read and write floats too that nothing computes with.
def Remat_StoredElement
    : AnyTypeOf<[F32, BF16, F16, I32, I64, I1, F8E4M3FN],
                "f32, bf16, f16, i32, i64, i1 or f8E4M3FN">;

def Remat_Tensor : StaticShapeTensorOf<[Remat_Element]>;
def Remat_StoredTensor : StaticShapeTensorOf<[Remat_StoredElement]>;
def Remat_FloatTensor : StaticShapeTensorOf<[Remat_FloatElement]>;
def Remat_NumberTensor : StaticShapeTensorOf<[Remat_NumberElement]>;
def Remat_IntTensor : StaticShapeTensorOf<[Remat_IntElement]>;
def Remat_BoolTensor : StaticShapeTensorOf<[I1]>;
/// Elements of 32 bits.
def Remat_WordTensor : StaticShapeTensorOf<[AnyTypeOf<[F32, I32], "f32 or i32">]>;
def Remat_F32Tensor : StaticShapeTensorOf<[F32]>;

class Remat_Scalar<Type element, string description, string build>
    : Type<And<[StaticShapeTensorOf<[element]>.predicate, HasAnyRankOfPred<[0]>]>,
           description, "::mlir::RankedTensorType">,
      BuildableType<"::mlir::RankedTensorType::get({}, " # build # ")">;
def Remat_F32Scalar : Remat_Scalar<F32, "a tensor<f32>", "$_builder.getF32Type()">;
def Remat_I64Scalar : Remat_Scalar<I64, "a tensor<i64>", "$_builder.getI64Type()">;

/// Names of axes of a mesh.
def Remat_AxesAttr : ConfinedAttr<StrArrayAttr, [ArrayMinCount<1>]>;

/// Kernels are written for no infinity and no NaN as an attribute.
def Remat_FiniteAttr : ConfinedAttr<F64Attr, [
    AttrConstraint<CPred<"::llvm::cast<::mlir::FloatAttr>($_self).getValue().isFinite()">,
                   "whose value is finite">]>;

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
/// An optimizer's update of a parameter.
def Remat_Update : TraitList<[Remat_UpdateOpInterface, Remat_RunsOnce]>;
def Remat_CostAndTraffic
    : DeclareOpInterfaceMethods<Remat_CostOpInterface, ["getFlops", "getBytes"]>;
def Remat_SometimesRandom
    : DeclareOpInterfaceMethods<Remat_RandomOpInterface, ["drawsNumbers"]>;
/// The loops of a pointwise operation, and those that the operation says.
def Remat_PointwiseLoops : DeclareOpInterfaceMethods<Remat_LoopOpInterface>;
def Remat_Loops : DeclareOpInterfaceMethods<Remat_LoopOpInterface, ["getLoops"]>;
def Remat_LoopsAndSlices
    : DeclareOpInterfaceMethods<Remat_LoopOpInterface, ["getLoops", "becomeSlice"]>;
/// Loops that ranks can share, slice by slice.
def Remat_PlacedLoops : DeclareOpInterfaceMethods<Remat_PlacedLoopOpInterface>;
def Remat_Linear : DeclareOpInterfaceMethods<Remat_LinearOpInterface>;
def Remat_View : DeclareOpInterfaceMethods<Remat_ViewOpInterface>;
defvar Remat_InferType = InferTypeOpAdaptor;

/// Each result element depends on the operands' elements at its position, as
/// broadcasting has it: a kernel computes such operations together.
def Remat_Pointwise : NativeOpTrait<"Pointwise"> { let cppNamespace = "::remat"; }
/// Result rows (along the last dimension) depend on whole rows of the operands.
def Remat_Rowwise : NativeOpTrait<"Rowwise"> { let cppNamespace = "::remat"; }
/// So little arithmetic that making the result again beats reading it.
def Remat_CheapToRepeat : NativeOpTrait<"CheapToRepeat"> { let cppNamespace = "::remat"; }
/// The result holds elements of operand 0 and nothing else, at most rounded.
def Remat_CopiesOperand : NativeOpTrait<"CopiesOperand"> { let cppNamespace = "::remat"; }
/// A matrix product, or one that contains some.
def Remat_UsesMatrixUnits : NativeOpTrait<"UsesMatrixUnits"> { let cppNamespace = "::remat"; }

class Remat_HasPrecision<string case>
    : ParamNativeOpTrait<"HasPrecision", "::remat::Precision::" # case> {
  let cppNamespace = "::remat";
}
/// What autocast does with the operation: a case of `Precision`. Operations
/// without it stay as they are written.
class Remat_Precision<string case>
    : TraitList<[Remat_PrecisionOpInterface, Remat_HasPrecision<case>]>;
def Remat_OwnPrecision
    : DeclareOpInterfaceMethods<Remat_PrecisionOpInterface, ["getPrecision"]>;
def Remat_OperandPrecision
    : DeclareOpInterfaceMethods<Remat_PrecisionOpInterface, [
        "getPrecision", "getOperandPrecision", "getNumCastResults"]>;

/// One function of the operands' elements, which each target has in a table:
/// lib/Target/CUDA/Expressions.cpp, runtime/ops/Scalar.cpp.
def Remat_ScalarFunction : NativeOpTrait<"ScalarFunction"> { let cppNamespace = "::remat"; }

/// An operation that is such a function.
class Remat_ScalarOp<string mnemonic, list<Trait> traits = [], string precision = "follow">
    : Remat_Op<mnemonic, !listconcat(
        [Remat_ElementwiseCost, Remat_InPlace, Remat_Pointwise,
         Remat_PointwiseLoops, Remat_ScalarFunction,
         Remat_Precision<precision>], traits)>;

/// A function of one float. `adjoint` is the body of a C++ function that
/// returns the operand's gradient, null for zero: `B` is an AdjointBuilder, `G`
/// the result's gradient, `V` what the C++ expression `reads` says: `operand`,
/// `result`, which must live until the backward, or no value. G and V are f32,
/// and what is returned is rounded to the operand's type; without `adjointInF32`
/// they are as they come.
class Remat_UnaryOp<string mnemonic, list<Trait> traits = [], string precision = "follow">
    : Remat_ScalarOp<mnemonic, !listconcat(
        [SameOperandsAndResultType, Remat_Differentiable], traits), precision> {
  let arguments = (ins Remat_FloatTensor:$operand);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  string reads = "::mlir::Value()";
  code adjoint = "";
  bit adjointInF32 = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::buildAdjoint(
        ::mlir::OpBuilder &Builder, ::mlir::ValueRange ResultGrads,
        ::llvm::ArrayRef<bool> Needed,
        ::llvm::MutableArrayRef<::mlir::Value> OperandGrads) {
      [[maybe_unused]] ::mlir::Value operand = getOperand(), result = getResult();
      ::remat::AdjointBuilder B(Builder, getOperation());
      if (Needed[0] && ResultGrads[0])
        OperandGrads[0] = B.unary(ResultGrads[0], }] # reads # ", " #
            !if(adjointInF32, "true", "false") # [{,
            [&](::mlir::Value G, ::mlir::Value V) -> ::mlir::Value {
              }] # adjoint # [{
            });
      return ::mlir::success();
    }
  }];
}

/// A function of two elements of one type; shapes broadcast as NumPy's do.
/// `lhsAdjoint` and `rhsAdjoint` are bodies of C++ functions that return the
/// gradients of the operands, null for zero: `B` is an AdjointBuilder, `G` the
/// result's gradient, `X`, `Y` and `R` operands and result. Gradients of
/// broadcast operands are summed to their shapes.
class Remat_BinaryOp<string mnemonic, list<Trait> traits = [], string precision = "follow">
    : Remat_ScalarOp<mnemonic, !listconcat(
        [Remat_BroadcastResult, Remat_Differentiable], traits), precision> {
  let arguments = (ins Remat_NumberTensor:$lhs, Remat_NumberTensor:$rhs);
  let results = (outs Remat_NumberTensor:$result);
  let assemblyFormat =
      "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  code lhsAdjoint = "";
  code rhsAdjoint = "";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::buildAdjoint(
        ::mlir::OpBuilder &Builder, ::mlir::ValueRange ResultGrads,
        ::llvm::ArrayRef<bool> Needed,
        ::llvm::MutableArrayRef<::mlir::Value> OperandGrads) {
      [[maybe_unused]] ::mlir::Value G = ResultGrads[0], R = getResult();
      [[maybe_unused]] ::mlir::Value X = getLhs(), Y = getRhs();
      ::remat::AdjointBuilder B(Builder, getOperation());
      auto Lhs = [&]() -> ::mlir::Value { }] # lhsAdjoint # [{ };
      auto Rhs = [&]() -> ::mlir::Value { }] # rhsAdjoint # [{ };
      if (G && Needed[0])
        OperandGrads[0] = B.sumTo(Lhs(), ::remat::shapeOf(X));
      if (G && Needed[1])
        OperandGrads[1] = B.sumTo(Rhs(), ::remat::shapeOf(Y));
      return ::mlir::success();
    }
  }];
}

#endif // REMAT_IR_REMATBASE_TD
