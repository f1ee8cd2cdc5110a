//===- Explain.cpp - Why a plan runs an op again, or keeps a value --------===//
#include "remat/Solver/Explain.h"

#include "Problem/Peak.h"

#include <algorithm>

using namespace remat::solver;

namespace {

/// Which run of an op each read means.
class Bindings {
public:
  Bindings(const Problem &P, const Plan &S) : P(P), S(S) {
    std::vector<int32_t> Newest(P.Ops.size(), None);
    Before.assign(S.Sequence.size(), None);
    Sources.resize(S.Sequence.size());
    Readers.resize(S.Sequence.size());
    for (int32_t I = 0; I < int32_t(S.Sequence.size()); ++I) {
      OpId O = S.Sequence[I].Op;
      for (ValueId V : P.Ops[O].Inputs)
        if (OpId Maker = P.Values[V].Producer; Maker != None) {
          Sources[I].push_back(Newest[Maker]);
          Readers[Newest[Maker]].push_back({I, V});
        }
      Before[I] = Newest[O];
      Newest[O] = I;
    }
    Last = std::move(Newest);
  }

  /// A step reads a value.
  struct Read {
    int32_t Step;
    ValueId Value;
  };

  bool isAgain(int32_t Step) const { return Before[Step] != None; }
  std::vector<int32_t> readersOf(int32_t Step) const;
  std::vector<int32_t> chainOf(int32_t Step) const;
  std::vector<int32_t> readsOf(int32_t Step, ValueId V) const;

  /// Per step: the op's run before it, the steps that made what it reads, and
  /// who reads what it makes. Per op: its last run.
  std::vector<int32_t> Before, Last;
  std::vector<std::vector<int32_t>> Sources;
  std::vector<std::vector<Read>> Readers;

private:
  const Problem &P;
  const Plan &S;
};

void sortDistinct(std::vector<int32_t> &Steps) {
  std::sort(Steps.begin(), Steps.end());
  Steps.erase(std::unique(Steps.begin(), Steps.end()), Steps.end());
}

std::vector<int32_t> Bindings::readersOf(int32_t Step) const {
  std::vector<int32_t> Steps;
  for (const Read &R : Readers[Step])
    Steps.push_back(R.Step);
  sortDistinct(Steps);
  return Steps;
}

std::vector<int32_t> Bindings::chainOf(int32_t Step) const {
  std::vector<int32_t> Chain, Open = {Step};
  std::vector<bool> Seen(S.Sequence.size(), false);
  Seen[Step] = true;
  while (!Open.empty()) {
    int32_t I = Open.back();
    Open.pop_back();
    Chain.push_back(I);
    for (int32_t From : Sources[I])
      if (isAgain(From) && !Seen[From]) {
        Seen[From] = true;
        Open.push_back(From);
      }
  }
  std::sort(Chain.begin(), Chain.end());
  return Chain;
}

/// The steps that read the value that a step made, or an alias of it.
std::vector<int32_t> Bindings::readsOf(int32_t Step, ValueId V) const {
  std::vector<int32_t> Steps;
  std::vector<std::pair<int32_t, ValueId>> Open = {{Step, V}};
  while (!Open.empty()) {
    auto [At, Of] = Open.back();
    Open.pop_back();
    for (const Read &R : Readers[At]) {
      if (R.Value != Of)
        continue;
      Steps.push_back(R.Step);
      for (ValueId Made : P.Ops[S.Sequence[R.Step].Op].Outputs)
        if (P.Values[Made].Alias == Of)
          Open.push_back({R.Step, Made});
    }
  }
  sortDistinct(Steps);
  return Steps;
}

class Explainer {
public:
  Explainer(const Problem &P, const Plan &S)
      : P(P), S(S), Bound(P, S), Measured(simulate(P, S)) {
    OpId Op = turnOf(P);
    while (Turn + 1 < int32_t(S.Sequence.size()) && S.Sequence[Turn].Op != Op)
      ++Turn;
  }

  Explanation run();

private:
  bool makesAliasesOnly(OpId O) const;
  bool has(OpId O, Keep Policy) const;
  Recomputation explainRun(int32_t Step) const;
  KeptValue explainKept(ValueId V, int32_t From, int32_t Until) const;
  void addKept(int32_t Step, Explanation &E) const;
  bool isResult(ValueId V, int32_t From) const;

  const Problem &P;
  const Plan &S;
  Bindings Bound;
  VerifyResult Measured;
  int32_t Turn = 0;
};

bool Explainer::makesAliasesOnly(OpId O) const {
  const std::vector<ValueId> &Made = P.Ops[O].Outputs;
  return std::all_of(Made.begin(), Made.end(),
                     [&](ValueId V) { return P.Values[V].Alias != None; });
}

bool Explainer::has(OpId O, Keep Policy) const {
  const std::vector<ValueId> &Made = P.Ops[O].Outputs;
  return std::any_of(Made.begin(), Made.end(),
                     [&](ValueId V) { return P.Values[V].Policy == Policy; });
}

Recomputation Explainer::explainRun(int32_t Step) const {
  Recomputation R;
  R.Step = Step;
  auto [O, Choice] = S.Sequence[Step];
  R.Op = O;
  R.Before = Bound.Before[Step];
  R.Readers = Bound.readersOf(Step);
  R.Time = P.timeOf(O, Choice);
  R.Chain = Bound.chainOf(Step);
  for (int32_t I : R.Chain)
    R.ChainTime += P.timeOf(S.Sequence[I].Op, S.Sequence[I].Choice);
  R.IsDemanded = has(O, Keep::Never);

  Plan Without = S;
  Without.Sequence.erase(Without.Sequence.begin() + Step);
  VerifyResult Kept = simulate(P, Without);
  R.PeakWithout = Kept.Peak;
  for (int32_t I = R.Before + 1; I < Step; ++I) {
    int64_t Rise = Kept.Memory[I] - Measured.Memory[I];
    if (Rise > R.Saved ||
        (Rise > 0 && Rise == R.Saved && Measured.Memory[I] > R.Bytes)) {
      R.Relieves = I;
      R.Saved = Rise;
      R.Bytes = Measured.Memory[I];
    }
  }
  return R;
}

bool Explainer::isResult(ValueId V, int32_t From) const {
  // A result is what the last run made; it may be an alias of the value.
  return std::any_of(P.Results.begin(), P.Results.end(), [&](ValueId Result) {
    ValueId Head = Result;
    while (P.Values[Head].Alias != None)
      Head = P.Values[Head].Alias;
    return Head == V && Bound.Last[P.Values[V].Producer] == From;
  });
}

KeptValue Explainer::explainKept(ValueId V, int32_t From, int32_t Until) const {
  KeptValue K;
  K.Value = V;
  K.From = From;
  K.Until = Until;
  OpId O = P.Values[V].Producer;
  int32_t Choice = P.fastestChoice(O);
  K.Time = P.timeOf(O, Choice);
  if (has(O, Keep::Must)) {
    K.Reason = KeepReason::Demanded;
    return K;
  }
  if (isResult(V, From)) {
    K.Reason = KeepReason::Result;
    return K;
  }
  Plan Again = S;
  Again.Sequence.insert(Again.Sequence.begin() + Until, Step{O, Choice});
  VerifyResult Repeated = simulate(P, Again);
  if (P.Ops[O].Once || !Repeated.Error.empty()) {
    K.Reason = KeepReason::RunsOnce;
    return K;
  }
  int32_t Peak = Measured.PeakStep;
  K.FreedAtPeak =
      Measured.Memory[Peak] - Repeated.Memory[Peak < Until ? Peak : Peak + 1];
  K.PeakIfRepeated = Repeated.Peak;
  K.Reason = Repeated.Peak < Measured.Peak ? KeepReason::CostsTime
                                           : KeepReason::PeakStays;
  return K;
}

/// The values that a step makes before the turn for reads after it.
void Explainer::addKept(int32_t Step, Explanation &E) const {
  for (ValueId V : P.Ops[S.Sequence[Step].Op].Outputs) {
    if (P.Values[V].Alias != None || P.Values[V].Bytes == 0)
      continue;
    std::vector<int32_t> Reads = Bound.readsOf(Step, V);
    auto After = std::upper_bound(Reads.begin(), Reads.end(), Turn);
    if (After != Reads.end())
      E.Kept.push_back(explainKept(V, Step, *After));
  }
}

Explanation Explainer::run() {
  Explanation E;
  E.Peak = Measured.Peak;
  E.PeakStep = Measured.PeakStep;
  for (int32_t I = 0; I < int32_t(S.Sequence.size()); ++I) {
    if (Bound.isAgain(I) && !makesAliasesOnly(S.Sequence[I].Op))
      E.Recomputations.push_back(explainRun(I));
    if (I < Turn)
      addKept(I, E);
  }
  return E;
}

} // namespace

std::string_view remat::solver::nameOf(KeepReason Reason) {
  switch (Reason) {
  case KeepReason::Result:
    return "result";
  case KeepReason::Demanded:
    return "demanded";
  case KeepReason::RunsOnce:
    return "runs-once";
  case KeepReason::PeakStays:
    return "peak-stays";
  case KeepReason::CostsTime:
    return "costs-time";
  }
  return "";
}

Explanation remat::solver::explain(const Problem &P, const Plan &S) {
  if (S.Sequence.empty())
    return {};
  return Explainer(P, S).run();
}
