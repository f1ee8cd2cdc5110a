//===- Problem.cpp - Building and checking problems -----------------------===//
#include "Problem/Order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

using namespace remat::solver;

ValueId Problem::addResident(std::string Name, int64_t Bytes) {
  Value V;
  V.Name = std::move(Name);
  V.Bytes = Bytes;
  Values.push_back(std::move(V));
  return ValueId(Values.size() - 1);
}

OpId Problem::addOp(std::string Name, double Time, std::vector<ValueId> Inputs,
                    int64_t Workspace) {
  Op O;
  O.Name = std::move(Name);
  O.Time = Time;
  O.Inputs = std::move(Inputs);
  O.Workspace = Workspace;
  Ops.push_back(std::move(O));
  return OpId(Ops.size() - 1);
}

void Problem::addAfter(OpId Later, OpId Earlier) {
  std::vector<OpId> &After = Ops[Later].After;
  if (std::find(After.begin(), After.end(), Earlier) == After.end())
    After.push_back(Earlier);
}

ValueId Problem::addOutput(OpId Producer, std::string Name, int64_t Bytes) {
  ValueId V = addResident(std::move(Name), Bytes);
  Values[V].Producer = Producer;
  Ops[Producer].Outputs.push_back(V);
  return V;
}

/// The first of the choices with the least key.
template <typename KeyFn>
static int32_t leastChoice(const Problem &P, OpId O, KeyFn Key) {
  int32_t Best = 0;
  for (int32_t C = 1, E = int32_t(P.numChoices(O)); C < E; ++C)
    if (Key(C) < Key(Best))
      Best = C;
  return Best;
}

int32_t Problem::fastestChoice(OpId O) const {
  return leastChoice(*this, O, [&](int32_t C) {
    return std::pair(timeOf(O, C), workspaceOf(O, C));
  });
}

int32_t Problem::leanestChoice(OpId O) const {
  return leastChoice(*this, O, [&](int32_t C) {
    return std::pair(workspaceOf(O, C), timeOf(O, C));
  });
}

bool Problem::runsOnce(OpId O) const {
  return Ops[O].Once ||
         std::any_of(Ops[O].Outputs.begin(), Ops[O].Outputs.end(),
                     [&](ValueId V) { return Values[V].Policy == Keep::Must; });
}

double Problem::baseTime() const {
  double Sum = 0;
  for (OpId O = 0; O < OpId(Ops.size()); ++O)
    Sum += timeOf(O, fastestChoice(O));
  return Sum;
}

int64_t Problem::residentBytes() const {
  int64_t Sum = 0;
  for (const Value &V : Values)
    if (V.Producer == None)
      Sum += V.Bytes;
  return Sum;
}

Plan remat::solver::basePlan(const Problem &P) {
  Plan S;
  S.Sequence.reserve(P.Ops.size());
  for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
    S.Sequence.push_back({O, P.fastestChoice(O)});
  return S;
}

void remat::solver::dropUnread(const Problem &P, Plan &S, OpId Spared) {
  std::vector<int32_t> Count(P.Ops.size(), 0);
  for (const Step &X : S.Sequence)
    ++Count[X.Op];
  std::vector<bool> Wanted(P.Values.size(), false);
  for (ValueId V : P.Results)
    Wanted[V] = true;
  std::vector<Step> Kept;
  for (size_t I = S.Sequence.size(); I-- > 0;) {
    const Op &O = P.Ops[S.Sequence[I].Op];
    bool Read = std::any_of(O.Outputs.begin(), O.Outputs.end(),
                            [&](ValueId V) { return Wanted[V]; });
    int32_t &Instances = Count[S.Sequence[I].Op];
    if (!Read && Instances > 1 && S.Sequence[I].Op != Spared) {
      --Instances;
      continue;
    }
    Kept.push_back(S.Sequence[I]);
    for (ValueId V : O.Outputs)
      Wanted[V] = false;
    for (ValueId V : O.Inputs)
      Wanted[V] = true;
  }
  S.Sequence.assign(Kept.rbegin(), Kept.rend());
}

namespace {

using Message = std::optional<std::string>;

std::string quoted(const std::string &Name) { return "'" + Name + "'"; }

/// Accumulates totals, so that no later sum can overflow.
struct Totals {
  int64_t Bytes = 0;
  double Time = 0;

  bool addBytes(int64_t N) {
    if (N < 0 || N > MaxTotalBytes - Bytes)
      return false;
    Bytes += N;
    return true;
  }
  bool addTime(double T) {
    if (!std::isfinite(T) || T < 0)
      return false;
    Time += T;
    return Time <= MaxTotalTime;
  }
};

Message checkNames(const Problem &P) {
  std::unordered_set<std::string_view> Seen;
  for (const Value &V : P.Values)
    if (V.Name.empty())
      return "a value has an empty name";
    else if (!Seen.insert(V.Name).second)
      return "two values are named " + quoted(V.Name);
  Seen.clear();
  for (const Op &O : P.Ops)
    if (O.Name.empty())
      return "an op has an empty name";
    else if (!Seen.insert(O.Name).second)
      return "two ops are named " + quoted(O.Name);
  return std::nullopt;
}

Message checkNumbers(const Problem &P) {
  Totals Sum;
  for (const Value &V : P.Values)
    if (!Sum.addBytes(V.Bytes))
      return "value " + quoted(V.Name) + " has " + std::to_string(V.Bytes) +
             " bytes: negative, or the total exceeds " +
             std::to_string(MaxTotalBytes);
  for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
    for (int32_t C = 0, E = int32_t(P.numChoices(O)); C < E; ++C) {
      if (!Sum.addTime(P.timeOf(O, C)))
        return "op " + quoted(P.Ops[O].Name) +
               " has a time that is negative, not finite or too large";
      if (!Sum.addBytes(P.workspaceOf(O, C)))
        return "op " + quoted(P.Ops[O].Name) + " has a workspace of " +
               std::to_string(P.workspaceOf(O, C)) +
               " bytes: negative, or the total exceeds " +
               std::to_string(MaxTotalBytes);
    }
  return std::nullopt;
}

/// Every id is in range and both directions of producer and output agree.
Message checkIds(const Problem &P) {
  constexpr size_t MaxCount = 1 << 28;
  if (P.Ops.size() > MaxCount || P.Values.size() > MaxCount)
    return "too many ops or values";
  auto Known = [&](ValueId V) { return V >= 0 && V < int(P.Values.size()); };
  std::vector<int32_t> Made(P.Values.size(), 0);
  for (OpId O = 0; O < OpId(P.Ops.size()); ++O) {
    for (ValueId V : P.Ops[O].Inputs)
      if (!Known(V))
        return "op " + quoted(P.Ops[O].Name) + " reads an unknown value";
    for (ValueId V : P.Ops[O].Outputs) {
      if (!Known(V))
        return "op " + quoted(P.Ops[O].Name) + " makes an unknown value";
      if (P.Values[V].Producer != O || ++Made[V] > 1)
        return "value " + quoted(P.Values[V].Name) + " has two producers";
    }
    for (OpId Earlier : P.Ops[O].After)
      if (Earlier < 0 || Earlier >= OpId(P.Ops.size()))
        return "op " + quoted(P.Ops[O].Name) + " runs after an unknown op";
  }
  for (size_t V = 0; V < P.Values.size(); ++V)
    if (P.Values[V].Producer != None && !Made[V])
      return "value " + quoted(P.Values[V].Name) +
             " is not an output of its producer";
  for (ValueId V : P.Results)
    if (!Known(V))
      return "the results name an unknown value";
  return std::nullopt;
}

/// True when the ops depend on each other in a circle.
bool hasCycle(const Problem &P) {
  std::vector<int32_t> Missing(P.Ops.size(), 0);
  std::vector<std::vector<OpId>> Readers(P.Ops.size());
  for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
    for (ValueId V : P.Ops[O].Inputs)
      if (P.Values[V].Producer != None) {
        Readers[P.Values[V].Producer].push_back(O);
        ++Missing[O];
      }
  std::vector<OpId> Ready;
  for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
    if (!Missing[O])
      Ready.push_back(O);
  size_t Done = 0;
  while (!Ready.empty()) {
    OpId O = Ready.back();
    Ready.pop_back();
    ++Done;
    for (OpId R : Readers[O])
      if (--Missing[R] == 0)
        Ready.push_back(R);
  }
  return Done != P.Ops.size();
}

Message checkAfter(const Problem &P) {
  if (std::optional<WrongAfter> Wrong = findWrongAfter(P))
    return "op " + quoted(P.Ops[Wrong->Later].Name) + " " + Wrong->Reason;
  return std::nullopt;
}

Message checkOrder(const Problem &P) {
  for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
    for (ValueId V : P.Ops[O].Inputs) {
      OpId Maker = P.Values[V].Producer;
      if (Maker == None || Maker < O)
        continue;
      return "op " + quoted(P.Ops[O].Name) + " reads " +
             quoted(P.Values[V].Name) + ", which op " +
             quoted(P.Ops[Maker].Name) +
             (hasCycle(P) ? " makes from it: the ops form a cycle"
                          : " makes only later: the order is not valid");
    }
  return std::nullopt;
}

bool reads(const Problem &P, OpId O, ValueId V) {
  const auto &In = P.Ops[O].Inputs;
  return std::find(In.begin(), In.end(), V) != In.end();
}

Message checkStorage(const Problem &P) {
  for (const Value &V : P.Values) {
    if (V.Reuses == None && V.Alias == None)
      continue;
    if (V.Producer == None)
      return "resident " + quoted(V.Name) + " cannot reuse or alias a value";
    if (V.Reuses != None && V.Alias != None)
      return "value " + quoted(V.Name) + " both reuses and aliases";
    ValueId Target = V.Reuses != None ? V.Reuses : V.Alias;
    if (!reads(P, V.Producer, Target))
      return "value " + quoted(V.Name) + " " +
             (V.Reuses != None ? "reuses" : "aliases") +
             " what is no input of op " + quoted(P.Ops[V.Producer].Name);
  }
  return std::nullopt;
}

Message checkResults(const Problem &P) {
  std::unordered_set<ValueId> Seen;
  for (ValueId V : P.Results)
    if (!Seen.insert(V).second)
      return "the results name " + quoted(P.Values[V].Name) + " twice";
  return std::nullopt;
}

Message checkPolicies(const Problem &P) {
  std::vector<WrongNever> Wrong = findWrongNever(P);
  return Wrong.empty() ? Message() : Wrong.front().Message;
}

} // namespace

std::vector<WrongNever> remat::solver::findWrongNever(const Problem &P) {
  std::vector<WrongNever> Found;
  auto IsNever = [&](ValueId V) { return P.Values[V].Policy == Keep::Never; };
  auto Add = [&](ValueId V, const std::string &Reason) {
    Found.push_back({V, "value " + quoted(P.Values[V].Name) +
                            " must never be kept, but " + Reason});
  };
  for (ValueId V = 0; V < ValueId(P.Values.size()); ++V)
    if (OpId Maker = P.Values[V].Producer;
        IsNever(V) && (Maker == None || P.runsOnce(Maker)))
      Add(V, "cannot be computed again");
  // What stands before the turn must not end the runs of an op that has to run
  // again after it.
  OpId Turn = None;
  for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
    for (OpId Earlier : P.Ops[O].After)
      for (ValueId V : P.Ops[Earlier].Outputs) {
        if (!IsNever(V))
          continue;
        if (Turn == None)
          Turn = turnOf(P);
        if (O <= Turn)
          Add(V, "op " + quoted(P.Ops[Earlier].Name) +
                     " may not run again after op " + quoted(P.Ops[O].Name) +
                     ", which comes no later than the turn, op " +
                     quoted(P.Ops[Turn].Name));
      }
  for (ValueId V : P.Results)
    if (IsNever(V))
      Found.push_back(
          {V, "result " + quoted(P.Values[V].Name) + " must never be kept"});
  return Found;
}

Message remat::solver::check(const Problem &P) {
  for (Message (*Check)(const Problem &) :
       {checkIds, checkNames, checkNumbers, checkOrder, checkAfter,
        checkStorage, checkResults, checkPolicies})
    if (Message M = Check(P))
      return M;
  return std::nullopt;
}
