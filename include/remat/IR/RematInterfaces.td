//===- RematInterfaces.td - what each phase asks of an op ------*- tablegen -*-===//
//
// One interface for each question of a phase: autodiff, planning, fusion and
// memory assignment know operations only through these.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_IR_REMATINTERFACES_TD
#define REMAT_IR_REMATINTERFACES_TD

include "mlir/IR/OpBase.td"

def Remat_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    How much arithmetic an operation does, and how many bytes it moves.
  }];
  let methods = [
    InterfaceMethod<[{
      Floating-point operations of one execution (a fused multiply-add is two).
      The default is one for each element of the largest operand or result.
    }], "double", "getFlops", (ins), "",
    [{ return ::remat::detail::countElementwiseFlops($_op); }]>,
    InterfaceMethod<[{
      Bytes read and written. The default reads each operand and writes each
      result once.
    }], "double", "getBytes", (ins), "",
    [{ return ::remat::detail::countBytes($_op); }]>];
}

def Remat_InPlaceOpInterface : OpInterface<"InPlaceOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    Which operands' memory a result may take over. The kernels of the operation,
    on every device, must give the same values when result and operand are the
    same bytes. Only an operand of the same byte size is ever reused.
  }];
  let methods = [
    InterfaceMethod<"Operand numbers that result number `result` may overwrite.",
      "::llvm::SmallVector<unsigned>", "getReusableOperands",
      (ins "unsigned":$result), "",
      [{ return ::remat::detail::sameShapeOperands($_op, result); }]>];
}

def Remat_ViewOpInterface : OpInterface<"ViewOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    An operation whose only result can be the bytes of operand 0: it needs no
    memory and no step.
  }];
  let methods = [
    InterfaceMethod<[{
      Byte offset of the result within operand 0 if the result is one contiguous
      run of its bytes, nothing otherwise.
    }], "::std::optional<int64_t>", "getViewOffset", (ins)>];
}

def Remat_PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    In which precision autocast has an operation run.
  }];
  let methods = [
    InterfaceMethod<"The policy; it may depend on types and attributes.",
      "::remat::Precision", "getPrecision", (ins)>,
    InterfaceMethod<[{
      The policy of one operand: that of the operation, `any`, or `written`.
    }], "::remat::Precision", "getOperandPrecision", (ins "unsigned":$operand), "",
      [{ return $_op.getPrecision(); }]>,
    InterfaceMethod<"How many results, from the first on, change their type.",
      "unsigned", "getNumCastResults", (ins), "",
      [{ return $_op->getNumResults(); }]>];
}

def Remat_UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{ The update of a parameter by an optimizer. }];
  let methods = [
    InterfaceMethod<"The operand that is the parameter's gradient.",
      "::mlir::OpOperand &", "getGradMutable", (ins)>];
}

def Remat_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    How gradients flow from an operation's results to its operands.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the adjoint. `resultGrads` has one gradient a result, null where
      none flows. `needed[i]` says whether operand i's gradient is wanted.
      Stores in `operandGrads[i]` (sized and null on entry) that gradient, of
      operand i's type, or leaves null for zero. Reads as few values of the
      forward as it can: what is read here must live until the backward.
    }], "::llvm::LogicalResult", "buildAdjoint",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGrads,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandGrads)>];
}

def Remat_RandomOpInterface : OpInterface<"RandomOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    An operation that draws random numbers from a counter: Philox 4x32-10
    (Salmon et al., 2011) keyed by the seed, with the counter made of element
    block, op id and step. Two executions with equal operands and id give equal
    numbers.
  }];
  let methods = [
    InterfaceMethod<"The id that keeps its numbers apart from other ops'.",
      "int64_t", "getRandomId", (ins), "", [{ return $_op.getId(); }]>,
    InterfaceMethod<"Replaces the id.", "void", "setRandomId",
      (ins "int64_t":$id), "", [{ $_op.setId(id); }]>,
    InterfaceMethod<"Whether it draws numbers with the attributes that it has.",
      "bool", "drawsNumbers", (ins), "", [{ return true; }]>];
}

def Remat_LoopOpInterface : OpInterface<"LoopOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    Along which dimensions an operation can be cut into slices, each an operation
    of its kind over a part of the operands: as the loops of a tensor contraction
    are, with sums where a loop does not appear in a result.
  }];
  let methods = [
    InterfaceMethod<[{
      The loops. The default is that of pointwise operations: one for each
      dimension of the result that is larger than 1.
    }], "::llvm::SmallVector<::remat::Loop>", "getLoops", (ins), "",
      [{ return ::remat::detail::getPointwiseLoops($_op); }]>,
    InterfaceMethod<[{
      What each of `count` slices contributes to a mean: a f32 tensor [count] with
      the sum 1; null where all contribute alike. Of loops with `IsMean`.
    }], "::mlir::Value", "buildShares",
      (ins "::mlir::OpBuilder &":$builder, "const ::remat::Loop &":$loop,
           "int64_t":$count), "", [{ return {}; }]>,
    InterfaceMethod<[{
      Sets what attributes and result types say of sizes: the operation, whose
      operands are cut already, is one of `count` slices.
    }], "void", "becomeSlice",
      (ins "const ::remat::Loop &":$loop, "int64_t":$count), "",
      [{ ::remat::detail::cutResults($_op, loop, count); }]>];
}

def Remat_PlacedLoopOpInterface : OpInterface<"PlacedLoopOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    Loops whose slices are no operations of the kind: a slice must know its place
    in the whole, or talk to the others. Ranks that each have one slice run them.
  }];
  let methods = [
    InterfaceMethod<"The loops, beside those of LoopOpInterface.",
      "::llvm::SmallVector<::remat::Loop>", "getPlacedLoops", (ins)>,
    InterfaceMethod<[{
      Builds the results of the slice that a rank has among `count` ranks along
      `axes`, of operands that are cut already.
    }], "::llvm::SmallVector<::mlir::Value>", "buildPlacedSlice",
      (ins "::mlir::OpBuilder &":$builder, "const ::remat::Loop &":$loop,
           "::mlir::ValueRange":$operands, "::mlir::ArrayAttr":$axes,
           "int64_t":$count)>];
}

def Remat_LinearOpInterface : OpInterface<"LinearOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    An operation that may run on each summand of a sum: the sum of its results is
    its result of the sum, but for rounding.
  }];
  let methods = [
    InterfaceMethod<[{
      Sets of operands in which the only result is linear, together, while the
      others stay as they are: both of an addition, one of a product. Matrix
      products are not meant: they would no longer have small factors.
    }], "::llvm::SmallVector<::llvm::SmallVector<unsigned>>",
      "getLinearOperands", (ins)>];
}

def Remat_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    An operation over a group of ranks. All ranks of the group run it together.
  }];
  let methods = [
    InterfaceMethod<"The axes of the mesh that the group extends over.",
      "::mlir::ArrayAttr", "getAxes", (ins), "", [{ return $_op.getAxesAttr(); }]>,
    InterfaceMethod<[{
      What a rank sends to others, and gets from them, whichever is more, where
      the group has `ranks` ranks.
    }], "::remat::Traffic", "getTraffic", (ins "int64_t":$ranks)>];
}

// Operations that change the world when they run twice (optimizer updates):
// never recomputed.
def Remat_RunsOnce : NativeOpTrait<"RunsOnce"> {
  let cppNamespace = "::remat";
}

#endif // REMAT_IR_REMATINTERFACES_TD
