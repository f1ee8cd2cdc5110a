//===- LinearProgram.cpp - Programs and their solution by HiGHS -----------===//
#include "Linear/LinearProgram.h"
#include "Linear/Highs.h"

#include <algorithm>

using namespace remat::solver;

int32_t LinearProgram::addColumn(double Price, double Low, double High,
                                 bool Whole) {
  Cost.push_back(Price);
  Lower.push_back(Low);
  Upper.push_back(High);
  Integer.push_back(Whole);
  return numColumns() - 1;
}

void LinearProgram::addRow(double Low, double High,
                           const std::vector<Term> &Terms) {
  RowLower.push_back(Low);
  RowUpper.push_back(High);
  for (auto [Column, Value] : Terms) {
    Index.push_back(Column);
    Factor.push_back(Value);
  }
  RowStart.push_back(int32_t(Index.size()));
}

namespace {

// Constants of HiGHS's C interface.
constexpr int FormatRows = 2, SenseMinimise = 1;
constexpr int StatusError = -1;
constexpr int Empty = 6, Optimal = 7, Infeasible = 8, Ambiguous = 9,
              WithoutBound = 10, FirstLimit = 11, LastLimit = 18;
constexpr int SimplexInterrupt = 1, InteriorInterrupt = 2, MixedInterrupt = 6;
constexpr int PointFeasible = 2;

/// One model in the library.
class Session {
public:
  Session(const Highs &H) : H(H), Model(H.create()) {}
  ~Session() { H.destroy(Model); }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  bool pass(const LinearProgram &L) {
    double Infinity = H.getInfinity(Model);
    auto Clamped = [&](std::vector<double> V) {
      for (double &X : V)
        X = std::clamp(X, -Infinity, Infinity);
      return V;
    };
    Whole =
        std::find(L.Integer.begin(), L.Integer.end(), true) != L.Integer.end();
    std::vector<int> Kinds(L.Integer.begin(), L.Integer.end());
    return H.passMip(Model, L.numColumns(), L.numRows(), int(L.Index.size()),
                     FormatRows, SenseMinimise, 0, L.Cost.data(),
                     Clamped(L.Lower).data(), Clamped(L.Upper).data(),
                     Clamped(L.RowLower).data(), Clamped(L.RowUpper).data(),
                     L.RowStart.data(), L.Index.data(), L.Factor.data(),
                     Whole ? Kinds.data() : nullptr) != StatusError;
  }

  void silence() { H.setBoolOptionValue(Model, "output_flag", 0); }

  void configure(const LinearOptions &O) {
    H.setIntOptionValue(Model, "threads", 1);
    H.setIntOptionValue(Model, "random_seed", 0);
    H.setIntOptionValue(Model, "mip_max_nodes", O.MaxNodes);
    H.setDoubleOptionValue(Model, "mip_rel_gap", 0);
    H.setDoubleOptionValue(Model, "mip_abs_gap", 1e-7);
    if (O.TimeLimit > 0)
      H.setDoubleOptionValue(Model, "time_limit", O.TimeLimit);
    if (!O.Start.empty())
      H.setSolution(Model, O.Start.data(), nullptr, nullptr, nullptr);
    if (!O.Stop)
      return;
    H.setCallback(Model, &interrupt,
                  const_cast<std::function<bool()> *>(&O.Stop));
    for (int Kind : {SimplexInterrupt, InteriorInterrupt, MixedInterrupt})
      H.startCallback(Model, Kind);
  }

  LinearResult run(const LinearProgram &L) {
    LinearResult R;
    if (H.run(Model) == StatusError) {
      R.Message = "the linear-programming library failed";
      return R;
    }
    int Status = H.getModelStatus(Model);
    if (Status == Infeasible || Status == Ambiguous || Status == WithoutBound) {
      R.Status = Status == Infeasible ? LinearStatus::Infeasible
                                      : LinearStatus::Unbounded;
      return R;
    }
    if (Status != Optimal && Status != Empty &&
        (Status < FirstLimit || Status > LastLimit)) {
      R.Message = "the linear-programming library stopped with status " +
                  std::to_string(Status);
      return R;
    }
    R.Status = Status == Optimal || Status == Empty ? LinearStatus::Optimal
                                                    : LinearStatus::Stopped;
    read(L, R);
    return R;
  }

private:
  const Highs &H;
  void *Model;
  bool Whole = false;

  /// The first field of what goes back is the wish to stop.
  static void interrupt(int, const char *, const void *, void *In, void *User) {
    if (In && (*static_cast<std::function<bool()> *>(User))())
      *static_cast<int *>(In) = 1;
  }

  void read(const LinearProgram &L, LinearResult &R) const {
    int Quality = 0;
    H.getIntInfoValue(Model, "primal_solution_status", &Quality);
    if (Quality == PointFeasible) {
      R.Point.resize(L.numColumns());
      H.getSolution(Model, R.Point.data(), nullptr, nullptr, nullptr);
      H.getDoubleInfoValue(Model, "objective_function_value", &R.Objective);
    }
    if (Whole) {
      H.getDoubleInfoValue(Model, "mip_dual_bound", &R.Bound);
      long long Nodes = 0;
      H.getInt64InfoValue(Model, "mip_node_count", &Nodes);
      R.Nodes = Nodes;
    } else if (R.Status == LinearStatus::Optimal) {
      R.Bound = R.Objective;
    }
  }
};

} // namespace

LinearResult remat::solver::solveLinear(const LinearProgram &L,
                                        const LinearOptions &O) {
  LinearResult R;
  const Highs *H = Highs::get(R.Message);
  if (!H)
    return R;
  Session S(*H);
  S.silence();
  if (!S.pass(L)) {
    R.Message = "the linear-programming library refused the program";
    return R;
  }
  S.configure(O);
  return S.run(L);
}

std::string remat::solver::whyNoLinearSolver() {
  std::string Why;
  Highs::get(Why);
  return Why;
}
