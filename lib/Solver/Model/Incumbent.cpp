//===- Incumbent.cpp - The better of two plans ----------------------------===//
#include "Model/Incumbent.h"

using namespace remat::solver;

bool Incumbent::offer(Plan S) {
  chooseKernels(*M, S, Budget);
  Measure X = measure(*M, S);
  return take(std::move(S), X);
}

bool Incumbent::offer(Incumbent Other) {
  return Other.Has && take(std::move(Other.Best), Other.Of);
}

bool Incumbent::take(Plan S, const Measure &X) {
  bool Fits = X.Peak <= Budget;
  bool Better = !Has || (Fits != feasible()      ? Fits
                         : !Fits                 ? X.Peak < Of.Peak
                         : X.cost() != Of.cost() ? X.cost() < Of.cost()
                                                 : X.Peak < Of.Peak);
  if (!Better)
    return false;
  Has = true;
  Of = X;
  Best = std::move(S);
  return true;
}
