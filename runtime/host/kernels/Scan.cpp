//===- Scan.cpp - the host's loops ----------------------------------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "remat/runtime/Loop.h"
#include <cstring>

using namespace remat::runtime;

namespace {

/// The steps of a body, with addresses that change from step to step.
class Body {
public:
  Body(const Program &P, Context &C) : P(P), C(C) {
    for (const Step &S : P.Steps)
      Calls.push_back(makeCall(P, S));
  }

  /// Runs all steps once at the addresses of `Frame`.
  Status run(const LoopFrame &Frame);

private:
  static void copy(const std::vector<LoopFrame::Copy> &Rows) {
    for (const LoopFrame::Copy &Row : Rows)
      std::memcpy(Row.To, Row.From, Row.Bytes);
  }
  void poison(const LoopFrame &Frame, const std::vector<ByteRange> &Ranges) {
    if (C.poisons())
      for (const ByteRange &R : Ranges)
        std::memset(Frame.at(R.Offset), 0xff, R.Bytes);
  }

  const Program &P;
  Context &C;
  std::vector<OpCall> Calls;
};

} // namespace

Status Body::run(const LoopFrame &Frame) {
  poison(Frame, P.UnusedAtStart);
  copy(Frame.getRowsIn());
  for (size_t I = 0; I < Calls.size(); ++I) {
    const Step &S = P.Steps[I];
    bindCall(Calls[I], P, [&](uint64_t Offset) { return Frame.at(Offset); });
    if (Status Ran = findKernel(S.Op)->Run(Calls[I], C); !Ran)
      return Ran.getError().within("operation " + std::to_string(I) + " (" +
                                   S.Op + ") of the body");
    poison(Frame, S.Freed);
  }
  copy(Frame.getRowsOut());
  return {};
}

static Status runScan(const OpCall &Op, Context &C) {
  std::vector<char *> Operands, Results;
  for (const Value &V : Op.Operands)
    Operands.push_back(V.Data);
  for (const Value &V : Op.Results)
    Results.push_back(V.Data);
  LoopFrame Frame(*Op.TheStep, Operands, Results, Op.Workspace);
  for (const LoopFrame::Copy &Carry : Frame.getBegin())
    std::memcpy(Carry.To, Carry.From, Carry.Bytes);
  Body TheBody(*Op.TheStep->TheLoop->Body, C);
  for (int64_t I = 0; I < Frame.getNumSteps(); ++I) {
    Frame.enter(I);
    REMAT_TRY(TheBody.run(Frame));
  }
  return {};
}

std::span<const HostKernel> remat::runtime::getLoopKernels() {
  static const HostKernel Kernels[] = {
      {"scan", runScan},
  };
  return Kernels;
}
