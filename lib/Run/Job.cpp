//===- Job.cpp - the ranks of a run ---------------------------------------===//

#include "Job.h"
#include "remat/Driver/FreeMemory.h"
#include "remat/Support/Tool.h"
#include "remat/runtime/Sha256.h"
#include "remat/runtime/Together.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Beginning
//===----------------------------------------------------------------------===//

/// Leaves to rank 0 what it alone says.
static void silence(ToolOptions &O) {
  O.Quiet = true;
  for (std::string *File : {&O.Report, &O.Metrics, &O.Page, &O.Timeline,
                            &O.Table, &O.Trace, &O.EmitProgram, &O.Profile})
    File->clear();
}

Status run::joinRanks(ToolOptions &O, std::shared_ptr<Ranks> Given) {
  O.TheRanks = std::move(Given);
  if (!O.TheRanks) {
    Result<std::shared_ptr<Ranks>> Started = createRanks(O.Compile.Device);
    if (!Started)
      return Started.getError();
    O.TheRanks = std::move(*Started);
  }
  if (!O.TheRanks)
    return {};
  int64_t Count = O.TheRanks->getSize();
  if (O.Compile.Ranks != 1 && O.Compile.Ranks != Count)
    return Error(ErrorCode::InvalidArgument,
                 "--ranks " + std::to_string(O.Compile.Ranks) + ": " +
                     std::to_string(Count) +
                     " processes were started; without --ranks it is as many "
                     "as there are");
  O.Compile.Ranks = Count;
  O.TheRanks->setTimeLimit(O.RankTimeout);
  if (!O.isFirst())
    silence(O);
  return {};
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static Outcome fail(const std::string &Message) {
  llvm::outs().flush();
  llvm::WithColor::error(llvm::errs(), "remat-run") << Message << '\n';
  return Outcome::Failed;
}

/// What the ranks tell each other of their outcomes: a letter, then the SHA-256
/// of the program.
static constexpr char DoneMark = 'd', RefusedMark = 'r', FailedMark = 'f';

static std::string describe(const std::string &Mark) {
  if (Mark.front() == RefusedMark)
    return "refuses its budget";
  return "has a program with the SHA-256 " + Mark.substr(1);
}

/// What all make of the outcomes of all. `Text` is what this rank had to say.
static Outcome judge(const std::vector<std::string> &Marks, uint32_t Own,
                     const std::string &Text) {
  for (size_t Rank = 0; Rank < Marks.size(); ++Rank) {
    if (Marks[Rank].front() != FailedMark)
      continue;
    // Rank 0 has said why already, and it is why the others fail, too.
    if (Marks.front().front() != FailedMark) {
      llvm::errs() << Text;
      if (Marks[Own].front() != FailedMark)
        fail("rank " + std::to_string(Rank) + " cannot compile the graph");
    }
    return Outcome::Failed;
  }
  for (size_t Rank = 1; Rank < Marks.size(); ++Rank)
    if (Marks[Rank] != Marks.front())
      return fail("rank 0 " + describe(Marks.front()) + ", rank " +
                  std::to_string(Rank) + " " + describe(Marks[Rank]) +
                  ": their graph files, options or builds differ");
  return Marks.front().front() == RefusedMark ? Outcome::Refused
                                              : Outcome::Done;
}

/// Work of each rank that may take long, and what became of it.
static Status workAlone(const ToolOptions &O, Outcome &How,
                        const std::function<Outcome()> &Work) {
  How = Outcome::Failed;
  return workTogether(
      O.TheRanks.get(),
      [&]() -> Status {
        How = Work();
        return {};
      },
      // Planning ends, which may take long.
      [](const Error &) { Interrupted = true; });
}

/// Makes the least that any rank's device has free the budget of all.
static Outcome agreeOnBudget(ToolOptions &O, const std::string &Text) {
  std::optional<std::string> Device;
  Outcome Own;
  if (Status Watched = workAlone(O, Own, [&] { return findDevice(O, Device); });
      !Watched)
    return fail(Watched.getError().getMessage());
  auto Marks = allGather(*O.TheRanks, Own == Outcome::Done
                                          ? DoneMark + Device.value_or("")
                                          : std::string(1, FailedMark));
  if (!Marks)
    return fail(Marks.getError().getMessage());
  // What else differs is seen when all have compiled.
  if (std::ranges::any_of(*Marks, [](const std::string &Mark) {
        return Mark.front() == FailedMark;
      }))
    return judge(*Marks, O.TheRanks->getRank(), Text);
  if (std::ranges::any_of(
          *Marks, [](const std::string &Mark) { return Mark.size() == 1; }))
    return Outcome::Done;
  auto Found = findMaxBudget(*Device, O.TheRanks.get());
  if (!Found)
    return fail(Found.getError().getMessage());
  O.Compile.Budget = Budget::ofBytes(Found->Bytes);
  if (!O.Quiet)
    llvm::outs() << Found->Line << '\n';
  return Outcome::Done;
}

/// Whether all ranks have the budget `max`; an error where only some have.
static Result<bool> wantsMax(const ToolOptions &O) {
  auto All = allGather(*O.TheRanks, O.Compile.Budget.str());
  if (!All)
    return All.getError();
  auto IsMax = [](const std::string &Text) { return Text == "max"; };
  for (size_t Rank = 1; Rank < All->size(); ++Rank)
    if (IsMax((*All)[Rank]) != IsMax(All->front()))
      return Error(ErrorCode::InvalidArgument,
                   "rank 0 has --budget " + All->front() + ", rank " +
                       std::to_string(Rank) + " has --budget " + (*All)[Rank] +
                       ": all ranks are to be started alike");
  return IsMax(All->front());
}

Outcome run::compileTogether(ToolOptions &O, CompiledFile &Compiled) {
  if (!O.TheRanks)
    return compileFile(O, Compiled);
  std::string Text;
  llvm::raw_string_ostream Kept(Text);
  if (!O.isFirst())
    O.Errors = &Kept;
  auto Restore = llvm::scope_exit([&] { O.Errors = nullptr; });
  Result<bool> Max = wantsMax(O);
  if (!Max)
    return fail(Max.getError().getMessage());
  if (*Max)
    if (Outcome How = agreeOnBudget(O, Text); How != Outcome::Done)
      return How;
  Outcome Own;
  if (Status Watched =
          workAlone(O, Own, [&] { return compileFile(O, Compiled); });
      !Watched)
    return fail(Watched.getError().getMessage());
  std::string Mark(1, Own == Outcome::Done      ? DoneMark
                      : Own == Outcome::Refused ? RefusedMark
                                                : FailedMark);
  if (Own == Outcome::Done)
    Mark += computeSha256(
        std::string_view(reinterpret_cast<const char *>(Compiled.Bytes.data()),
                         Compiled.Bytes.size()));
  auto Marks = allGather(*O.TheRanks, Mark);
  if (!Marks)
    return fail(Marks.getError().getMessage());
  Outcome How = judge(*Marks, O.TheRanks->getRank(), Text);
  // All end now, and mpirun signals to the others once the first one has.
  if (How != Outcome::Done)
    handleInterrupts(true);
  return How;
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

static std::string joinTexts(const std::vector<std::string> &Texts) {
  std::string Joined;
  for (const std::string &Text : Texts)
    Joined += (Joined.empty() ? "" : " ") + Text;
  return Joined;
}

/// What ranks must have been told alike beside what makes the program, by name.
static RunFacts describeRun(const ToolOptions &O, const RunFacts &Facts) {
  RunFacts All = Facts;
  auto Number = [&](const char *Name, uint64_t Value) {
    All[Name] = std::to_string(Value);
  };
  Number("--steps", O.Steps);
  Number("--seed", O.Seed);
  Number("--evaluate-every", O.EvaluateEvery);
  Number("--evaluate-steps", O.EvaluateSteps);
  Number("--checkpoint-every", O.Checkpoints.Every);
  Number("--keep-checkpoints", O.Checkpoints.Keep);
  Number("--resume", O.Checkpoints.Resume);
  All["--checkpoint"] = O.Checkpoints.Folder;
  All["--augment"] = O.Augment;
  All["--evaluate-augment"] = O.EvaluateAugment;
  All["--evaluate-data"] = joinTexts(O.EvaluateData);
  All["--on-nonfinite"] = O.OnNonfinite;
  for (const auto &[Name, File] :
       {std::pair("--weights", &O.Weights), std::pair("--save", &O.Save),
        std::pair("--save-ema", &O.SaveAverages),
        std::pair("--save-best", &O.SaveBest),
        std::pair("--save-gradients", &O.SaveGradients),
        std::pair("--save-outputs", &O.SaveOutputs)})
    All[Name] = *File;
  return All;
}

Status run::compareRanks(const ToolOptions &O, const RunFacts &Facts) {
  if (!O.TheRanks)
    return {};
  std::vector<std::pair<std::string, std::string>> Own;
  for (const auto &Fact : describeRun(O, Facts))
    Own.push_back(Fact);
  // An option may be why data differ.
  std::ranges::stable_partition(
      Own, [](const auto &Fact) { return Fact.first != "--data"; });
  // All have the same names, for those depend on the program only.
  for (const auto &[Name, Text] : Own) {
    auto All = allGather(*O.TheRanks, Name + '\0' + Text);
    if (!All)
      return All.getError();
    for (size_t Rank = 1; Rank < All->size(); ++Rank)
      if ((*All)[Rank] != All->front()) {
        auto Say = [&](size_t Of) {
          std::string Given = (*All)[Of];
          Given =
              Given.substr(std::min(Given.find('\0'), Given.size() - 1) + 1);
          return "rank " + std::to_string(Of) + " has " + Name + " " +
                 (Given.empty() ? "none" : Given);
        };
        return Error(ErrorCode::InvalidArgument,
                     Say(0) + ", " + Say(Rank) +
                         ": all ranks are to be started alike");
      }
  }
  return {};
}

Result<bool> run::checkInterrupt(const ToolOptions &O) {
  if (!O.TheRanks)
    return Interrupted.load();
  return anyOf(*O.TheRanks, Interrupted);
}
