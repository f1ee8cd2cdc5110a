//===- Pool.cpp - Plans that serve every budget they fit ------------------===//
#include "Planner/Pool.h"

#include "Problem/Peak.h"

#include <algorithm>

using namespace remat::solver;

void Pool::add(Plan S) {
  dropUnread(M, S);
  double Cost = measure(M, S).cost();
  // What `verify` finds may be less than what `measure` does.
  int64_t Peak = peakOf(M.P, S);
  auto At = std::find_if(Entries.begin(), Entries.end(),
                         [&](const Entry &X) { return X.Peak > Peak; });
  // Of those no higher the last is the cheapest.
  if (At != Entries.begin() && std::prev(At)->Cost <= Cost)
    return;
  At = Entries.insert(At, {std::move(S), Peak, Cost});
  auto Worse = [&](const Entry &X) { return X.Cost >= Cost; };
  auto End = std::find_if_not(At + 1, Entries.end(), Worse);
  Entries.erase(At + 1, End);
  if (At != Entries.begin() && std::prev(At)->Peak == Peak)
    Entries.erase(std::prev(At));
}

void Pool::offerTo(Incumbent &Best, int64_t Budget) const {
  for (size_t I = Entries.size(); I-- > 0;)
    if (Entries[I].Peak <= Budget) {
      Best.offer(Entries[I].S);
      return;
    }
}

std::vector<Plan> Pool::near(int64_t Budget, size_t Count) const {
  std::vector<Plan> Out;
  auto High = std::find_if(Entries.begin(), Entries.end(),
                           [&](const Entry &X) { return X.Peak > Budget; });
  for (auto X = High; X != Entries.begin() && Out.size() < Count;)
    Out.push_back((--X)->S);
  size_t All = Out.size() + Count;
  for (auto X = High; X != Entries.end() && Out.size() < All; ++X)
    Out.push_back(X->S);
  return Out;
}
