//===- ReadPlan.cpp - The format remat-plan-1 -----------------------------===//
#include "Format/Reader.h"

#include "remat/Solver/JSON.h"

#include <cmath>
#include <unordered_map>

using namespace remat::solver;

namespace {

class PlanReader : Reader {
public:
  explicit PlanReader(const Problem &P) : P(P) {
    for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
      Ids.emplace(P.Ops[O].Name, O);
  }

  std::variant<Plan, ReadError> read(std::string_view Text) {
    Json J;
    if (!parse(Text, J) ||
        !object(J, "plan", {"format", "sequence", "certificate"}))
      return ReadError{Error};
    if (string(J, "format", "plan") != "remat-plan-1")
      fail("plan.format", "expected \"remat-plan-1\"");
    const Json *Seq = array(J, "sequence", "plan", true);
    for (size_t I = 0; Seq && I < Seq->size() && !failed(); ++I)
      readStep((*Seq)[I], at("sequence", I));
    if (const Json *C = field(J, "certificate", "plan", false))
      checkCertificate(*C, "certificate");
    if (failed())
      return ReadError{Error};
    return std::move(S);
  }

private:
  const Problem &P;
  std::unordered_map<std::string_view, OpId> Ids;
  Plan S;

  void readStep(const Json &J, const std::string &Place) {
    if (!object(J, Place, {"op", "choice"}))
      return;
    std::string Name = string(J, "op", Place);
    auto It = Ids.find(Name);
    if (It == Ids.end())
      return fail(Place, "no op is named '" + Name + "'");
    int64_t Choice = J.contains("choice") ? bytes(J, "choice", Place, true)
                                          : P.fastestChoice(It->second);
    if (Choice >= int64_t(P.numChoices(It->second)))
      return fail(Place + ".choice", "op '" + Name + "' has no such choice");
    S.Sequence.push_back({It->second, int32_t(Choice)});
  }

  /// A certificate is information for readers of the file: a plan is judged by
  /// `verify`. But what stands in it is what it is said to be.
  void checkCertificate(const Json &J, const std::string &Place) {
    if (!object(J, Place,
                {"time", "base_time", "overhead", "peak", "lower_bound",
                 "space", "gap", "min_budget", "min_budget_bound", "seconds",
                 "seed"}))
      return;
    for (const char *Key : {"time", "base_time", "lower_bound", "seconds"})
      number(J, Key, Place);
    // A bound whose last digits are rounded up may leave these below 0.
    for (const char *Key : {"overhead", "gap"})
      number(J, Key, Place, /*Signed=*/true);
    for (const char *Key : {"peak", "min_budget", "min_budget_bound"})
      bytes(J, Key, Place, true);
    std::string Space = string(J, "space", Place);
    if (Space != "any-order" && Space != "base-order")
      fail(Place + ".space", "expected \"any-order\" or \"base-order\"");
    double Seed = number(J, "seed", Place);
    if (std::floor(Seed) != Seed || Seed > double(UINT64_MAX))
      fail(Place + ".seed", "expected a whole number of 64 bits");
  }
};

} // namespace

std::variant<Plan, ReadError> remat::solver::readPlan(std::string_view Text,
                                                      const Problem &P) {
  return PlanReader(P).read(Text);
}
