//===- Oracle.h - The optimum of small problems, by brute force -----------===//
#ifndef REMAT_TEST_UNIT_SOLVER_ORACLE_H
#define REMAT_TEST_UNIT_SOLVER_ORACLE_H

#include "remat/Solver/Problem.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>

namespace remat::solver::test {

/// Shortest path over (ops done, storages that live and what can be read from
/// them), any order, every feature of a problem. Unlike the solvers it tries
/// every storage at every time: to go, and to be taken over.
class Oracle {
public:
  /// With `Twice` repeated runs of an op with `Keep::Prefer` count twice. At
  /// the runs of `Unseen` ops memory is not looked at.
  Oracle(const Problem &P, int64_t Budget, bool Twice = false,
         const std::vector<OpId> &Unseen = {})
      : P(P), Budget(Budget), Twice(Twice), Turn(turnOf(P)),
        Seen(P.Ops.size(), true) {
    for (OpId O : Unseen)
      Seen[O] = false;
  }

  /// The least time of any plan within the budget.
  std::optional<double> solve() {
    State First;
    for (ValueId V = 0; V < ValueId(P.Values.size()); ++V) {
      bool Resident = P.Values[V].Producer == None;
      First.Home.push_back(Resident ? int(First.Storages.size()) : -1);
      if (Resident)
        First.Storages.push_back({V, P.Values[V].Bytes});
    }
    push(First, 0);
    while (!Queue.empty()) {
      auto [Cost, S] = Queue.top();
      Queue.pop();
      if (Cost > Best[S])
        continue;
      if (finished(S))
        return Cost;
      for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
        run(S, Cost, O);
      for (int I = 0; I < int(S.Storages.size()); ++I)
        if (P.Values[S.Storages[I].Head].Producer != None) {
          State Less = S;
          end(Less, I);
          push(Less, Cost);
        }
    }
    return std::nullopt;
  }

private:
  struct Storage {
    ValueId Head;
    /// Bytes of the resident value's place it is in, or -1.
    int64_t Place;
    auto operator<=>(const Storage &) const = default;
  };
  struct State {
    uint64_t Done = 0;
    /// Per value: the storage that its newest instance is read from, or -1.
    std::vector<int> Home;
    std::vector<Storage> Storages;
    auto operator<=>(const State &) const = default;
  };
  using Entry = std::pair<double, State>;
  const Problem &P;
  int64_t Budget;
  bool Twice;
  OpId Turn;
  std::vector<bool> Seen;
  std::map<State, double> Best;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> Queue;

  bool finished(const State &S) const {
    return S.Done == (uint64_t(1) << P.Ops.size()) - 1 &&
           std::all_of(P.Results.begin(), P.Results.end(),
                       [&](ValueId V) { return S.Home[V] >= 0; });
  }

  static void end(State &S, int Storage) {
    for (int &Home : S.Home)
      if (Home == Storage)
        Home = -1;
  }

  /// Numbers the storages by the first value read from each; the others died.
  static State tidy(const State &S) {
    State T;
    T.Done = S.Done;
    std::vector<int> New(S.Storages.size(), -1);
    for (int Home : S.Home) {
      if (Home >= 0 && New[Home] < 0) {
        New[Home] = int(T.Storages.size());
        T.Storages.push_back(S.Storages[Home]);
      }
      T.Home.push_back(Home < 0 ? -1 : New[Home]);
    }
    return T;
  }

  void push(const State &Untidy, double Cost) {
    State S = tidy(Untidy);
    auto [It, New] = Best.emplace(S, Cost);
    if (!New && It->second <= Cost)
      return;
    It->second = Cost;
    Queue.push({Cost, S});
  }

  void run(const State &From, double Cost, OpId O) {
    const Op &X = P.Ops[O];
    bool Again = From.Done >> O & 1;
    if (Again && P.runsOnce(O))
      return;
    for (ValueId V : X.Inputs)
      if (From.Home[V] < 0)
        return;
    for (OpId Earlier : X.After)
      if (!(From.Done >> Earlier & 1))
        return;
    for (OpId Later = 0; Later < OpId(P.Ops.size()); ++Later)
      for (OpId Earlier : P.Ops[Later].After)
        if (Earlier == O && (From.Done >> Later & 1))
          return;
    // Any of the storages that an output would reuse may end here.
    std::vector<int> Reused;
    for (ValueId V : X.Outputs)
      if (ValueId R = P.Values[V].Reuses; R != None)
        Reused.push_back(From.Home[R]);
    std::sort(Reused.begin(), Reused.end());
    Reused.erase(std::unique(Reused.begin(), Reused.end()), Reused.end());
    for (unsigned Set = 0; Set < 1u << Reused.size(); ++Set) {
      std::vector<int> Ends;
      for (size_t I = 0; I < Reused.size(); ++I)
        if (Set >> I & 1)
          Ends.push_back(Reused[I]);
      finish(From, Cost, O, Ends);
    }
  }

  void finish(const State &From, double Cost, OpId O, std::vector<int> Ends) {
    const Op &X = P.Ops[O];
    State S = From;
    for (ValueId V : X.Outputs)
      S.Home[V] = -1;
    int64_t Bytes = P.residentBytes();
    for (int I = 0; I < int(S.Storages.size()); ++I)
      if (S.Storages[I].Place < 0 &&
          std::find(S.Home.begin(), S.Home.end(), I) != S.Home.end())
        Bytes += P.Values[S.Storages[I].Head].Bytes;
    std::vector<int> Dead = Ends;
    for (ValueId V : X.Outputs) {
      const Value &Y = P.Values[V];
      if (Y.Alias != None) {
        S.Home[V] = From.Home[Y.Alias];
        continue;
      }
      Storage New = {V, -1};
      Bytes += Y.Bytes;
      int R = Y.Reuses == None ? -1 : From.Home[Y.Reuses];
      auto End = std::find(Ends.begin(), Ends.end(), R);
      if (End != Ends.end() && From.Storages[R].Place < 0) {
        Bytes -= std::min(Y.Bytes, P.Values[From.Storages[R].Head].Bytes);
        Ends.erase(End);
      } else if (End != Ends.end() && Y.Bytes <= From.Storages[R].Place) {
        Bytes -= Y.Bytes;
        New.Place = From.Storages[R].Place;
        Ends.erase(End);
      }
      S.Home[V] = int(S.Storages.size());
      S.Storages.push_back(New);
    }
    for (int I : Dead)
      end(S, I);
    leave(S, From, Cost, O, Bytes);
  }

  void leave(State &S, const State &From, double Cost, OpId O, int64_t Bytes) {
    std::optional<double> Time;
    for (int32_t C = 0; C < int32_t(P.numChoices(O)); ++C)
      if ((!Seen[O] || Bytes + P.workspaceOf(O, C) <= Budget) &&
          (!Time || P.timeOf(O, C) < *Time))
        Time = P.timeOf(O, C);
    if (!Time)
      return;
    bool Again = From.Done >> O & 1;
    for (ValueId V = 0; O == Turn && !Again && V < ValueId(S.Home.size()); ++V)
      if (P.Values[V].Policy == Keep::Never && P.Values[V].Producer != O)
        S.Home[V] = -1;
    for (ValueId V : P.Ops[O].Outputs)
      if (Twice && Again && P.Values[V].Policy == Keep::Prefer) {
        Cost += *Time;
        break;
      }
    S.Done |= uint64_t(1) << O;
    push(S, Cost + *Time);
  }
};

} // namespace remat::solver::test

#endif // REMAT_TEST_UNIT_SOLVER_ORACLE_H
