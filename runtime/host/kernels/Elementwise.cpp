//===- Elementwise.cpp - ops that map elements to elements ----------------===//

#include "host/Context.h"
#include "host/Op.h"
#include "host/Scalar.h"

using namespace remat::runtime;

static ScalarFunction resolve(const OpCall &Op) {
  std::vector<DType> Types;
  for (const Value &Operand : Op.Operands)
    Types.push_back(Operand.Type);
  return resolveScalar(Op.Name, Types, Op.Results[0].Type, *Op.Attributes);
}

static Status check(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, *getScalarArity(Op.Name), 1));
  for (const Value &Operand : Op.Operands)
    REMAT_REQUIRE(broadcastsTo(Operand.Shape, Op.Results[0].Shape),
                  "has an operand of shape " + formatShape(Operand.Shape) +
                      " that does not broadcast to " +
                      formatShape(Op.Results[0].Shape));
  REMAT_REQUIRE(bool(resolve(Op)),
                "does not exist for these element types and attributes");
  return {};
}

/// Elements of a task.
static constexpr int64_t Grain = 16 * BlockSize;

static Status run(const OpCall &Op, Context &C) {
  ScalarFunction Function = resolve(Op);
  const Value &Result = Op.Results[0];
  std::vector<Walk> Walks;
  for (const Value &Operand : Op.Operands)
    Walks.push_back(Walk::broadcast(Operand.Shape, Result.Shape));
  constexpr int64_t BufferBytes = BlockSize * sizeof(int64_t);
  REMAT_TRY(C.reserveScratch((Op.Operands.size() + 1) * BufferBytes));

  auto RunBlock = [&](int64_t First, int64_t Count, char *Scratch) {
    const void *In[3] = {};
    for (size_t I = 0; I < Op.Operands.size(); ++I) {
      const Value &Operand = Op.Operands[I];
      if (isStoredAsComputed(Operand.Type) && Walks[I].isContiguous() &&
          Operand.NumElements == Result.NumElements) {
        In[I] = Operand.Data + First * getByteWidth(Operand.Type);
        continue;
      }
      char *Buffer = Scratch + (I + 1) * BufferBytes;
      loadBlock(Operand.Type, Operand.Data, Walks[I], First, Count, Buffer);
      In[I] = Buffer;
    }
    if (isStoredAsComputed(Result.Type)) {
      Function(In, Result.Data + First * getByteWidth(Result.Type), Count);
      return;
    }
    Function(In, Scratch, Count);
    storeBlock(Result.Type, Result.Data, First, Count, Scratch);
  };
  int64_t Total = Result.NumElements;
  C.parallelFor(
      (Total + Grain - 1) / Grain, [&](int64_t Task, unsigned Worker) {
        int64_t Last = std::min(Total, (Task + 1) * Grain);
        for (int64_t First = Task * Grain; First < Last; First += BlockSize)
          RunBlock(First, std::min(BlockSize, Last - First),
                   C.getScratch<char>(Worker));
      });
  return {};
}

std::span<const OpRecord> remat::runtime::getElementwiseOps() {
  static const auto Records = [] {
    std::vector<OpRecord> All;
    for (std::string_view Name : getScalarNames())
      All.push_back({Name, check, reusesElementwise, run});
    return All;
  }();
  return Records;
}
