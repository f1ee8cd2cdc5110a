//===- Waiting.cpp - Steps that wait for those that they run after --------===//
#include "Model/Model.h"

using namespace remat::solver;

namespace {

/// Puts steps in order. What an op waits for never waits for that op, since the
/// base order keeps both what is read and `Op::After`: all steps come out.
class Waiting {
public:
  Waiting(const Model &M, const Plan &S)
      : M(M), Left(M.numOps(), 0), Ran(M.numOps(), false) {
    for (const Step &X : S.Sequence)
      ++Left[X.Op];
    for (const Step &X : S.Sequence) {
      bool Ready = mayRun(X.Op);
      (Ready ? Out.Sequence : Held).push_back(X);
      if (Ready && run(X.Op))
        release();
    }
  }

  Plan Out;

private:
  const Model &M;
  /// Per op: runs to come.
  std::vector<int32_t> Left;
  std::vector<bool> Ran;
  std::vector<Step> Held;

  bool mayRun(OpId O) const {
    for (OpId Earlier : M.P.Ops[O].After)
      if (Left[Earlier] > 0)
        return false;
    if (M.WaitsForTurn[O] && !Ran[M.Turn])
      return false;
    for (ValueId V : M.P.Ops[O].Inputs)
      if (OpId By = M.P.Values[V].Producer; By != None && !Ran[By])
        return false;
    return true;
  }

  /// Returns true if others may go on now.
  bool run(OpId O) {
    --Left[O];
    bool First = !Ran[O];
    Ran[O] = true;
    return !Held.empty() && (First || Left[O] == 0);
  }

  void release() {
    for (bool Changed = true; Changed;) {
      Changed = false;
      std::vector<Step> Before = std::move(Held);
      Held.clear();
      for (const Step &X : Before) {
        bool Ready = mayRun(X.Op);
        (Ready ? Out.Sequence : Held).push_back(X);
        if (Ready)
          Changed |= run(X.Op);
      }
    }
  }
};

} // namespace

Plan remat::solver::withWaiting(const Model &M, Plan S) {
  if (!M.AnyAfter)
    return S;
  return Waiting(M, S).Out;
}

std::vector<OpId> remat::solver::withWaiting(const Model &M,
                                             const std::vector<OpId> &Order) {
  if (!M.AnyAfter)
    return Order;
  Plan S;
  for (OpId O : Order)
    S.Sequence.push_back({O, M.Fastest[O]});
  return orderOf(M, withWaiting(M, std::move(S)));
}
