//===- Op.h - what checks and kernels see of an op --------------*- C++ -*-===//
//
// Each op of the dialect has one record: its name, the check that a program
// must pass before any device runs it, which operands its results may
// overwrite, and the host's kernel.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_HOST_OP_H
#define REMAT_RUNTIME_HOST_OP_H

#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remat::runtime {

class Context;

/// A tensor as an op sees it. `Data` is null while an op is only checked.
struct Value {
  bool Present = true; ///< false: an optional operand that is not there
  DType Type = DType::F32;
  std::vector<int64_t> Shape;
  int64_t NumElements = 0;
  char *Data = nullptr;

  static Value of(const Tensor &T);
  static Value missing();
  uint64_t getBytes() const { return NumElements * getByteWidth(Type); }
  int64_t getRank() const { return static_cast<int64_t>(Shape.size()); }
  template <typename T> T *as() const { return reinterpret_cast<T *>(Data); }
};

/// One op with its tensors.
struct OpCall {
  std::string_view Name;
  std::vector<Value> Operands, Results;
  const AttributeList *Attributes = nullptr;
  const Step *TheStep = nullptr; ///< null for an op inside a kernel group

  bool has(size_t Operand) const {
    return Operand < Operands.size() && Operands[Operand].Present;
  }
};

struct OpRecord {
  std::string_view Name;
  /// InvalidProgram unless the kernel touches nothing but its operands and
  /// results. It sees untrusted counts, shapes and attributes.
  Status (*Check)(const OpCall &Op);
  /// Whether result number `Result` may be the very bytes of operand number
  /// `Operand`. Asked after Check and for equal byte sizes only.
  bool (*MayReuse)(const OpCall &Op, size_t Result, size_t Operand);
  /// Runs a checked op on the host.
  Status (*Run)(const OpCall &Op, Context &C);
};

/// The record of an op, or null.
const OpRecord *findOp(std::string_view Name);

/// All records, by name.
std::vector<const OpRecord *> getAllOps();

/// Tables of the files under kernels/.
std::span<const OpRecord> getElementwiseOps();
std::span<const OpRecord> getRandomOps();
std::span<const OpRecord> getShapeOps();
std::span<const OpRecord> getReductionOps();
std::span<const OpRecord> getMatmulOps();
std::span<const OpRecord> getNormOps();
std::span<const OpRecord> getAttentionOps();
std::span<const OpRecord> getEmbeddingOps();
std::span<const OpRecord> getLossOps();
std::span<const OpRecord> getOptimizerOps();
std::span<const OpRecord> getGroupOps();

//===----------------------------------------------------------------------===//
// Helpers of checks
//===----------------------------------------------------------------------===//

/// Leaves a check with InvalidProgram unless `Condition` holds.
#define REMAT_REQUIRE(Condition, Message)                                      \
  if (!(Condition))                                                            \
  return Error(ErrorCode::InvalidProgram, Message)

/// Leaves a function with the error of `Call`, if it has one.
#define REMAT_TRY(Call)                                                        \
  if (Status TheStatus = (Call); !TheStatus)                                   \
  return TheStatus.getError()

/// Requires these numbers of operands and results, all of them present.
Status checkCounts(const OpCall &Op, size_t Operands, size_t Results);
/// The same, where operands from `Required` on may be missing.
Status checkOptionalCounts(const OpCall &Op, size_t Required, size_t Operands,
                           size_t Results);
Status checkFloat(const Value &V);
Status checkInteger(const Value &V);
Status checkType(const Value &V, DType Type);
Status checkShape(const Value &V, std::span<const int64_t> Shape);
Status checkSameType(const Value &A, const Value &B);
/// A tensor of rank 0 of `Type`.
Status checkScalar(const Value &V, DType Type);

/// "[2, 3]".
std::string formatShape(std::span<const int64_t> Shape);
int64_t countElements(std::span<const int64_t> Shape);
/// Whether `From` repeats to `To` by NumPy's rule.
bool broadcastsTo(std::span<const int64_t> From, std::span<const int64_t> To);
/// The shape without its last dimension.
inline std::span<const int64_t> dropLast(const Value &V) {
  return std::span(V.Shape).first(V.Shape.size() - 1);
}

/// MayReuse of ops that work in place nowhere.
bool reusesNothing(const OpCall &, size_t, size_t);
/// MayReuse of elementwise ops: element i of any operand of the same shape and
/// width of elements is read before element i of a result is written.
bool reusesElementwise(const OpCall &Op, size_t Result, size_t Operand);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_HOST_OP_H
