//===- Integer.cpp - Plans in a given order, by integer programming -------===//
#include "Exact/Integer.h"
#include "Exact/Stages.h"

#include <algorithm>

using namespace remat::solver;

namespace {

/// The problem with its ops in another valid order.
Problem reordered(const Problem &P, const std::vector<OpId> &Order) {
  Problem Q = P;
  std::vector<OpId> Place(Order.size());
  for (OpId To = 0; To < OpId(Order.size()); ++To)
    Place[Order[To]] = To;
  for (OpId To = 0; To < OpId(Order.size()); ++To) {
    Q.Ops[To] = P.Ops[Order[To]];
    for (ValueId V : Q.Ops[To].Outputs)
      Q.Values[V].Producer = To;
    for (OpId &Earlier : Q.Ops[To].After)
      Earlier = Place[Earlier];
  }
  return Q;
}

class IntegerSolver {
public:
  IntegerSolver(const Model &M, const SolveOptions &O, const Watch &D,
                SearchResult &R)
      : M(M), O(O), D(D), R(R), Margin(1e-6 * M.BaseTime) {}

  void run() {
    R.Notice = whyNoLinearSolver();
    if (!R.Notice.empty()) {
      R.Notice = "no integer program was solved: " + R.Notice;
      return;
    }
    VerifyResult V = verify(M.P, R.Best, O.Budget);
    std::vector<OpId> Base = baseOrder(M), Order = orderOf(M, R.Best);
    if (V.Ok && Order != Base)
      solveIn(Order);
    if (!D.passed())
      solveIn(Base);
  }

private:
  const Model &M;
  const SolveOptions &O;
  const Watch &D;
  SearchResult &R;
  double Margin;

  /// Time with the surcharge of what should rather not run again.
  double costOf(const Plan &S) const {
    VerifyResult V = verify(M.P, S, O.Budget);
    return V.Ok ? V.Time + measure(M, S).Surcharge : Unbounded;
  }

  void note(const std::string &Text) {
    R.Notice += (R.Notice.empty() ? "" : "; ") + Text;
  }

  void solveIn(const std::vector<OpId> &Order) {
    Problem Q = reordered(M.P, Order);
    Model N(Q);
    std::vector<OpId> Place(Order.size());
    for (OpId To = 0; To < OpId(Order.size()); ++To)
      Place[Order[To]] = To;
    // The order given says where the turn is.
    N.Turn = M.Turn == None ? None : Place[M.Turn];
    VerifyResult Known = verify(M.P, R.Best, O.Budget);
    double Time = Known.Ok ? Known.Time : Unbounded;
    int64_t Budget = O.Budget;
    // The library may overstep a row by its tolerance: then with that less.
    for (int Try = 0; Try < 3; ++Try) {
      StageProgram S(N, Budget, Time - M.BaseTime + Margin);
      size_t Most =
          O.TimeLimit > 0 ? Tuned.Exact.EntriesTimed : Tuned.Exact.Entries;
      if (S.numEntries() > Most) {
        note("the integer program has " + std::to_string(S.numEntries()) +
             " entries, at most " + std::to_string(Most) + " are tried" +
             (O.TimeLimit > 0 ? "" : " without a time limit"));
        return;
      }
      LinearResult Got = solveOne(S, Place, Time);
      if (Try == 0 && Order == baseOrder(M))
        conclude(S, Got, Time);
      if (Got.Point.empty())
        return;
      Plan Found = S.planOf(Got.Point);
      for (Step &X : Found.Sequence)
        X.Op = Order[X.Op];
      if (costOf(Found) < costOf(R.Best))
        R.Best = Found;
      int64_t Peak = verify(M.P, Found, O.Budget).Peak;
      if (Peak <= O.Budget || Got.Status != LinearStatus::Optimal)
        return;
      Budget -= Peak - O.Budget;
    }
  }

  LinearResult solveOne(StageProgram &S, const std::vector<OpId> &Place,
                        double Time) {
    LinearOptions Options;
    Options.MaxNodes = Tuned.Exact.Nodes;
    Options.Stop = [&] {
      D.report(Time < Unbounded ? Time : -1);
      return D.passed();
    };
    Plan Start = R.Best;
    for (Step &X : Start.Sequence)
      X.Op = Place[X.Op];
    std::vector<double> Known;
    if (Time < Unbounded)
      Known = S.pointOf(Start);
    if (Time < Unbounded && Known.empty())
      S.limit(Time - Margin);
    // Most rows never matter: first those that the relaxation oversteps, then
    // those that its whole solutions do.
    LinearResult Got;
    for (bool Whole : {false, true})
      do {
        if (O.TimeLimit > 0)
          Options.TimeLimit = std::max(0.01, O.TimeLimit - D.seconds());
        LinearProgram L = S.program();
        if (Whole)
          Options.Start = Known;
        else
          L.Integer.assign(L.Integer.size(), false);
        Got = solveLinear(L, Options);
        if (Got.Status != LinearStatus::Optimal)
          return Got;
      } while (S.addRows(&Got.Point) > 0);
    return Got;
  }

  /// What the program in the order given proves.
  void conclude(const StageProgram &S, const LinearResult &Got, double Time) {
    if (Got.Status == LinearStatus::Unavailable) {
      note(Got.Message);
      return;
    }
    if (Got.Status == LinearStatus::Infeasible) {
      note(Time < Unbounded ? "no plan in stages of the order given is faster"
                            : "no plan in stages of the order given fits");
      return;
    }
    if (Got.Status == LinearStatus::Stopped)
      note("the integer program stopped after " + std::to_string(Got.Nodes) +
           " nodes");
    R.OrderBound = Got.Bound * S.unit();
  }
};

} // namespace

void remat::solver::closeInOrder(const Model &M, const SolveOptions &O,
                                 const Watch &D, SearchResult &R) {
  IntegerSolver(M, O, D, R).run();
}
