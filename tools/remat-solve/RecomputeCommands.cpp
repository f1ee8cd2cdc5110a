//===- RecomputeCommands.cpp - remat-solve recompute, frontier, verify ----===//
#include "Commands.h"

#include "remat/Solver/JSON.h"
#include "remat/Solver/Planner.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace remat;
using namespace remat::solver;
using Json = nlohmann::ordered_json;

namespace {

std::string line(const Json &J) {
  return J.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json jsonOf(const SolveResult &R) {
  const Certificate &C = R.Proof;
  return {
      {"feasible", R.Feasible},
      {"time", C.Time},
      {"base_time", C.BaseTime},
      {"overhead", C.Overhead},
      {"peak", C.Peak},
      {"lower_bound", C.LowerBound},
      {"space", C.ProvenOver == Space::AnyOrder ? "any-order" : "base-order"},
      {"gap", R.Feasible ? Json(C.Gap) : Json(nullptr)},
      {"min_budget", C.MinBudget},
      {"min_budget_bound", C.MinBudgetBound},
      {"seconds", C.Seconds}};
}

void addReason(Json &J, const Problem &P, const Refusal &R) {
  J["reason"] = R.Message;
  J["proven"] = R.Proven;
  if (R.At != None)
    J["op"] = P.Ops[R.At].Name;
  J["needed"] = R.Needed;
  J["values"] = Json::array();
  for (size_t I = 0; I < R.Values.size() && I < 16; ++I)
    J["values"].push_back(P.Values[R.Values[I]].Name);
}

SolveOptions optionsOf(const RecomputeArgs &A) {
  SolveOptions O;
  O.Budget = A.Budget.value_or(INT64_MAX);
  O.Effort = A.Effort;
  O.TimeLimit = A.TimeLimit;
  O.Seed = A.Seed;
  O.Threads = A.Threads;
  O.FindMinBudget = A.MinBudget;
  O.Interrupt = &Interrupted;
  O.OnProgress = [](const Progress &P) {
    std::fprintf(stderr, "remat-solve: %.1f s, incumbent %.6g, bound %.6g\n",
                 P.Seconds, P.Incumbent, P.Bound);
  };
  return O;
}

} // namespace

std::optional<Problem> remat::solver::loadProblem(const RecomputeArgs &A) {
  std::optional<std::string> Text = readFile(A.ProblemFile);
  if (!Text)
    return std::nullopt;
  auto Read = readProblem(*Text);
  if (auto *E = std::get_if<ReadError>(&Read)) {
    badInput(A.ProblemFile + ": " + E->Message);
    return std::nullopt;
  }
  return std::get<Problem>(std::move(Read));
}

std::optional<Plan> remat::solver::loadPlan(const RecomputeArgs &A,
                                            const Problem &P) {
  std::optional<std::string> Text = readFile(A.PlanFile);
  if (!Text)
    return std::nullopt;
  auto Read = readPlan(*Text, P);
  if (auto *E = std::get_if<ReadError>(&Read)) {
    badInput(A.PlanFile + ": " + E->Message);
    return std::nullopt;
  }
  return std::get<Plan>(std::move(Read));
}

int remat::solver::runRecompute(const RecomputeArgs &A) {
  std::optional<Strategy> S = strategyOf(A.Method);
  if (!S)
    return badInput("unknown strategy '" + A.Method + "'");
  if (!canWrite({{"-o", A.OutFile}}))
    return ExitError;
  std::optional<Problem> P = loadProblem(A);
  if (!P)
    return ExitError;
  SolveOptions O = optionsOf(A);
  O.Method = *S;
  SolveResult R = solve(*P, O);
  if (!R.Notice.empty())
    std::fprintf(stderr, "remat-solve: %s\n", R.Notice.c_str());
  Json J = jsonOf(R);
  if (!R.Feasible)
    addReason(J, *P, R.Reason);
  // A file is the last thing that can fail, so that no error leaves one behind.
  std::string Text = line(J);
  if (R.Feasible && !A.OutFile.empty() &&
      !writeFile(A.OutFile, writePlan(*P, R.Best, &R.Proof)))
    return ExitError;
  std::printf("%s\n", Text.c_str());
  return R.Feasible ? ExitDone : ExitRefused;
}

namespace {

/// A point of the frontier.
struct Row {
  int64_t Budget = 0;
  double Time = 0, Bound = 0;
  int64_t Peak = 0;
};

std::string csvOf(const std::vector<Row> &Rows, double Base) {
  std::string Out = "budget,feasible,time,overhead,peak,lower_bound,gap\n";
  char Line[256];
  for (const Row &R : Rows) {
    std::snprintf(Line, sizeof Line, "%lld,1,%.17g,%.9g,%lld,%.17g,%.9g\n",
                  (long long)R.Budget, R.Time, Base > 0 ? R.Time / Base - 1 : 0,
                  (long long)R.Peak, R.Bound,
                  Base > 0 ? (R.Time - R.Bound) / Base : 0);
    Out += Line;
  }
  return Out;
}

/// Overhead over budget, plans as a line with dots, the bound dashed.
std::string svgOf(const std::vector<Row> &Rows, double Base) {
  constexpr double W = 640, H = 400, Margin = 50;
  double MaxOver = 1e-9;
  for (const Row &R : Rows)
    MaxOver = std::max(MaxOver, R.Time / Base - 1);
  double Low = double(Rows.front().Budget), High = double(Rows.back().Budget);
  auto PointOf = [&](const Row &R, double Time) {
    char Text[64];
    double Right = High > Low ? (double(R.Budget) - Low) / (High - Low) : 0;
    std::snprintf(Text, sizeof Text, "%.1f,%.1f ",
                  Margin + Right * (W - 2 * Margin),
                  H - Margin - (Time / Base - 1) / MaxOver * (H - 2 * Margin));
    return std::string(Text);
  };
  std::string Plans, Bounds;
  for (const Row &R : Rows) {
    Plans += PointOf(R, R.Time);
    Bounds += PointOf(R, R.Bound);
  }
  char Labels[512];
  std::snprintf(Labels, sizeof Labels,
                "<text x=\"50\" y=\"30\">overhead, up to %.2f %%</text>\n"
                "<text x=\"50\" y=\"385\">%.4g bytes</text>\n"
                "<text x=\"590\" y=\"385\" text-anchor=\"end\">%.4g "
                "bytes</text>\n",
                100 * MaxOver, Low, High);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" "
         "height=\"400\" font-family=\"sans-serif\" font-size=\"12\">\n"
         "<path d=\"M50,50 V350 H590\" fill=\"none\" stroke=\"black\"/>\n" +
         std::string(Labels) +
         "<polyline fill=\"none\" stroke=\"#1f77b4\" "
         "stroke-width=\"2\" points=\"" +
         Plans +
         "\"/>\n"
         "<polyline fill=\"none\" stroke=\"#888\" "
         "stroke-dasharray=\"4\" points=\"" +
         Bounds + "\"/>\n</svg>\n";
}

/// Evenly spaced budgets, the lowest first.
std::vector<int64_t> budgetsBetween(int64_t Low, int64_t High, int Points) {
  std::vector<int64_t> Out;
  for (int I = 0; I + 1 < Points; ++I)
    Out.push_back(Low +
                  int64_t(double(High - Low) * (double(I) / (Points - 1))));
  Out.push_back(Points > 1 ? High : Low);
  return Out;
}

/// From the smallest feasible budget to the base order's peak, at which `Top`
/// was found. An interrupt leaves points out.
std::vector<Row> sweep(Planner &Plans, int Points, const SolveResult &Top,
                       int64_t High) {
  std::vector<Row> Rows;
  std::vector<int64_t> Budgets =
      budgetsBetween(Top.Proof.MinBudget, High, Points);
  std::vector<SolveResult> Results = Plans.frontier(Budgets);
  for (size_t I = 0; I < Budgets.size(); ++I)
    if (const Certificate &C = Results[I].Proof; Results[I].Feasible)
      Rows.push_back({Budgets[I], C.Time, C.LowerBound, C.Peak});
  return Rows;
}

} // namespace

int remat::solver::runFrontier(const RecomputeArgs &A) {
  if (!canWrite({{"--csv", A.CsvFile}, {"--svg", A.SvgFile}}))
    return ExitError;
  std::optional<Problem> P = loadProblem(A);
  if (!P)
    return ExitError;
  auto Start = std::chrono::steady_clock::now();
  SolveOptions O = optionsOf(A);
  O.Budget = verify(*P, basePlan(*P), INT64_MAX).Peak;
  O.FindMinBudget = true;
  Planner Plans(*P, O);
  SolveResult Top = Plans.solve(O);
  std::vector<Row> Rows = sweep(Plans, A.Points, Top, O.Budget);
  double Base = Top.Proof.BaseTime;
  Json J = {{"feasible", !Rows.empty()},
            {"base_time", Base},
            {"min_budget", Top.Proof.MinBudget},
            {"min_budget_bound", Top.Proof.MinBudgetBound},
            {"seconds", std::chrono::duration<double>(
                            std::chrono::steady_clock::now() - Start)
                            .count()},
            {"points", Json::array()}};
  for (const Row &R : Rows)
    J["points"].push_back({{"budget", R.Budget},
                           {"time", R.Time},
                           {"peak", R.Peak},
                           {"lower_bound", R.Bound}});
  bool DrawsSvg = !A.SvgFile.empty() && !Rows.empty() && Base > 0;
  std::string Text = line(J), Csv = csvOf(Rows, Base),
              Svg = DrawsSvg ? svgOf(Rows, Base) : "";
  if (!A.CsvFile.empty() && !writeFile(A.CsvFile, Csv))
    return ExitError;
  if (DrawsSvg && !writeFile(A.SvgFile, Svg))
    return ExitError;
  std::printf("%s\n", Text.c_str());
  return Rows.empty() ? ExitRefused : ExitDone;
}

int remat::solver::runVerify(const RecomputeArgs &A) {
  std::optional<Problem> P = loadProblem(A);
  if (!P)
    return ExitError;
  std::optional<Plan> S = loadPlan(A, *P);
  if (!S)
    return ExitError;
  VerifyResult R = verify(*P, *S, A.Budget.value_or(INT64_MAX));
  double Base = P->baseTime();
  Json J = {{"feasible", R.Ok},
            {"time", R.Time},
            {"base_time", Base},
            {"overhead", Base > 0 && R.Ok ? R.Time / Base - 1 : 0},
            {"peak", R.Peak}};
  if (!R.Ok)
    J["reason"] = R.Error;
  if (R.PeakStep != None) {
    J["peak_step"] = R.PeakStep;
    J["peak_op"] = P->Ops[S->Sequence[R.PeakStep].Op].Name;
  }
  std::printf("%s\n", line(J).c_str());
  if (R.Ok)
    return ExitDone;
  return R.OverBudget ? ExitRefused : ExitError;
}
