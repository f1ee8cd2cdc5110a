//===- Planner.cpp - plans for programs of others -------------------------===//

#include "remat-c/Planner.h"
#include "Guard.h"
#include "remat/Solver/JSON.h"
#include "remat/Support/Numbers.h"
#include <algorithm>
#include <chrono>
#include <memory>
#include <span>

using namespace remat;
using namespace remat::capi;
using namespace remat::solver;

struct RematPlanner_ {
  Problem P;
  SolveOptions Options;
  std::atomic<bool> Interrupt = false;
  /// Made by the first call that needs it; an option that it was made with
  /// undoes it.
  std::optional<Planner> Plans;

  explicit RematPlanner_(Problem Read) : P(std::move(Read)) {
    Options.Effort = 3; // remat-solve's
    Options.Interrupt = &Interrupt;
  }
  Planner &getPlans() {
    if (!Plans)
      Plans.emplace(P, Options);
    return *Plans;
  }
};

struct RematPacker_ {
  std::vector<Buffer> Buffers;
  std::atomic<bool> Interrupt = false;
};

struct RematAnswer_ {
  std::string Text, Plan;
};

namespace {

/// An interrupt ends one call.
class Call {
public:
  explicit Call(std::atomic<bool> &Interrupt) : Interrupt(Interrupt) {}
  ~Call() { Interrupt = false; }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

private:
  std::atomic<bool> &Interrupt;
};

} // namespace

static RematAnswer makeAnswer(const Problem &P, const SolveResult &R) {
  return new RematAnswer_{writeAnswer(P, R), writePlan(P, R.Best, &R.Proof)};
}

static RematStatus makeBudgetError(int64_t Budget) {
  return makeStatus(REMAT_ERROR,
                    "a budget of " + std::to_string(Budget) + " bytes");
}

RematStatus rematPlannerCreate(const char *Text, size_t Length,
                               RematPlanner *Out) {
  return guard([&]() -> RematStatus {
    if (!Text || !Out)
      return makeNullError(Text ? "planner" : "problem");
    *Out = nullptr;
    auto Read = readProblem(std::string_view(Text, Length));
    if (auto *Failed = std::get_if<ReadError>(&Read))
      return makeStatus(REMAT_ERROR, Failed->Message);
    *Out = new RematPlanner_(std::get<Problem>(std::move(Read)));
    return nullptr;
  });
}

void rematPlannerDestroy(RematPlanner P) { delete P; }

/// Stores a number of the range in `Out`, or says what is wrong.
template <typename T>
static RematStatus setNumber(T &Out, std::optional<T> Read, const char *Name,
                             const char *Value) {
  if (!Read)
    return makeStatus(REMAT_ERROR, std::string(Name) + ": '" + Value +
                                       "' is not a number of the range");
  Out = *Read;
  return nullptr;
}

static RematStatus setOption(RematPlanner P, std::string_view Name,
                             const char *Value) {
  SolveOptions &O = P->Options;
  if (Name == "strategy") {
    std::optional<Strategy> Method = strategyOf(Value);
    if (!Method)
      return makeStatus(REMAT_ERROR,
                        "unknown strategy '" + std::string(Value) + "'");
    O.Method = *Method;
    return nullptr;
  }
  if (Name == "time-limit")
    return setNumber(O.TimeLimit, parseReal(Value, 0), "time-limit", Value);
  if (Name == "effort")
    return setNumber(O.Effort, parseInteger<int32_t>(Value, 0, 20), "effort",
                     Value);
  if (Name == "seed")
    return setNumber(O.Seed, parseInteger<uint64_t>(Value, 0, UINT64_MAX),
                     "seed", Value);
  if (Name == "threads")
    return setNumber(O.Threads, parseInteger<uint32_t>(Value, 0, 1024),
                     "threads", Value);
  return makeStatus(REMAT_ERROR,
                    "unknown option '" + std::string(Name) +
                        "'; there are strategy, effort, seed, threads and "
                        "time-limit");
}

RematStatus rematPlannerSet(RematPlanner P, const char *Name,
                            const char *Value) {
  return guard([&]() -> RematStatus {
    if (!P || !Name || !Value)
      return makeNullError(!P ? "planner" : Name ? "value" : "name");
    if (RematStatus Failed = setOption(P, Name, Value))
      return Failed;
    P->Plans.reset();
    return nullptr;
  });
}

void rematPlannerInterrupt(RematPlanner P) {
  if (P)
    P->Interrupt = true;
}

/// An answer for one budget, by `Plan` of the planner.
template <typename Function>
static RematStatus answer(RematPlanner P, int64_t Budget, RematAnswer *Out,
                          Function Plan) {
  return guard([&]() -> RematStatus {
    if (!P || !Out)
      return makeNullError(P ? "answer" : "planner");
    *Out = nullptr;
    if (Budget < 0)
      return makeBudgetError(Budget);
    Call Here(P->Interrupt);
    SolveResult R = Plan(P->getPlans());
    *Out = makeAnswer(P->P, R);
    return R.Feasible ? nullptr : makeStatus(REMAT_REFUSED, R.Reason.Message);
  });
}

RematStatus rematPlannerSolve(RematPlanner P, int64_t Budget, int Smallest,
                              RematAnswer *Out) {
  return answer(P, Budget, Out, [&](Planner &Plans) {
    SolveOptions O = P->Options;
    O.Budget = Budget;
    O.FindMinBudget = Smallest != 0;
    return Plans.solve(O);
  });
}

RematStatus rematPlannerAt(RematPlanner P, int64_t Budget, RematAnswer *Out) {
  return answer(P, Budget, Out,
                [&](Planner &Plans) { return Plans.at(Budget); });
}

RematStatus rematPlannerFrontier(RematPlanner P, const int64_t *Budgets,
                                 size_t Count, RematAnswer *Out) {
  return guard([&]() -> RematStatus {
    if (!P || !Budgets || !Out)
      return makeNullError(!P ? "planner" : Budgets ? "answers" : "budgets");
    std::fill(Out, Out + Count, nullptr);
    for (int64_t Budget : std::span(Budgets, Count))
      if (Budget < 0)
        return makeBudgetError(Budget);
    Call Here(P->Interrupt);
    std::vector<std::unique_ptr<RematAnswer_>> Made;
    for (const SolveResult &R :
         P->getPlans().frontier({Budgets, Budgets + Count}))
      Made.emplace_back(makeAnswer(P->P, R));
    for (size_t I = 0; I < Count; ++I)
      Out[I] = Made[I].release();
    return nullptr;
  });
}

RematStatus rematPlannerSweep(RematPlanner P, int Points, RematAnswer *Out) {
  return guard([&]() -> RematStatus {
    if (!P || !Out)
      return makeNullError(P ? "answer" : "planner");
    *Out = nullptr;
    if (Points < 1 || Points > 10000)
      return makeStatus(REMAT_ERROR, "points: " + std::to_string(Points) +
                                         " is not of 1 to 10000");
    Call Here(P->Interrupt);
    auto Start = std::chrono::steady_clock::now();
    Frontier F = sweep(P->P, P->Options, Points);
    std::chrono::duration<double> Seconds =
        std::chrono::steady_clock::now() - Start;
    *Out = new RematAnswer_{writeFrontier(F, Seconds.count()), ""};
    return nullptr;
  });
}

RematStatus rematPlannerVerify(RematPlanner P, const char *Text, size_t Length,
                               int64_t Budget, RematAnswer *Out) {
  return guard([&]() -> RematStatus {
    if (!P || !Text || !Out)
      return makeNullError(!P ? "planner" : Text ? "answer" : "plan");
    *Out = nullptr;
    auto Read = readPlan(std::string_view(Text, Length), P->P);
    if (auto *Failed = std::get_if<ReadError>(&Read))
      return makeStatus(REMAT_ERROR, Failed->Message);
    const Plan &S = std::get<Plan>(Read);
    VerifyResult R = verify(P->P, S, Budget < 0 ? INT64_MAX : Budget);
    *Out = new RematAnswer_{writeVerification(P->P, S, R, true), ""};
    return R.OverBudget ? makeStatus(REMAT_REFUSED, R.Error) : nullptr;
  });
}

RematStatus rematPackerCreate(const RematBuffer *Buffers, size_t Count,
                              RematPacker *Out) {
  return guard([&]() -> RematStatus {
    if (!Buffers || !Out)
      return makeNullError(Buffers ? "packer" : "buffers");
    *Out = nullptr;
    auto Made = std::make_unique<RematPacker_>();
    for (const RematBuffer &B : std::span(Buffers, Count)) {
      Made->Buffers.push_back(
          {B.lower, B.upper, B.size, B.alignment, std::nullopt});
      if (B.fixed >= 0)
        Made->Buffers.back().Fixed = B.fixed;
    }
    *Out = Made.release();
    return nullptr;
  });
}

void rematPackerDestroy(RematPacker P) { delete P; }

void rematPackerInterrupt(RematPacker P) {
  if (P)
    P->Interrupt = true;
}

RematStatus rematPackerRun(RematPacker P, int64_t Capacity, double Seconds,
                           int64_t Nodes, int64_t *Offsets, RematAnswer *Out) {
  return guard([&]() -> RematStatus {
    if (!P || !Offsets || !Out)
      return makeNullError(!P ? "packer" : Offsets ? "answer" : "offsets");
    *Out = nullptr;
    Call Here(P->Interrupt);
    PackOptions O;
    if (Capacity >= 0)
      O.Capacity = Capacity;
    O.TimeLimit = Seconds;
    O.NodeLimit = Nodes;
    O.Interrupt = &P->Interrupt;
    auto Start = std::chrono::steady_clock::now();
    PackResult R = pack(P->Buffers, O);
    std::chrono::duration<double> Taken =
        std::chrono::steady_clock::now() - Start;
    if (!R.Error.empty())
      return makeStatus(REMAT_ERROR, R.Error);
    *Out = new RematAnswer_{writePacking(R, Taken.count(), {}), ""};
    std::copy(R.Offsets.begin(), R.Offsets.end(), Offsets);
    return R.Feasible ? nullptr
                      : makeStatus(REMAT_REFUSED, "the buffers do not fit " +
                                                      std::to_string(Capacity) +
                                                      " bytes");
  });
}

void rematAnswerDestroy(RematAnswer Answer) { delete Answer; }

const char *rematAnswerGetText(RematAnswer Answer) {
  return Answer->Text.c_str();
}

const char *rematAnswerGetPlan(RematAnswer Answer) {
  return Answer->Plan.c_str();
}
