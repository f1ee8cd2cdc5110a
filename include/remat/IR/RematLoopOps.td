//===- RematLoopOps.td - loops in the program ------------------*- tablegen -*-===//

#ifndef REMAT_IR_REMATLOOPOPS_TD
#define REMAT_IR_REMATLOOPOPS_TD

include "remat/IR/RematBase.td"

def Remat_ScanOp : Remat_Op<"scan", [
    IsolatedFromAbove, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">, Remat_CostAndTraffic,
    Remat_InPlaceFromOperands, Remat_Differentiable]> {
  let summary = "runs its body `steps` times, each time on what the last one left";
  let description = [{
    A loop that is one operation of the graph and one step of the program: however
    many times it runs, its body is compiled once, and the memory that the body
    needs is the workspace of the operation.

    The body's arguments are, in this order:

    - *carries*, behind the number of steps: in the first step the initial values, in each
      other what the step before it yielded;
    - *slices*, behind `over`: of step t row t of the operand's first dimension, which is
      `steps` long;
    - *reads*, behind `with`: the same in each step.

    The body yields the next value of each carry, then values to be *stacked*. Results
    are the last carries, then of each stacked value all of them, along a new first
    dimension of `steps`. With `reverse` the first step reads and writes the last rows.
    A body reads nothing else, updates no parameter, and may hold other scans,
    at most 4 deep.

    Random numbers depend on the seed, the operation's id and the step that it is given:
    one in a body that shall draw other numbers in each step needs a carry that counts,
    as the graph builder writes it.

    The gradient is a scan that runs the other way. The forward then also stacks each
    carry as a step finds it, unless the backward does not read it; all else of a step
    is computed again from these. Gradients of what is only read are carries of that scan.

    ```mlir
    %0, %1 = remat.scan 3 (%h = %a : tensor<4xf32>) over (%x = %b : tensor<3x4xf32>) with (%w = %c : tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
      %2 = remat.mul %h, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %3 = remat.add %2, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      remat.yield %3, %3 : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Remat_StoredTensor>:$inits,
                       Variadic<Remat_StoredTensor>:$slices,
                       Variadic<Remat_StoredTensor>:$reads,
                       ConfinedAttr<I64Attr, [IntPositive]>:$steps,
                       UnitAttr:$reverse,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$arena);
  let results = (outs Variadic<Remat_StoredTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    unsigned getNumCarries() { return getInits().size(); }
    unsigned getNumStacks() { return getNumResults() - getNumCarries(); }
    ::mlir::Block::BlockArgListType getCarryArguments();
    ::mlir::Block::BlockArgListType getSliceArguments();
    ::mlir::Block::BlockArgListType getReadArguments();
    /// The terminator's operands: next carries, then what is stacked.
    ::mlir::Operation::operand_range getYielded();
    /// The type of a stack of `steps` values of type `Element`.
    ::mlir::RankedTensorType getStackType(::mlir::Type Element);
  }];
}

#endif // REMAT_IR_REMATLOOPOPS_TD
