//===- Order.cpp - Orders that a problem asks for and cannot have ---------===//
#include "Problem/Order.h"

using namespace remat::solver;

/// Does an op read what the other makes, at first or second hand and so on, or
/// run after it?
static bool dependsOn(const Problem &P, OpId O, OpId Other) {
  std::vector<bool> Seen(P.Ops.size(), false);
  std::vector<OpId> Stack = {O};
  while (!Stack.empty()) {
    OpId X = Stack.back();
    Stack.pop_back();
    if (X == Other)
      return true;
    if (Seen[X])
      continue;
    Seen[X] = true;
    for (ValueId V : P.Ops[X].Inputs)
      if (P.Values[V].Producer != None)
        Stack.push_back(P.Values[V].Producer);
    Stack.insert(Stack.end(), P.Ops[X].After.begin(), P.Ops[X].After.end());
  }
  return false;
}

std::optional<WrongAfter> remat::solver::findWrongAfter(const Problem &P) {
  for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
    for (size_t I = 0; I < P.Ops[O].After.size(); ++I) {
      OpId Earlier = P.Ops[O].After[I];
      if (Earlier < O)
        continue;
      if (Earlier == O)
        return WrongAfter{O, I, "must run after itself"};
      std::string Other = "'" + P.Ops[Earlier].Name + "'";
      return WrongAfter{O, I,
                        "must run after op " + Other +
                            (dependsOn(P, Earlier, O)
                                 ? ", which depends on it: the ops form a cycle"
                                 : ", which stands later: the order is not "
                                   "valid")};
    }
  return std::nullopt;
}
