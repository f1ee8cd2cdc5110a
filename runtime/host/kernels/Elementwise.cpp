//===- Elementwise.cpp - ops that map elements to elements ----------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Scalar.h"

using namespace remat::runtime;

/// Elements of a task.
static constexpr int64_t Grain = 16 * BlockSize;

static Status run(const OpCall &Op, Context &C) {
  ScalarFunction Function = resolveScalar(Op);
  const Value &Result = Op.Results[0];
  std::vector<Walk> Walks;
  for (const Value &Operand : Op.Operands)
    Walks.push_back(Walk::broadcast(Operand.Shape, Result.Shape));
  constexpr int64_t BufferBytes = BlockSize * sizeof(int64_t);
  REMAT_TRY(C.reserveScratch((Op.Operands.size() + 1) * BufferBytes));

  auto RunBlock = [&](int64_t First, int64_t Count, char *Scratch) {
    const void *In[MaxScalarArity] = {};
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

std::span<const HostKernel> remat::runtime::getElementwiseKernels() {
  static const auto Kernels = [] {
    std::vector<HostKernel> All;
    for (std::string_view Name : getScalarNames())
      All.push_back({Name, run});
    return All;
  }();
  return Kernels;
}
