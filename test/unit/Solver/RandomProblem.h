//===- RandomProblem.h - Small problems with every feature ----------------===//
#ifndef REMAT_TEST_UNIT_SOLVER_RANDOMPROBLEM_H
#define REMAT_TEST_UNIT_SOLVER_RANDOMPROBLEM_H

#include "remat/Solver/Problem.h"

#include <algorithm>

namespace remat::solver::test {

/// How many of `Count` cases a test looks at. Sanitizers slow the planner down
/// about ten times; with them one of four must do.
constexpr int casesOf(int Count) {
#ifdef REMAT_SANITIZE
  return (Count + 3) / 4;
#else
  return Count;
#endif
}

/// A small generator of its own: the same numbers on every machine.
class Rng {
public:
  explicit Rng(uint64_t Seed) : State(Seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next() {
    State ^= State << 13;
    State ^= State >> 7;
    State ^= State << 17;
    return State * 0x2545F4914F6CDD1Du >> 16;
  }
  int below(int N) { return int(next() % uint64_t(N)); }
  bool chance(int Percent) { return below(100) < Percent; }

private:
  uint64_t State;
};

struct Features {
  int Alias = 10, Reuse = 15, Once = 5, Choices = 10, Policy = 0, Resident = 30;
  /// For each op, how often it runs after another.
  int After = 0;
};

/// Lets ops run after others, which mostly stand near.
inline void addRandomAfter(Rng &R, Problem &P, int Share) {
  for (OpId O = 1; O < OpId(P.Ops.size()); ++O)
    while (R.chance(Share))
      P.addAfter(O, R.chance(60) ? std::max(0, O - 1 - R.below(3))
                                 : OpId(R.below(O)));
}

/// A random graph of ops that read recent values mostly, as steps do.
inline Problem randomProblem(Rng &R, int NumOps, const Features &F = {}) {
  Problem P;
  std::vector<ValueId> Known;
  for (int I = R.chance(F.Resident) ? 1 + R.below(3) : 0; I > 0; --I)
    Known.push_back(P.addResident("w" + std::to_string(I), R.below(6)));
  for (int I = 0; I < NumOps; ++I) {
    std::vector<ValueId> In;
    for (int K = R.below(4); K > 0 && !Known.empty(); --K) {
      int Back = R.chance(60) ? std::min<int>(3, Known.size()) : Known.size();
      In.push_back(Known[Known.size() - 1 - R.below(Back)]);
    }
    OpId O = P.addOp("o" + std::to_string(I), R.below(9), In,
                     R.chance(20) ? R.below(5) : 0);
    P.Ops[O].Once = R.chance(F.Once);
    if (R.chance(F.Choices))
      for (int K = 1 + R.below(3); K > 0; --K)
        P.Ops[O].Choices.push_back(
            {"k" + std::to_string(K), double(R.below(9)), R.below(6)});
    std::vector<ValueId> New;
    for (int K = R.chance(80) ? 1 : R.below(3); K > 0; --K) {
      ValueId V =
          P.addOutput(O, "v" + std::to_string(P.Values.size()), R.below(8));
      if (!In.empty() && R.chance(F.Alias)) {
        P.Values[V].Alias = In[R.below(int(In.size()))];
        P.Values[V].Bytes = 0;
      } else if (!In.empty() && R.chance(F.Reuse)) {
        P.Values[V].Reuses = In[R.below(int(In.size()))];
      }
      if (R.chance(F.Policy))
        P.Values[V].Policy = R.chance(50) ? Keep::Must : Keep::Prefer;
      New.push_back(V);
    }
    Known.insert(Known.end(), New.begin(), New.end());
  }
  for (ValueId V : Known)
    if (P.Values[V].Producer != None && R.chance(10))
      P.Results.push_back(V);
  if (F.After)
    addRandomAfter(R, P, F.After);
  return P;
}

/// A forward chain and a backward one that reads it, with skips.
inline Problem training(Rng &R, int Layers) {
  Problem P;
  std::vector<ValueId> Acts = {P.addResident("x", 3)};
  for (int I = 0; I < Layers; ++I) {
    std::vector<ValueId> In = {Acts.back()};
    if (R.chance(30))
      In.push_back(Acts[R.below(int(Acts.size()))]);
    OpId O = P.addOp("f" + std::to_string(I), 1 + R.below(9), In, R.below(4));
    Acts.push_back(P.addOutput(O, "a" + std::to_string(I), 5 + R.below(20)));
  }
  ValueId Gradient = Acts.back();
  for (int I = Layers; I-- > 0;) {
    OpId O = P.addOp("b" + std::to_string(I), 2 + R.below(9),
                     {Gradient, Acts[I]}, R.below(4));
    Gradient = P.addOutput(O, "g" + std::to_string(I), 5 + R.below(20));
  }
  P.Results = {Gradient};
  return P;
}

} // namespace remat::solver::test

#endif // REMAT_TEST_UNIT_SOLVER_RANDOMPROBLEM_H
