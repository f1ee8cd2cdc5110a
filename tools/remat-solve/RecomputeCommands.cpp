//===- RecomputeCommands.cpp - remat-solve recompute, frontier, verify ----===//
#include "Commands.h"

#include "remat/Solver/JSON.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace remat;
using namespace remat::solver;

namespace {

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
  // A file is the last thing that can fail, so that no error leaves one behind.
  std::string Text = writeAnswer(*P, R);
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

std::vector<Row> rowsOf(const Frontier &F) {
  std::vector<Row> Rows;
  for (size_t I = 0; I < F.Budgets.size(); ++I)
    if (const Certificate &C = F.Results[I].Proof; F.Results[I].Feasible)
      Rows.push_back({F.Budgets[I], C.Time, C.LowerBound, C.Peak});
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
  Frontier F = sweep(*P, optionsOf(A), A.Points);
  std::chrono::duration<double> Seconds =
      std::chrono::steady_clock::now() - Start;
  std::vector<Row> Rows = rowsOf(F);
  double Base = F.BaseTime;
  bool DrawsSvg = !A.SvgFile.empty() && !Rows.empty() && Base > 0;
  std::string Text = writeFrontier(F, Seconds.count()), Csv = csvOf(Rows, Base),
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
  std::printf("%s\n", writeVerification(*P, *S, R, false).c_str());
  if (R.Ok)
    return ExitDone;
  return R.OverBudget ? ExitRefused : ExitError;
}
