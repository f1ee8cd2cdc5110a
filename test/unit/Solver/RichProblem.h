//===- RichProblem.h - Random problems at the limits of the format --------===//
#ifndef REMAT_TEST_UNIT_SOLVER_RICHPROBLEM_H
#define REMAT_TEST_UNIT_SOLVER_RICHPROBLEM_H

#include "RandomProblem.h"

#include <algorithm>
#include <cmath>

namespace remat::solver::test {

/// Builds one problem: a forward part and a backward part that reads it, or a
/// graph without any shape. Each problem draws its own mix of features, so that
/// some have only aliases, some only zero bytes, some numbers near the limit.
class RichProblem {
public:
  RichProblem(Rng &R, int NumOps) : R(R) {
    for (int *Share : {&AliasShare, &ReuseShare, &ChoiceShare, &PolicyShare,
                       &OnceShare, &ZeroShare, &IdleShare})
      *Share = R.chance(40) ? 0 : R.below(60);
    OnceShare /= 3;
    BytesMode = R.below(4);
    TimeMode = R.below(4);
    bool Training = R.chance(60);
    for (int I = R.below(4); I > 0; --I)
      Known.push_back(P.addResident("w" + std::to_string(I), bytes()));
    int Forward = Training ? NumOps / 2 : NumOps;
    for (int I = 0; I < Forward; ++I)
      addOp(I, Known.size());
    for (int I = Forward; I < NumOps; ++I)
      addOp(I, Known.size() * size_t(NumOps - I) / NumOps);
    finish();
  }
  Problem P;

private:
  Rng &R;
  int AliasShare = 0, ReuseShare = 0, ChoiceShare = 0, PolicyShare = 0;
  int OnceShare = 0, ZeroShare = 0, IdleShare = 0, BytesMode = 0, TimeMode = 0;
  std::vector<ValueId> Known;

  int64_t bytes() {
    if (R.chance(ZeroShare))
      return 0;
    switch (BytesMode) {
    case 0:
      return R.below(9);
    case 1:
      return int64_t(1) << R.below(12);
    case 2:
      return (int64_t(1) << 48) - R.below(3);
    default:
      return R.below(1'000'000'000);
    }
  }

  double time() {
    if (R.chance(ZeroShare))
      return 0;
    switch (TimeMode) {
    case 0:
      return R.below(9);
    case 1:
      return R.below(1000) * 0.1;
    case 2:
      return 1e12 + R.below(1000);
    default:
      return std::ldexp(1.0 + R.below(8), -R.below(60));
    }
  }

  /// Reads recent values mostly; `Around` is where else the op looks.
  std::vector<ValueId> inputs(size_t Around) {
    std::vector<ValueId> In;
    for (int K = R.below(4); K > 0 && !Known.empty(); --K) {
      size_t From = R.chance(50) ? Known.size() : std::max<size_t>(1, Around);
      size_t Back = std::min<size_t>(From, R.chance(80) ? 3 : From);
      In.push_back(Known[From - 1 - R.below(int(Back))]);
    }
    return In; // the same value may stand twice
  }

  void addOp(int I, size_t Around) {
    std::vector<ValueId> In = inputs(Around);
    OpId O = P.addOp("o" + std::to_string(I), time(), In,
                     R.chance(20) ? bytes() : 0);
    P.Ops[O].Once = R.chance(OnceShare);
    if (R.chance(ChoiceShare))
      for (int K = 1 + R.below(3); K > 0; --K)
        P.Ops[O].Choices.push_back(
            {"k" + std::to_string(K), time(), R.chance(40) ? 0 : bytes()});
    for (int K = R.chance(IdleShare) ? 0 : 1 + R.below(8) / 6; K > 0; --K)
      addOutput(O, In);
  }

  void addOutput(OpId O, const std::vector<ValueId> &In) {
    ValueId V = P.addOutput(O, "v" + std::to_string(P.Values.size()), bytes());
    Value &X = P.Values[V];
    // The newest input first: chains of aliases and of reuse come of it.
    ValueId Of = In.empty()     ? None
                 : R.chance(50) ? *std::max_element(In.begin(), In.end())
                                : In[R.below(int(In.size()))];
    if (Of != None && R.chance(AliasShare)) {
      X.Alias = Of;
      X.Bytes = R.chance(80) ? 0 : X.Bytes;
    } else if (Of != None && R.chance(ReuseShare)) {
      X.Reuses = Of;
    }
    if (R.chance(PolicyShare))
      X.Policy = Keep(R.below(4));
    Known.push_back(V);
  }

  /// Takes back policies that contradict, and picks results.
  void finish() {
    for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
      if (P.runsOnce(O))
        for (ValueId V : P.Ops[O].Outputs)
          if (P.Values[V].Policy == Keep::Never)
            P.Values[V].Policy = Keep::Free;
    for (ValueId V : Known)
      if (P.Values[V].Policy != Keep::Never && R.chance(10))
        P.Results.push_back(V);
    if (int Share = R.chance(50) ? 0 : R.below(50))
      addRandomAfter(R, P, Share);
    // What ends the runs of an op before the turn leaves no other way.
    for (Value &V : P.Values)
      if (V.Policy == Keep::Never && check(P))
        V.Policy = Keep::Free;
  }
};

} // namespace remat::solver::test

#endif // REMAT_TEST_UNIT_SOLVER_RICHPROBLEM_H
