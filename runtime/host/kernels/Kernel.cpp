//===- Kernel.cpp - runs kernel groups ------------------------------------===//

#include "host/Kernel.h"
#include "host/Context.h"
#include "host/Rows.h"
#include "ops/Group.h"
#include "ops/Random.h"

using namespace remat::runtime;

using Kind = GroupNode::Kind;

namespace {

/// One block of a group: positions [First, First + Count) of the space.
class Block {
public:
  Block(const OpCall &Op, const GroupPlan &Plan, int64_t First, int64_t Count,
        char *Scratch)
      : Op(Op), Plan(Plan), First(First), Count(Count), Scratch(Scratch) {}

  void run() {
    for (const GroupNode &N : Plan.Nodes)
      evaluate(N);
    for (size_t I = 0; I < Plan.Yields.size(); ++I)
      if (!Plan.Yields[I].IsSum)
        store(Plan.Yields[I], Op.Results[I]);
  }

private:
  void *getSlot(const GroupNode &N) {
    return Scratch + N.Slot * Plan.getBlockElements() * sizeof(int64_t);
  }
  void *getOperand(const GroupNode &N, size_t I) {
    return getSlot(Plan.Nodes[N.Operands[I]]);
  }
  PhiloxStream getStream(const GroupNode &N, size_t Seed) {
    return PhiloxStream(*static_cast<int64_t *>(getOperand(N, Seed)), N.Id,
                        *static_cast<int64_t *>(getOperand(N, Seed + 1)));
  }

  void evaluate(const GroupNode &N);
  void fill(const GroupNode &N);
  void roll(const GroupNode &N);
  void dropOut(const GroupNode &N);
  void runRows(const GroupNode &N);
  template <typename T> void reduceRows(const GroupNode &N);
  void store(const GroupYield &Y, const Value &Result);

  const OpCall &Op;
  const GroupPlan &Plan;
  int64_t First, Count;
  char *Scratch;
};

void Block::fill(const GroupNode &N) {
  void *Out = getSlot(N);
  if (isFloat(N.Type))
    std::fill_n(static_cast<float *>(Out), Count,
                static_cast<float>(N.ConstantFloat));
  else if (N.Type == DType::I1)
    std::fill_n(static_cast<uint8_t *>(Out), Count, N.ConstantInt != 0);
  else if (N.Type == DType::I32)
    std::fill_n(static_cast<int32_t *>(Out), Count,
                static_cast<int32_t>(N.ConstantInt));
  else
    std::fill_n(static_cast<int64_t *>(Out), Count, N.ConstantInt);
}

void Block::roll(const GroupNode &N) {
  auto *Out = static_cast<char *>(getSlot(N));
  N.Rolled.forRuns(First, Count, [&](int64_t From, int64_t Done, int64_t Run) {
    loadBlock(N.Type, Op.Operands[N.Input].Data, N.W, From, Run,
              Out + Done * getComputeWidth(N.Type));
  });
}

void Block::dropOut(const GroupNode &N) {
  auto *Out = static_cast<float *>(getSlot(N));
  auto *In = static_cast<float *>(getOperand(N, 0));
  DropoutParameters Parameters(N.Probability);
  drawBlock(getStream(N, 1), /*Normal=*/false, N.W, First, Count, Out);
  for (int64_t I = 0; I < Count; ++I)
    Out[I] = Parameters.apply(In[I], Out[I]);
}

template <typename T> void Block::reduceRows(const GroupNode &N) {
  auto *In = static_cast<T *>(getOperand(N, 0));
  auto *Out = static_cast<T *>(getSlot(N));
  for (int64_t I = 0; I < Count; I += Plan.RowLength)
    std::fill_n(Out + I, Plan.RowLength,
                reduceRow(N.Reduce, In + I, Plan.RowLength));
}

void Block::runRows(const GroupNode &N) {
  if (N.TheKind == Kind::Reduce) {
    if (N.Type == DType::I32)
      return reduceRows<int32_t>(N);
    if (N.Type == DType::I64)
      return reduceRows<int64_t>(N);
    return reduceRows<float>(N);
  }
  auto *A = static_cast<float *>(getOperand(N, 0));
  auto *Out = static_cast<float *>(getSlot(N));
  for (int64_t I = 0; I < Count; I += Plan.RowLength)
    if (N.TheKind == Kind::Softmax)
      softmaxRow(A + I, Out + I, Plan.RowLength);
    else
      softmaxBackwardRow(A + I, static_cast<float *>(getOperand(N, 1)) + I,
                         Out + I, Plan.RowLength);
}

void Block::evaluate(const GroupNode &N) {
  void *Out = getSlot(N);
  switch (N.TheKind) {
  case Kind::Input:
    loadBlock(N.Type, Op.Operands[N.Input].Data, N.W, First, Count, Out);
    return;
  case Kind::Roll:
    roll(N);
    return;
  case Kind::Constant:
    fill(N);
    break;
  case Kind::Scalar: {
    const void *In[MaxScalarArity] = {};
    for (size_t I = 0; I < N.Operands.size(); ++I)
      In[I] = getOperand(N, I);
    N.Function(In, Out, Count);
    break;
  }
  case Kind::Copy:
    std::memcpy(Out, getOperand(N, 0), Count * getComputeWidth(N.Type));
    return;
  case Kind::Random:
    drawBlock(getStream(N, 0), N.Normal, N.W, First, Count,
              static_cast<float *>(Out));
    break;
  case Kind::Dropout:
    dropOut(N);
    break;
  case Kind::Reduce:
  case Kind::Softmax:
  case Kind::SoftmaxBackward:
    runRows(N);
    break;
  }
  roundBlock(N.Type, Out, Count);
}

void Block::store(const GroupYield &Y, const Value &Result) {
  const GroupNode &N = Plan.Nodes[Y.Node];
  auto *In = static_cast<char *>(getSlot(N));
  if (Y.Full) {
    storeBlock(Result.Type, Result.Data, First, Count, In);
    return;
  }
  int64_t Width = getComputeWidth(N.Type);
  int64_t Begin = (First + Y.Period - 1) / Y.Period * Y.Period;
  for (int64_t P = Begin; P < First + Count; P += Y.Period)
    if (Y.Repeats.locate(P) == 0)
      storeBlock(Result.Type, Result.Data, N.W.locate(P), 1,
                 In + (P - First) * Width);
}

} // namespace

static Status run(const OpCall &Op, Context &C) {
  Result<GroupPlan> Plan = planGroup(Op);
  if (!Plan)
    return Plan.getError();
  int64_t Elements = Plan->getBlockElements();
  uint64_t Bytes = 0;
  if (__builtin_mul_overflow(uint64_t(Plan->NumSlots) * sizeof(int64_t),
                             uint64_t(Elements), &Bytes))
    return Error(ErrorCode::OutOfMemory, "rows of " + std::to_string(Elements) +
                                             " elements do not fit");
  REMAT_TRY(C.reserveScratch(Bytes));
  int64_t Total = Plan->NumElements;
  C.parallelFor((Total + Elements - 1) / Elements,
                [&](int64_t Task, unsigned Worker) {
                  int64_t First = Task * Elements;
                  Block(Op, *Plan, First, std::min(Elements, Total - First),
                        C.getScratch<char>(Worker))
                      .run();
                });
  for (const GroupSum &Sum : Plan->Sums)
    REMAT_TRY(findKernel("reduce")->Run(makeSumCall(Op, Sum), C));
  return {};
}

std::span<const HostKernel> remat::runtime::getGroupKernels() {
  static const HostKernel Kernels[] = {
      {"kernel", run},
  };
  return Kernels;
}
