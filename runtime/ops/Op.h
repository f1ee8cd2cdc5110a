//===- Op.h - what checks and kernels see of an op --------------*- C++ -*-===//
//
// Each op of the dialect has one signature: its name, the check that a program
// must pass before any device runs it, and which operands its results may
// overwrite. Devices have their kernels in folders of their own.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_OPS_OP_H
#define REMAT_RUNTIME_OPS_OP_H

#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remat::runtime {

/// A tensor as an op sees it. `Data` is null while an op is only checked.
struct Value {
  bool Present = true; ///< false: an optional operand that is not there
  DType Type = DType::F32;
  std::vector<int64_t> Shape;
  int64_t NumElements = 0;
  char *Data = nullptr;
  bool InHalves = false; ///< see Program.fbs

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
  char *Workspace = nullptr;     ///< of the step, once bound

  bool has(size_t Operand) const {
    return Operand < Operands.size() && Operands[Operand].Present;
  }
};

struct OpSignature {
  std::string_view Name;
  /// InvalidProgram unless a kernel touches nothing but its operands and
  /// results. It sees untrusted counts, shapes and attributes.
  Status (*Check)(const OpCall &Op);
  /// Whether result number `Result` may be the very bytes of operand number
  /// `Operand`. Asked after Check and for equal byte sizes only.
  bool (*MayReuse)(const OpCall &Op, size_t Result, size_t Operand);
  /// Whether Check allows tensors in halves where the kernel takes them so.
  bool KnowsHalves = false;
};

/// The signature of an op, or null.
const OpSignature *findOp(std::string_view Name);

/// All signatures, by name.
std::vector<const OpSignature *> getAllOps();

/// The call of a step, without addresses.
OpCall makeCall(const Program &P, const Step &S);

/// Sets the addresses of the call of a step: `At` says that of a byte of the
/// arena.
template <typename Function>
void bindCall(OpCall &Call, const Program &P, Function At) {
  const Step &S = *Call.TheStep;
  for (size_t I = 0; I < S.Operands.size(); ++I)
    if (S.Operands[I] != NoTensor)
      Call.Operands[I].Data = At(P.Tensors[S.Operands[I]].Offset);
  for (size_t I = 0; I < S.Results.size(); ++I)
    Call.Results[I].Data = At(P.Tensors[S.Results[I]].Offset);
  if (S.Workspace.Bytes)
    Call.Workspace = At(S.Workspace.Offset);
}

/// Those of the families, one file each.
std::span<const OpSignature> getElementwiseOps();
std::span<const OpSignature> getRandomOps();
std::span<const OpSignature> getShapeOps();
std::span<const OpSignature> getReductionOps();
std::span<const OpSignature> getMatmulOps();
std::span<const OpSignature> getMomentOps();
std::span<const OpSignature> getNormOps();
std::span<const OpSignature> getAttentionOps();
std::span<const OpSignature> getEmbeddingOps();
std::span<const OpSignature> getIndexOps();
std::span<const OpSignature> getLossOps();
std::span<const OpSignature> getOptimizerOps();
std::span<const OpSignature> getWindowOps();
std::span<const OpSignature> getGroupOps();
std::span<const OpSignature> getLoopOps();
std::span<const OpSignature> getCollectiveOps();

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

#endif // REMAT_RUNTIME_OPS_OP_H
