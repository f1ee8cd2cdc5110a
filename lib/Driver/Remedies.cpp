//===- Remedies.cpp - what would make a refused graph fit -----------------===//
//
// A number is the smallest budget found of the graph that was really compiled
// that way. With the same strategy, effort and seed, who follows the advice
// gets that number; where compiling took long, the effort is none, and he gets
// no more than that.
//
//===----------------------------------------------------------------------===//

#include "remat/Driver/Remedies.h"
#include "remat/Analysis/MemoryProfile.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/RematOps.h"
#include "remat/IR/TypeUtils.h"
#include "remat/Support/Threads.h"
#include "llvm/ADT/STLExtras.h"
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

using namespace mlir;
using namespace remat;

namespace {

/// Becomes true after some seconds; at once where the system gives no thread to
/// wait in.
class Alarm {
public:
  explicit Alarm(double Seconds) {
    if (hasLimitedAddresses()) {
      Rang = true;
      return;
    }
    try {
      Waiting = std::thread([this, Seconds] { wait(Seconds); });
    } catch (const std::system_error &) {
      Rang = true;
    }
  }
  ~Alarm() {
    if (!Waiting.joinable())
      return;
    {
      std::lock_guard Lock(Mutex);
      Over = true;
    }
    Ended.notify_all();
    Waiting.join();
  }
  const std::atomic<bool> *get() const { return &Rang; }
  bool rang() const { return Rang; }

private:
  void wait(double Seconds) {
    std::unique_lock Lock(Mutex);
    Ended.wait_for(Lock, std::chrono::duration<double>(Seconds),
                   [this] { return Over; });
    Rang = true;
  }

  std::atomic<bool> Rang = false;
  bool Over = false;
  std::mutex Mutex;
  std::condition_variable Ended;
  std::thread Waiting;
};

using Remedy = Refusal::Remedy;

class RemedySearch {
public:
  RemedySearch(ModuleOp Module, const CompileOptions &Options, double Seconds,
               CompileReport &Report)
      : Module(Module), Options(Options), Refused(*Report.Refused),
        Hurries(takesLong(Report, Seconds)), Time(Seconds),
        Silence(Module.getContext(), [](Diagnostic &) { return success(); }) {}

  void run() {
    tryKeeps();
    tryWorkspaces();
    tryOptimizers();
    tryMore(&CompileOptions::MicroBatches, MaxMicroBatches, "--accumulate",
            "each step in as many parts of the batch");
    if (Options.Slices != 0)
      tryMore(&CompileOptions::Slices, MaxSlices, "--slices",
              "of the largest values a part at a time; sums round otherwise");
    tryAutocast();
    tryPlanner();
    llvm::sort(Refused.Remedies, [](const Remedy &Left, const Remedy &Right) {
      return std::tie(Left.SmallestFeasibleBytes, Left.Change) <
             std::tie(Right.SmallestFeasibleBytes, Right.Change);
    });
  }

private:
  /// Compilations that have to be done in the time.
  static constexpr int NumTries = 8;

  static bool takesLong(const CompileReport &Report, double Seconds) {
    double Sum = 0;
    for (const auto &[Phase, Spent] : Report.Seconds)
      Sum += Spent;
    return Sum * NumTries > Seconds;
  }

  std::optional<int64_t> findSmallest(ModuleOp Graph, CompileOptions Changed);
  bool add(std::string Change, std::string Effect,
           std::optional<int64_t> Smallest);
  void addOrCount(std::string Change, std::string Effect,
                  std::optional<int64_t> Smallest, int64_t Counted);
  void tryKeeps();
  void tryWorkspaces();
  void tryOptimizers();
  void tryMore(int64_t CompileOptions::*Parts, int64_t Most, StringRef Option,
               std::string Effect);
  void tryAutocast();
  void tryPlanner();

  ModuleOp Module;
  const CompileOptions &Options;
  Refusal &Refused;
  /// Whether other ways are planned without effort.
  bool Hurries;
  Alarm Time;
  ScopedDiagnosticHandler Silence;
};

} // namespace

/// Nothing where the graph cannot be compiled so, or not in time.
std::optional<int64_t> RemedySearch::findSmallest(ModuleOp Graph,
                                                  CompileOptions Changed) {
  if (Time.rang())
    return std::nullopt;
  // The smallest budget does not depend on the one that is asked for; of what
  // is refused no program is made.
  Changed.Budget = Budget::ofBytes(1);
  Changed.Interrupt = Time.get();
  Changed.Watcher = nullptr;
  Changed.FindsCauses = false;
  if (Hurries)
    Changed.PlannerEffort = 0;
  OwningOpRef<ModuleOp> Copy(Graph.clone());
  std::vector<uint8_t> Program;
  CompileReport Report;
  if (succeeded(compile(*Copy, Changed, Program, Report)) || !Report.Refused)
    return std::nullopt;
  return Report.Refused->SmallestFeasibleBytes;
}

/// Says whether that needs less.
bool RemedySearch::add(std::string Change, std::string Effect,
                       std::optional<int64_t> Smallest) {
  if (!Smallest || *Smallest >= Refused.SmallestFeasibleBytes)
    return false;
  Refused.Remedies.push_back(
      {std::move(Change), std::move(Effect), *Smallest,
       Hurries ? Remedy::Certainty::AtMost : Remedy::Certainty::Exact});
  return true;
}

/// Where there was no time to plan so, `Counted` stands for the smallest
/// budget: that of now, less what is there at its peak and would not be.
void RemedySearch::addOrCount(std::string Change, std::string Effect,
                              std::optional<int64_t> Smallest,
                              int64_t Counted) {
  if (Smallest)
    add(std::move(Change), std::move(Effect), Smallest);
  else if (Counted < Refused.SmallestFeasibleBytes)
    Refused.Remedies.push_back({std::move(Change), std::move(Effect), Counted,
                                Remedy::Certainty::About});
}

/// Without what forbids to compute a value again.
void RemedySearch::tryKeeps() {
  if (!Options.Controls.Keep.empty()) {
    CompileOptions Changed = Options;
    Changed.Controls.Keep.clear();
    add("no --keep", "what it names may be computed again",
        findSmallest(Module, Changed));
  }
  SmallVector<Operation *> Kept;
  OwningOpRef<ModuleOp> Freed(Module.clone());
  Freed->walk([&](Operation *Op) {
    auto Attr = Op->getAttrOfType<KeepAttr>(KeepAttrName);
    if (Attr && Attr.getValue() == Keep::must)
      Kept.push_back(Op);
  });
  if (Kept.empty())
    return;
  for (Operation *Op : Kept)
    Op->removeAttr(KeepAttrName);
  std::string Where = getLocationText(Kept.front()->getLoc());
  if (Kept.size() > 1)
    Where += " and " + std::to_string(Kept.size() - 1) + " more places";
  add("no remat.keep<must>", "it is at " + Where,
      findSmallest(*Freed, Options));
}

static int64_t countClass(const Refusal &Refused, MemoryClass Which) {
  int64_t Bytes = 0;
  for (const auto &[Class, Held] : Refused.Classes)
    if (Class == getMemoryClassName(Which))
      Bytes += Held;
  return Bytes;
}

/// cuDNN's gradients of attention that are added up in a fixed order need a
/// workspace that grows with the square of the length.
void RemedySearch::tryWorkspaces() {
  int64_t Held = countClass(Refused, MemoryClass::Workspaces);
  if (Held == 0 ||
      Refused.PeakOpName != AttentionBackwardOp::getOperationName())
    return;
  auto Try = [&](std::string CompileOptions::*Option, const char *Value,
                 const char *Change, const char *Effect) {
    if (Options.*Option == Value)
      return;
    CompileOptions Changed = Options;
    Changed.*Option = Value;
    addOrCount(Change, Effect, findSmallest(Module, Changed),
               Refused.SmallestFeasibleBytes - Held);
  };
  Try(&CompileOptions::Deterministic, "false", "--deterministic false",
      "gradients of attention are added up in any order: other bits each run");
  Try(&CompileOptions::Attention, "own", "--attention own",
      "slower kernels, whose bits are others");
}

/// Rules that keep less beside each parameter.
void RemedySearch::tryOptimizers() {
  const OptimizerOptions &Now = Options.Optimizer;
  bool HasNoState = Now.Kind == "none" || Now.Kind == "adafactor" ||
                    (Now.Kind == "sgd" && Now.Momentum == 0);
  if (HasNoState)
    return;
  CompileOptions Changed = Options;
  Changed.Optimizer.Kind = "sgd";
  Changed.Optimizer.Momentum = 0;
  std::string Change = Now.Kind == "sgd"   ? "--momentum 0"
                       : Now.Momentum != 0 ? "--optimizer sgd --momentum 0"
                                           : "--optimizer sgd";
  std::string Effect = "no state beside the parameters; it trains another way";
  addOrCount(Change, Effect, findSmallest(Module, Changed),
             Refused.SmallestFeasibleBytes -
                 countClass(Refused, MemoryClass::OptimizerState));
  Changed = Options;
  Changed.Optimizer.Kind = "adafactor";
  add("--optimizer adafactor",
      "state of rows and columns only; it trains another way",
      findSmallest(Module, Changed));
}

void RemedySearch::tryAutocast() {
  if (!Options.Autocast.empty())
    return;
  CompileOptions Changed = Options;
  Changed.Autocast = "bf16";
  add("--autocast bf16", "computes with 8 bits of precision",
      findSmallest(Module, Changed));
}

/// Twice as many of them until it fits or they save nothing more. Only the best
/// is named.
void RemedySearch::tryMore(int64_t CompileOptions::*Parts, int64_t Most,
                           StringRef Option, std::string Effect) {
  std::optional<int64_t> Best;
  CompileOptions Changed = Options;
  int64_t Count = Options.*Parts;
  while (Count <= Most / 2) {
    Changed.*Parts = 2 * Count;
    std::optional<int64_t> Smallest = findSmallest(Module, Changed);
    if (!Smallest || *Smallest >= Best.value_or(Refused.SmallestFeasibleBytes))
      break;
    Best = Smallest;
    Count *= 2;
    if (*Best <= Refused.BudgetBytes)
      break;
  }
  add((Option + " " + Twine(Count)).str(), std::move(Effect), Best);
}

/// Other plans of the same program.
void RemedySearch::tryPlanner() {
  CompileOptions Changed = Options;
  if (!Options.Fuse) {
    Changed.Fuse = true;
    add("--fuse true", "values inside a kernel need no memory",
        findSmallest(Module, Changed));
    Changed = Options;
  }
  if (Options.Strategy != "search") {
    Changed.Strategy = "search";
    add("--strategy search", "the planner looks at more plans",
        findSmallest(Module, Changed));
  } else if (!Hurries && Refused.BudgetBytes > Refused.ImpossibleBytes &&
             Options.PlannerEffort < MaxEffort) {
    Changed.PlannerEffort = std::min(Options.PlannerEffort + 2, MaxEffort);
    add("--effort " + std::to_string(Changed.PlannerEffort),
        "planning takes longer", findSmallest(Module, Changed));
  }
}

void remat::findRemedies(ModuleOp Module, const CompileOptions &Options,
                         double Seconds, CompileReport &Report) {
  RemedySearch(Module, Options, Seconds, Report).run();
}
