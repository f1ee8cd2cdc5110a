//===- ProgressText.cpp - plans and progress in one line ------------------===//

#include "remat/Support/ProgressText.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace remat;

static std::string print(const char *Format, double Value) {
  char Text[64];
  std::snprintf(Text, sizeof Text, Format, Value);
  return Text;
}

/// "2.27 of 2.30 MiB": the unit once where it is the same.
static std::string formatOf(int64_t Bytes, std::optional<int64_t> Budget) {
  std::string Used = formatBytes(Bytes);
  if (!Budget)
    return Used;
  std::string Whole = formatBytes(*Budget);
  size_t Unit = Used.find(' ');
  if (Used.substr(Unit) == Whole.substr(Whole.find(' ')))
    Used.resize(Unit);
  return Used + " of " + Whole;
}

std::string remat::renderPlan(const PlanNumbers &Plan) {
  std::string Line =
      "plan: " + formatOf(Plan.PeakBytes, Plan.BudgetBytes) + ", ";
  if (Plan.RecomputedOps == 0)
    Line += "nothing recomputed";
  else
    Line += std::to_string(Plan.RecomputedOps) +
            (Plan.RecomputedOps == 1 ? " recomputation" : " recomputations");
  Line += print(", %+.1f %% time", std::max(Plan.Overhead, 0.0) * 100);
  // Rounded up: it must not promise more than is proven.
  if (Plan.Gap)
    Line += print(", within %.1f %% of the best possible",
                  std::ceil(std::max(*Plan.Gap, 0.0) * 1000) / 10);
  if (Plan.FromCache)
    Line += ", from the cache";
  return Line;
}

std::string remat::renderPlanning(const PlanProgress &P, const Screen &Where) {
  std::string Line = "planning " + formatSeconds(P.Seconds) + ": ";
  if (!P.BudgetBytes) {
    Line +=
        "the smallest budget found so far is " + formatBytes(P.SmallestBytes);
  } else {
    Line += P.Overhead ? print("%+.1f %% time found", *P.Overhead * 100)
                       : "nothing found yet";
    Line += " within " + formatBytes(*P.BudgetBytes);
    if (P.LeastOverhead)
      Line += print(", at least %+.1f %% proven",
                    std::floor(*P.LeastOverhead * 1000) / 10);
  }
  return cutTo(Line, Where.Width - 1);
}

/// "83.2k": three digits and a power of a thousand.
static std::string formatCount(double Count) {
  static constexpr const char *Powers[] = {"", "k", "M", "G", "T"};
  const char *const *Power = Powers;
  for (; Count >= 999.5 && Power + 1 < std::end(Powers); ++Power)
    Count /= 1000;
  return print(Count < 9.995   ? "%.2f"
               : Count < 99.95 ? "%.1f"
                               : "%.0f",
               Count) +
         *Power;
}

std::string remat::renderStep(const TrainingNumbers &T) {
  std::string Line =
      "step " + std::to_string(T.Step) + "/" + std::to_string(T.Steps);
  if (T.Loss)
    Line += print("  loss %.6g", *T.Loss);
  if (T.GradientNorm)
    Line += print("  norm %.4g", *T.GradientNorm);
  Line += print("  %.2f ms  ", T.StepMs);
  Line += print("%.2f MiB", static_cast<double>(T.PeakBytes) / (1 << 20));
  if (T.BudgetBytes)
    Line +=
        print(" of %.2f MiB", static_cast<double>(*T.BudgetBytes) / (1 << 20));
  if (isLogged(2, T.Steps))
    return Line;
  if (T.Throughput)
    Line += "  " + formatCount(*T.Throughput) + " " + T.Unit + "/s";
  if (T.SecondsLeft)
    Line += "  " + formatSeconds(*T.SecondsLeft) + " left";
  return Line;
}

/// What is said of a step, each as wide whatever the numbers, so that the line
/// keeps still; what matters most comes first.
static std::vector<std::string> describeStep(const TrainingNumbers &T) {
  std::vector<std::string> Parts;
  if (T.Loss)
    Parts.push_back(padRight(print("loss %.5g", *T.Loss), 15));
  if (T.GradientNorm)
    Parts.push_back(padRight(print("norm %.3g", *T.GradientNorm), 13));
  Parts.push_back(padLeft(print("%.1f ms", T.StepMs), 10));
  if (T.SecondsLeft)
    Parts.push_back(padLeft(formatSeconds(*T.SecondsLeft), 7) + " left");
  if (T.Throughput)
    Parts.push_back(padLeft(formatCount(*T.Throughput), 5) + " " + T.Unit +
                    "/s");
  Parts.push_back(formatOf(static_cast<int64_t>(T.PeakBytes), T.BudgetBytes));
  return Parts;
}

std::string remat::renderTraining(const TrainingNumbers &T,
                                  const Screen &Where) {
  static constexpr unsigned MinBar = 8, MaxBar = 24;
  std::string Steps = std::to_string(T.Steps);
  unsigned Free = Where.Width - 1, Digits = countColumns(Steps);
  std::string Front = padLeft(std::to_string(T.Step), Digits) + "/" + Steps;
  Free -= std::min(Free, countColumns(Front));
  std::string Back;
  for (const std::string &Part : describeStep(T)) {
    unsigned Columns = 2 + countColumns(Part);
    if (countColumns(Back) + Columns + 2 + MinBar > Free)
      break;
    Back += "  " + Part;
  }
  Free -= std::min(Free, countColumns(Back) + 2);
  double Part = T.Steps ? static_cast<double>(T.Step) / T.Steps : 1;
  unsigned Width = std::min(Free, MaxBar);
  std::string Bar = makeBar(Part, Width, Where.Unicode);
  std::string Blanks(Width - std::min(Width, countColumns(Bar)), ' ');
  if (Where.Colour)
    Bar = "\x1b[32m" + Bar + "\x1b[0m";
  return Front + "  " + Bar + Blanks + Back;
}

bool remat::isLogged(uint64_t Step, uint64_t Steps) {
  static constexpr uint64_t Lines = 100;
  uint64_t Distance = (Steps + Lines - 1) / Lines;
  return Step == 1 || Step == Steps || Distance <= 1 || Step % Distance == 0;
}
