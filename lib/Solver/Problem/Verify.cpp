//===- Verify.cpp - Independent simulation of a plan ----------------------===//
//
// Written from the rules of the exchange format alone. It shares nothing with
// the solvers, so that an error there cannot hide here.
//
//===----------------------------------------------------------------------===//
#include "remat/Solver/Problem.h"

#include "Problem/Peak.h"

#include <algorithm>

using namespace remat::solver;

namespace {

/// One computation of a value, or a resident value (Birth = -1).
struct Instance {
  ValueId Value;
  int32_t Birth;
  /// Last step that reads this very instance; its birth when none does.
  int32_t LastRead;
  /// The instance whose bytes it lives in: itself unless it is an alias.
  int32_t Storage;
  /// Of a storage: the last step that touches it or an alias of it.
  int32_t End;
  /// Of a storage: the bytes it adds to what is in use, and, when it sits in a
  /// resident value's place, how large that place is.
  int64_t Own = 0;
  int64_t Place = 0;
  bool InPlaceOfResident = false;
};

class Simulation {
public:
  Simulation(const Problem &P, const Plan &S) : P(P), S(S) {}

  bool run(VerifyResult &R) {
    Steps = int32_t(S.Sequence.size());
    if (!checkSteps(R) || !checkAfter(R) || !bind(R) || !bindResults(R))
      return false;
    findEnds();
    measure(R);
    return true;
  }

  bool checkNever(VerifyResult &R, OpId Turn);
  void releases(std::vector<std::vector<ValueId>> &Out) const;

private:
  const Problem &P;
  const Plan &S;
  int32_t Steps = 0;
  std::vector<Instance> Instances;
  /// Newest instance of each value while binding.
  std::vector<int32_t> Newest;
  /// Per step: the instances it reads, in the order of the op's inputs, and
  /// those it makes.
  std::vector<std::vector<int32_t>> Reads, Makes;
  /// Per storage instance: the step's output that took it over.
  std::vector<bool> TakenOver;

  std::string at(int32_t Step) const {
    std::string Text = "step " + std::to_string(Step);
    if (OpId O = S.Sequence[Step].Op; O >= 0 && O < OpId(P.Ops.size()))
      Text += " ('" + P.Ops[O].Name + "')";
    return Text;
  }
  bool fail(VerifyResult &R, std::string Text) const {
    R.Error = std::move(Text);
    return false;
  }
  int32_t newInstance(ValueId V, int32_t Birth) {
    int32_t Id = int32_t(Instances.size());
    Instances.push_back({V, Birth, Birth, Id, Birth});
    Newest[V] = Id;
    return Id;
  }

  bool checkSteps(VerifyResult &R) const;
  bool checkAfter(VerifyResult &R) const;
  bool bind(VerifyResult &R);
  bool bindResults(VerifyResult &R);
  void findEnds();
  void measure(VerifyResult &R);
  __int128 place(int32_t Step);
  void recordPeak(VerifyResult &R) const;
};

bool Simulation::checkSteps(VerifyResult &R) const {
  std::vector<int32_t> Runs(P.Ops.size(), 0);
  for (int32_t I = 0; I < Steps; ++I) {
    auto [O, C] = S.Sequence[I];
    if (O < 0 || O >= OpId(P.Ops.size()))
      return fail(R, at(I) + " names an unknown op");
    if (C < 0 || size_t(C) >= P.numChoices(O))
      return fail(R, at(I) + " names choice " + std::to_string(C) + " of " +
                         std::to_string(P.numChoices(O)));
    if (++Runs[O] > 1 && P.Ops[O].Once)
      return fail(R, at(I) + " runs an op again that may run only once");
    if (Runs[O] > 1 && P.runsOnce(O))
      return fail(R, at(I) + " recomputes a value that must be kept");
  }
  for (size_t O = 0; O < P.Ops.size(); ++O)
    if (!Runs[O])
      return fail(R, "op '" + P.Ops[O].Name + "' never runs");
  return true;
}

bool Simulation::checkAfter(VerifyResult &R) const {
  std::vector<int32_t> Last(P.Ops.size(), None);
  for (int32_t I = 0; I < Steps; ++I)
    Last[S.Sequence[I].Op] = I;
  for (int32_t I = 0; I < Steps; ++I)
    for (OpId Earlier : P.Ops[S.Sequence[I].Op].After)
      if (Last[Earlier] > I)
        return fail(R, at(I) + " runs before " + at(Last[Earlier]) +
                           ", but must run after every instance of '" +
                           P.Ops[Earlier].Name + "'");
  return true;
}

bool Simulation::bind(VerifyResult &R) {
  Newest.assign(P.Values.size(), None);
  Reads.resize(Steps);
  Makes.resize(Steps);
  for (ValueId V = 0; V < ValueId(P.Values.size()); ++V)
    if (P.Values[V].Producer == None)
      newInstance(V, -1);
  for (int32_t I = 0; I < Steps; ++I) {
    const Op &O = P.Ops[S.Sequence[I].Op];
    for (ValueId V : O.Inputs) {
      if (Newest[V] == None)
        return fail(R, at(I) + " reads '" + P.Values[V].Name +
                           "', which was not made before");
      Instances[Newest[V]].LastRead = I;
      Reads[I].push_back(Newest[V]);
    }
    for (ValueId V : O.Outputs) {
      int32_t Shared = None;
      for (size_t K = 0; K < O.Inputs.size(); ++K)
        if (O.Inputs[K] == P.Values[V].Alias)
          Shared = Instances[Reads[I][K]].Storage;
      int32_t Id = newInstance(V, I);
      Makes[I].push_back(Id);
      if (Shared != None)
        Instances[Id].Storage = Shared;
    }
  }
  return true;
}

bool Simulation::bindResults(VerifyResult &R) {
  for (ValueId V : P.Results) {
    if (Newest[V] == None)
      return fail(R, "result '" + P.Values[V].Name + "' was not made");
    Instances[Newest[V]].LastRead = Steps;
  }
  return true;
}

void Simulation::findEnds() {
  for (const Instance &I : Instances) {
    int32_t &End = Instances[I.Storage].End;
    End = std::max(End, I.LastRead);
  }
}

/// Gives the step's outputs their bytes. Returns what taking over the storage
/// of dying inputs saves at this step.
__int128 Simulation::place(int32_t Step) {
  const Op &O = P.Ops[S.Sequence[Step].Op];
  __int128 Saved = 0;
  for (int32_t Id : Makes[Step]) {
    Instance &Made = Instances[Id];
    const Value &V = P.Values[Made.Value];
    if (V.Alias != None)
      continue;
    Made.Own = V.Bytes;
    if (V.Reuses == None)
      continue;
    size_t K = std::find(O.Inputs.begin(), O.Inputs.end(), V.Reuses) -
               O.Inputs.begin();
    int32_t From = Instances[Reads[Step][K]].Storage;
    const Instance &Old = Instances[From];
    if (Old.End != Step || TakenOver[From])
      continue;
    if (!Old.InPlaceOfResident) {
      TakenOver[From] = true;
      Saved += std::min(Old.Own, V.Bytes);
    } else if (V.Bytes <= Old.Place) {
      TakenOver[From] = true;
      Made.Own = 0;
      Made.Place = Old.Place;
      Made.InPlaceOfResident = true;
    }
  }
  return Saved;
}

void Simulation::measure(VerifyResult &R) {
  constexpr __int128 Limit = INT64_MAX;
  TakenOver.assign(Instances.size(), false);
  std::vector<std::vector<int32_t>> Dying(Steps + 1);
  __int128 Live = 0;
  for (size_t I = 0; I < Instances.size(); ++I) {
    Instance &X = Instances[I];
    if (X.Storage != int32_t(I))
      continue;
    if (X.Birth < 0) {
      X.Own = X.Place = P.Values[X.Value].Bytes;
      X.InPlaceOfResident = true;
      Live += X.Own;
    } else {
      Dying[X.End].push_back(int32_t(I));
    }
  }
  R.Peak = int64_t(std::min(Live, Limit));
  R.Memory.resize(Steps);
  for (int32_t I = 0; I < Steps; ++I) {
    auto [O, C] = S.Sequence[I];
    __int128 Saved = place(I);
    for (int32_t Id : Makes[I])
      if (Instances[Id].Storage == Id)
        Live += Instances[Id].Own;
    __int128 Used = std::min(Live - Saved + P.workspaceOf(O, C), Limit);
    R.Memory[I] = int64_t(Used);
    R.Time += P.timeOf(O, C);
    if (R.PeakStep == None || Used > R.Peak) {
      R.Peak = std::max(R.Peak, int64_t(Used));
      R.PeakStep = I;
    }
    for (int32_t Id : Dying[I])
      Live -= Instances[Id].Own;
  }
  recordPeak(R);
}

void Simulation::recordPeak(VerifyResult &R) const {
  for (size_t I = 0; I < Instances.size(); ++I) {
    const Instance &X = Instances[I];
    bool Counts = X.Storage == int32_t(I) && X.Own > 0;
    bool Here = X.Birth < 0 || (R.PeakStep != None && X.Birth <= R.PeakStep &&
                                X.End >= R.PeakStep);
    if (Counts && Here)
      R.LiveAtPeak.push_back(X.Value);
  }
  std::sort(R.LiveAtPeak.begin(), R.LiveAtPeak.end(),
            [&](ValueId A, ValueId B) {
              int64_t X = P.Values[A].Bytes, Y = P.Values[B].Bytes;
              return X != Y ? X > Y : A < B;
            });
  R.LiveAtPeak.erase(std::unique(R.LiveAtPeak.begin(), R.LiveAtPeak.end()),
                     R.LiveAtPeak.end());
}

bool Simulation::checkNever(VerifyResult &R, OpId Turn) {
  int32_t TurnStep = 0;
  while (S.Sequence[TurnStep].Op != Turn)
    ++TurnStep;
  for (const Instance &X : Instances)
    if (P.Values[X.Value].Policy == Keep::Never && X.Birth < TurnStep &&
        X.LastRead > TurnStep)
      return fail(R, at(X.LastRead) + " reads '" + P.Values[X.Value].Name +
                         "', which must not be kept beyond " + at(TurnStep));
  return true;
}

void Simulation::releases(std::vector<std::vector<ValueId>> &Out) const {
  Out.resize(Steps);
  for (size_t I = 0; I < Instances.size(); ++I) {
    const Instance &X = Instances[I];
    if (X.Storage == int32_t(I) && X.Birth >= 0 && X.End < Steps &&
        !TakenOver[I])
      Out[X.End].push_back(X.Value);
  }
}

} // namespace

OpId remat::solver::turnOf(const Problem &P) {
  Plan Base = basePlan(P);
  VerifyResult R;
  if (!Simulation(P, Base).run(R))
    return None;
  OpId Best = None;
  int64_t Most = -1;
  for (OpId O = 0; O < OpId(P.Ops.size()); ++O) {
    int64_t Held = R.Memory[O] - P.workspaceOf(O, Base.Sequence[O].Choice);
    if (Held > Most) {
      Most = Held;
      Best = O;
    }
  }
  return Best;
}

VerifyResult remat::solver::simulate(const Problem &P, const Plan &S) {
  VerifyResult R;
  Simulation(P, S).run(R);
  return R;
}

int64_t remat::solver::peakOf(const Problem &P, const Plan &S) {
  return simulate(P, S).Peak;
}

VerifyResult remat::solver::verify(const Problem &P, const Plan &S,
                                   int64_t Budget) {
  VerifyResult R;
  if (std::optional<std::string> Bad = check(P)) {
    R.Error = "the problem is malformed: " + *Bad;
    return R;
  }
  if (S.Sequence.size() > size_t(INT32_MAX) - 1) {
    R.Error = "the plan is too long";
    return R;
  }
  Simulation Sim(P, S);
  if (!Sim.run(R))
    return R;
  bool AnyNever =
      std::any_of(P.Values.begin(), P.Values.end(),
                  [](const Value &V) { return V.Policy == Keep::Never; });
  if (AnyNever && !Sim.checkNever(R, turnOf(P)))
    return R;
  if (R.Peak > Budget) {
    R.Error = "the plan needs " + std::to_string(R.Peak) + " bytes";
    if (R.PeakStep != None)
      R.Error += " at step " + std::to_string(R.PeakStep) + " ('" +
                 P.Ops[S.Sequence[R.PeakStep].Op].Name + "')";
    R.Error += ", the budget is " + std::to_string(Budget);
    R.OverBudget = true;
    return R;
  }
  R.Ok = true;
  return R;
}

std::vector<std::vector<ValueId>> remat::solver::releasesOf(const Problem &P,
                                                            const Plan &S) {
  std::vector<std::vector<ValueId>> Out;
  VerifyResult R;
  Simulation Sim(P, S);
  if (Sim.run(R))
    Sim.releases(Out);
  return Out;
}
