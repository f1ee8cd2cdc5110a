//===- Integer.cpp - Plans in a given order, by integer programming -------===//
#include "Stages.h"
#include "Strategies.h"

#include <algorithm>

using namespace remat::solver;

namespace {

/// Beyond so many entries a program takes minutes even to relax.
constexpr size_t MaxEntries = 3'000'000;
constexpr int32_t MaxNodes = 2000;

/// The problem with its ops in another valid order.
Problem reordered(const Problem &P, const std::vector<OpId> &Order) {
  Problem Q = P;
  for (OpId To = 0; To < OpId(Order.size()); ++To) {
    Q.Ops[To] = P.Ops[Order[To]];
    for (ValueId V : Q.Ops[To].Outputs)
      Q.Values[V].Producer = To;
  }
  return Q;
}

class IntegerSolver {
public:
  IntegerSolver(const Model &M, const SolveOptions &O, const Deadline &D,
                SearchResult &R)
      : M(M), O(O), D(D), R(R), Margin(1e-6 * M.BaseTime) {}

  void run() {
    R.Notice = whyNoLinearSolver();
    if (!R.Notice.empty()) {
      R.Notice = "no integer program was solved: " + R.Notice;
      return;
    }
    VerifyResult V = verify(M.P, R.Best, O.Budget);
    std::vector<OpId> Base = baseOrder(M), Order = orderOf(R.Best);
    if (V.Ok && Order != Base)
      solveIn(Order);
    if (!D.passed())
      solveIn(Base);
  }

private:
  const Model &M;
  const SolveOptions &O;
  const Deadline &D;
  SearchResult &R;
  double Margin;

  std::vector<OpId> orderOf(const Plan &S) const {
    std::vector<OpId> Order;
    std::vector<bool> Ran(M.numOps(), false);
    for (auto [Op, Choice] : S.Sequence)
      if (!Ran[Op]) {
        Ran[Op] = true;
        Order.push_back(Op);
      }
    return Order;
  }

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
    double Time = verify(M.P, R.Best, O.Budget).Ok
                      ? verify(M.P, R.Best, O.Budget).Time
                      : Unbounded;
    int64_t Budget = O.Budget;
    // The library may overstep a row by its tolerance: then with that less.
    for (int Try = 0; Try < 3; ++Try) {
      StageProgram S(N, Budget, Time - M.BaseTime + Margin);
      if (S.program().Index.size() > MaxEntries) {
        note("the integer program is too large: " +
             std::to_string(S.program().Index.size()) + " entries, at most " +
             std::to_string(MaxEntries) + " are tried");
        return;
      }
      LinearResult Got = solveOne(S, Place, Time);
      bool Given = Order == baseOrder(M);
      if (Try == 0 && Given)
        conclude(S, Got, Time);
      if (Got.Point.empty())
        return;
      Plan Found = S.planOf(Got.Point);
      for (Step &X : Found.Sequence)
        X.Op = Order[X.Op];
      VerifyResult V = verify(M.P, Found, O.Budget);
      if (costOf(Found) < costOf(R.Best))
        R.Best = Found;
      if (V.Ok || V.Peak <= O.Budget)
        return;
      Budget -= V.Peak - O.Budget;
    }
  }

  LinearResult solveOne(StageProgram &S, const std::vector<OpId> &Place,
                        double Time) {
    LinearOptions Options;
    Options.MaxNodes = MaxNodes;
    Options.Interrupt = O.Interrupt;
    if (O.TimeLimit > 0)
      Options.TimeLimit = std::max(0.01, O.TimeLimit - D.seconds());
    Plan Start = R.Best;
    for (Step &X : Start.Sequence)
      X.Op = Place[X.Op];
    if (Time < Unbounded)
      Options.Start = S.pointOf(Start);
    if (Time < Unbounded && Options.Start.empty())
      S.limit(Time - Margin);
    return solveLinear(S.program(), Options);
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
                                 const Deadline &D, SearchResult &R) {
  IntegerSolver(M, O, D, R).run();
}
