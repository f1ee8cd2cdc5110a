//===- Model.cpp - Derived facts and simple plan construction -------------===//
#include "Model/Model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

using namespace remat::solver;

Model::Model(const Problem &P) : P(P) {
  Turn = turnOf(P);
  Resident = P.residentBytes();
  BaseTime = P.baseTime();
  Seen.assign(P.Ops.size(), true);
  Class.resize(numValues());
  Readers.resize(numValues());
  ClassReaders.resize(numValues());
  IsResult.assign(numValues(), false);
  for (ValueId V : P.Results)
    IsResult[V] = true;
  for (ValueId V = 0; V < numValues(); ++V)
    if (P.Values[V].Producer == None)
      Class[V] = V;
  Never.assign(numValues(), false);
  // Per class: the largest resident place that it may stand in.
  std::vector<int64_t> Place(numValues(), None);
  for (ValueId V = 0; V < numValues(); ++V)
    Place[V] = placeOf(P.Values[V]);
  InPlace.assign(numValues(), false);
  Takers.resize(P.Ops.size());
  ReusedInput.assign(numValues(), None);
  for (OpId O = 0; O < numOps(); ++O) {
    const std::vector<ValueId> &In = P.Ops[O].Inputs;
    for (const ValueId &V : P.Ops[O].Outputs) {
      Class[V] = P.Values[V].Alias == None ? V : Class[P.Values[V].Alias];
      ValueId R = P.Values[V].Reuses;
      if (R != None) {
        ReusedInput[V] =
            int32_t(std::find(In.begin(), In.end(), R) - In.begin());
        Takers[O].push_back(
            {int32_t(&V - P.Ops[O].Outputs.data()), ReusedInput[V]});
      }
      if (int64_t Old = R == None ? None : Place[Class[R]];
          Old != None && takeOver(0, Old, P.Values[V].Bytes).Allowed) {
        Place[V] = Old;
        InPlace[V] = true;
      }
    }
    auto AddTo = [&](std::vector<OpId> &List) {
      if (List.empty() || List.back() != O)
        List.push_back(O);
    };
    for (ValueId V : P.Ops[O].Inputs) {
      AddTo(Readers[V]);
      AddTo(ClassReaders[Class[V]]);
    }
    Fastest.push_back(P.fastestChoice(O));
    Time.push_back(P.timeOf(O, Fastest.back()));
    LeanWorkspace.push_back(P.workspaceOf(O, P.leanestChoice(O)));
    Again.push_back(!P.runsOnce(O) && !P.Ops[O].Outputs.empty());
    Reluctant.push_back(false);
    for (ValueId V : P.Ops[O].Outputs) {
      Reluctant[O] = Reluctant[O] || P.Values[V].Policy == Keep::Prefer;
      if (P.Values[V].Policy == Keep::Never) {
        AnyNever = Never[Class[V]] = true;
        NeverValues.push_back(V);
      }
    }
  }
  findEnders();
  gather();
}

void Model::gather() {
  for (ValueId V = 0; V < numValues(); ++V) {
    const Value &X = P.Values[V];
    Values.push_back({X.Bytes, X.Producer, X.Alias, resident(V),
                      X.Reuses != None && resident(X.Reuses)});
  }
  for (OpId O = 0; O < numOps(); ++O) {
    const Op &X = P.Ops[O];
    auto Add = [&](const std::vector<ValueId> &More) {
      auto At = uint32_t(Ids.size());
      Ids.insert(Ids.end(), More.begin(), More.end());
      return At;
    };
    std::vector<ValueId> MayRunAgain;
    for (ValueId V : X.Inputs)
      if (!resident(V) && Again[P.Values[V].Producer])
        MayRunAgain.push_back(V);
    uint32_t Inputs = Add(X.Inputs), Outputs = Add(X.Outputs);
    Begin.push_back(
        {Inputs, Outputs, Add(MayRunAgain), uint32_t(Kernels.size())});
    for (int32_t C = 0; C < int32_t(P.numChoices(O)); ++C)
      Kernels.push_back({P.timeOf(O, C), P.workspaceOf(O, C)});
    TimeAgain.push_back(Time[O] * (Reluctant[O] ? 2 : 1));
  }
  Begin.push_back({uint32_t(Ids.size()), 0, 0, 0});
}

void Model::findEnders() {
  Enders.resize(P.Ops.size());
  WaitsForTurn.assign(P.Ops.size(), false);
  for (OpId O = 0; O < numOps(); ++O)
    for (OpId Earlier : P.Ops[O].After) {
      AnyAfter = true;
      Enders[Earlier].push_back(O);
      for (ValueId V : P.Ops[Earlier].Outputs)
        if (P.Values[V].Policy == Keep::Never)
          WaitsForTurn[O] = true;
    }
}

int32_t Model::workOfChange() const {
  if (numOps() <= Tuned.Size.Few)
    return 1;
  double Reads = 0;
  for (const Op &X : P.Ops)
    Reads += double(X.Inputs.size());
  auto Mean = int32_t(std::lround(Reads / numOps()));
  return sizeFactor() * std::max(1, Mean - Tuned.Work.FreeReads);
}

std::vector<ValueId> Model::classesRead(OpId O) const {
  std::vector<ValueId> Out;
  for (ValueId V : P.Ops[O].Inputs)
    if (!resident(V))
      Out.push_back(Class[V]);
  std::sort(Out.begin(), Out.end());
  Out.erase(std::unique(Out.begin(), Out.end()), Out.end());
  return Out;
}

int64_t Model::leastBytesAt(OpId O, const std::vector<ValueId> &Beside,
                            std::vector<ValueId> *Counted) const {
  const Op &X = P.Ops[O];
  auto Stays = [&](ValueId C) {
    return std::binary_search(Beside.begin(), Beside.end(), C);
  };
  // The outputs are counted below.
  std::vector<ValueId> Classes = classesRead(O);
  for (ValueId C : Beside)
    if (P.Values[C].Producer != O)
      Classes.push_back(C);
  std::sort(Classes.begin(), Classes.end());
  Classes.erase(std::unique(Classes.begin(), Classes.end()), Classes.end());
  int64_t Sum = Resident + LeanWorkspace[O];
  for (ValueId C : Classes)
    Sum += leastCounted(C);
  std::vector<ValueId> Taken;
  for (ValueId V : X.Outputs) {
    if (!heads(V))
      continue;
    int64_t Bytes = P.Values[V].Bytes;
    ValueId R = P.Values[V].Reuses;
    if (R != None &&
        std::find(Taken.begin(), Taken.end(), Class[R]) == Taken.end()) {
      // What is too large for a resident value's place leaves it to others.
      bool Ordinary = !resident(R) && !InPlace[Class[R]];
      if (InPlace[V] || Ordinary)
        Taken.push_back(Class[R]);
      if (InPlace[V])
        Bytes = 0;
      else if (Ordinary && !Stays(Class[R]))
        Bytes -= takeOver(P.Values[Class[R]].Bytes, None, Bytes).Saved;
    }
    Sum += Bytes;
    if (Bytes)
      Classes.push_back(V);
  }
  if (Counted)
    *Counted = Classes;
  return Sum;
}

std::vector<int32_t> remat::solver::usefulChoices(const Problem &P, OpId O) {
  std::vector<int32_t> All(P.numChoices(O)), Useful;
  std::iota(All.begin(), All.end(), 0);
  std::sort(All.begin(), All.end(), [&](int32_t A, int32_t B) {
    return std::tuple(P.timeOf(O, A), P.workspaceOf(O, A), A) <
           std::tuple(P.timeOf(O, B), P.workspaceOf(O, B), B);
  });
  for (int32_t C : All)
    if (Useful.empty() || P.workspaceOf(O, C) < P.workspaceOf(O, Useful.back()))
      Useful.push_back(C);
  return Useful;
}

std::vector<OpId> remat::solver::baseOrder(const Model &M) {
  std::vector<OpId> Order(M.numOps());
  std::iota(Order.begin(), Order.end(), 0);
  return Order;
}

std::vector<OpId> remat::solver::orderOf(const Model &M, const Plan &S) {
  std::vector<OpId> Order;
  std::vector<bool> Ran(M.numOps(), false);
  for (const Step &X : S.Sequence)
    if (!Ran[X.Op]) {
      Ran[X.Op] = true;
      Order.push_back(X.Op);
    }
  return Order;
}

namespace {

/// Emits steps, recomputing what was forgotten.
class Emitter {
public:
  Emitter(const Model &M)
      : M(M), Have(M.numValues(), false), Ran(M.numOps(), false) {
    for (ValueId V = 0; V < M.numValues(); ++V)
      Have[V] = M.P.Values[V].Producer == None;
  }

  void run(OpId Goal) {
    runWithMissing(
        M, Goal, [&](ValueId V) { return !Have[V]; },
        [&](OpId O) {
          S.Sequence.push_back({O, M.Fastest[O]});
          Ran[O] = true;
          for (ValueId V : M.P.Ops[O].Outputs)
            Have[V] = true;
        });
  }

  void forget(const std::vector<bool> &Dropped) {
    auto HasRun = [&](OpId O) { return Ran[O]; };
    for (ValueId V = 0; V < M.numValues(); ++V)
      if (OpId O = M.P.Values[V].Producer;
          O != None && M.Again[O] && M.isOpen(O, HasRun) &&
          (Dropped[M.Class[V]] || M.Never[M.Class[V]]))
        Have[V] = false;
  }

  Plan S;

private:
  const Model &M;
  std::vector<bool> Have, Ran;
};

} // namespace

Plan remat::solver::emitDropped(const Model &M, const std::vector<OpId> &Order,
                                OpId Turn, const std::vector<bool> &Dropped) {
  Emitter E(M);
  for (OpId O : withWaiting(M, Order)) {
    E.run(O);
    if (O == Turn)
      E.forget(Dropped);
  }
  return withWaiting(M, std::move(E.S));
}

Plan remat::solver::emitKept(const Model &M, const std::vector<OpId> &Order) {
  return emitDropped(M, Order, M.AnyNever ? M.Turn : None,
                     std::vector<bool>(M.numValues(), false));
}

void remat::solver::dropUnread(const Model &M, Plan &S) {
  dropUnread(M.P, S, M.Turn);
}
