//===- Group.h - kernel groups over small blocks ----------------*- C++ -*-===//
//
// A fused group is evaluated op by op over a block of its space at a time, in
// scratch: it needs no more memory than on a GPU, and each value is rounded to
// its type as if it had been stored.
//
// The space is the group's largest shape. Every value is seen as repeated to
// it: element p of the space is the value's element at the position that
// NumPy's rule gives. What a row reduction without kept dimensions made, and
// what is computed with it, lacks the space's last dimensions; such a value has
// a `Drop`, the number of dimensions of size 1 to put behind its shape.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_OPS_GROUP_H
#define REMAT_RUNTIME_OPS_GROUP_H

#include "ops/Op.h"
#include "ops/Reduction.h"
#include "ops/Roll.h"
#include "ops/Scalar.h"

namespace remat::runtime {

/// One value of a group to be computed, seen with a Drop.
struct GroupNode {
  enum class Kind {
    Input,    ///< loads operand `Input`
    Constant, ///< fills with `Constant`
    Scalar,   ///< calls Function
    Copy,     ///< of its operand (broadcast)
    Roll,     ///< loads operand `Input`, rolled
    Random,   ///< operands: seed, step
    Dropout,  ///< operands: value, seed, step
    Reduce,
    Softmax,
    SoftmaxBackward,
  };
  Kind TheKind = Kind::Input;
  DType Type = DType::F32;
  Walk W;                         ///< from the space to the value's elements
  std::vector<uint32_t> Operands; ///< nodes
  uint32_t Slot = 0;              ///< of the scratch
  uint32_t Input = 0;
  Roll Rolled;
  ScalarFunction Function;
  Reduction Reduce = Reduction::Sum;
  bool Normal = false; ///< distribution of Random
  int64_t Id = 0;      ///< of random numbers
  double Probability = 0, ConstantFloat = 0;
  int64_t ConstantInt = 0;
};

/// Where a result of the group comes from.
struct GroupYield {
  bool IsSum = false; ///< one of the plan's sums, made of another result
  uint32_t Node = 0;
  bool Full = true; ///< as many elements as the space
  /// For a smaller result: an element is stored at the first position of the
  /// space that holds it, where `Repeats` walks to 0; such positions are
  /// multiples of Period.
  Walk Repeats;
  int64_t Period = 1;
};

/// A result that sums another one over all dimensions but the last, as the
/// operation `reduce` with these attributes does.
struct GroupSum {
  uint32_t Result = 0, Summed = 0;
  const AttributeList *Attributes = nullptr;
};

/// How to evaluate a group.
struct GroupPlan {
  std::vector<int64_t> Space;
  int64_t NumElements = 1;
  int64_t RowLength = 1;        ///< elements of a row; 1 without row operations
  std::vector<GroupNode> Nodes; ///< in an order that can be evaluated
  std::vector<GroupYield> Yields;
  std::vector<GroupSum> Sums; ///< made when all results are stored
  uint32_t NumSlots = 0;
  bool HasRows = false; ///< some operation runs over rows
  /// Elements of a block: whole rows, about BlockSize elements.
  int64_t getBlockElements() const {
    return std::max<int64_t>(1, BlockSize / RowLength) * RowLength;
  }
};

/// The call of `reduce` that makes a sum of group `Op`.
OpCall makeSumCall(const OpCall &Op, const GroupSum &Sum);

/// Gives each node a slot of the scratch, and a slot to another node once its
/// last reader has run.
void assignSlots(GroupPlan &Plan);

/// Makes the plan of an untrusted group, or says what is wrong with it.
Result<GroupPlan> planGroup(const OpCall &Op);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_GROUP_H
