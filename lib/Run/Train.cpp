//===- Train.cpp - runs a program's steps ---------------------------------===//

#include "Train.h"
#include "Checkpoints.h"
#include "Inputs.h"
#include "Job.h"
#include "Metrics.h"
#include "Nonfinite.h"
#include "ProcessMemory.h"
#include "Progress.h"
#include "Report.h"
#include "remat/Support/Numbers.h"
#include "remat/Support/Tool.h"
#include "remat/runtime/Device.h"
#include "remat/runtime/Machine.h"
#include "remat/runtime/Ranges.h"
#include "remat/runtime/Session.h"
#include "remat/runtime/SessionFiles.h"
#include "remat/runtime/Together.h"
#include <algorithm>

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;

static const ProgramResult *findResult(const Program &P, Role Wanted) {
  for (const ProgramResult &R : P.Results)
    if (R.Role == Wanted)
      return &R;
  return nullptr;
}

static Error refuse(const char *Message) {
  return Error(ErrorCode::InvalidArgument, Message);
}

/// Whether a step runs, where its results are to be saved.
static Status checkResults(const ToolOptions &O, uint64_t FirstStep) {
  bool Saves =
      !O.SaveGradients.empty() || !O.SaveOutputs.empty() || !O.Profile.empty();
  if (Saves && uint64_t(O.Steps) == FirstStep)
    return refuse("--save-gradients, --save-outputs and --profile need at "
                  "least one step");
  return {};
}

/// What is asked for but not there is said before the first step, not after
/// the last one.
static Status checkRequests(const Program &P, const ToolOptions &O) {
  if (O.Ranges && !hasRanges())
    return refuse("--nvtx: this build has no NVTX; its headers are in the "
                  "wheel nvidia-nvtx");
  if (!O.SaveGradients.empty() && !findResult(P, Role::Gradient))
    return refuse("the program has no gradients to save; compile a graph that "
                  "has a loss with --optimizer none");
  if (!O.SaveGradients.empty() &&
      std::ranges::any_of(P.Arguments, [](const Argument &A) {
        return A.Role == Role::Parameter && !A.Cuts.empty();
      }))
    return refuse("--save-gradients: ranks hold parts of the parameters and of "
                  "their gradients; with --parallel data each has all of them");
  if (!O.SaveOutputs.empty() && !findResult(P, Role::Output) &&
      !findResult(P, Role::Loss))
    return refuse("the program has no outputs to save");
  if (!O.SaveAverages.empty() && !hasAverages(P))
    return refuse("--save-ema: the program keeps no averages; compile its "
                  "graph with --ema");
  return NonfiniteWatch::verify(P, O);
}

static Status writeRate(Session &S, const ToolOptions &O) {
  for (const Argument &A : S.getProgram().Arguments) {
    if (A.Role != Role::LearningRate)
      continue;
    float Rate = float(O.Compile.Optimizer.LearningRate);
    return S.writeArgument(A.Name, &Rate, sizeof Rate);
  }
  return Error(ErrorCode::InvalidArgument,
               "--learning-rate: the program has no learning rate");
}

/// A program without an optimizer reads how many steps are done, but does not
/// count them itself.
static Status writeStep(Session &S, uint64_t Step) {
  for (const Argument &A : S.getProgram().Arguments)
    if (A.Role == Role::Step && A.DonatedResult < 0) {
      int64_t Count = Step;
      return S.writeArgument(A.Name, &Count, sizeof Count);
    }
  return {};
}

void RunResult::add(const StepNumbers &Numbers) {
  if (Numbers.Loss)
    Losses.push_back(*Numbers.Loss);
  for (const auto &[Name, Value] : Numbers.Metrics)
    Metrics[Name].push_back(Value);
}

static Status writeResults(Session &S, const ToolOptions &O) {
  if (!O.SaveGradients.empty())
    if (Status Saved =
            saveResults(S, O.SaveGradients, {Role::Loss, Role::Gradient});
        !Saved)
      return Saved;
  if (!O.SaveOutputs.empty())
    return saveResults(S, O.SaveOutputs, {Role::Loss, Role::Output});
  return {};
}

/// The last steps of a run are measured operation by operation.
static bool isProfiled(const ToolOptions &O, uint64_t Step) {
  constexpr uint64_t ProfiledSteps = 3;
  return !O.Profile.empty() && Step + ProfiledSteps >= uint64_t(O.Steps);
}

static Status runStep(Session &S, const ToolOptions &O, uint64_t Step,
                      RunResult &R) {
  if (!isProfiled(O, Step))
    return S.runStep();
  // The first step of a run is no measure of the others.
  if (R.StepMilliseconds.empty() && Step >= R.FirstStep + 2)
    R.WholeStepMs = S.getStatistics().MedianStepMs;
  S.getExecutable().setProfiling(true);
  if (Status Ran = S.runStep(); !Ran)
    return Ran;
  std::vector<double> Now = S.getExecutable().getStepMilliseconds();
  if (R.StepMilliseconds.empty())
    R.StepMilliseconds = Now;
  std::ranges::transform(R.StepMilliseconds, Now, R.StepMilliseconds.begin(),
                         [](double A, double B) { return std::min(A, B); });
  return {};
}

static Status runSteps(Session &S, InputFeeder &Feeder, Checkpoints &Saving,
                       Evaluator &Evaluator, const ToolOptions &O,
                       MetricsFile &Metrics, RunResult &R) {
  R.FirstStep = Saving.getFirstStep();
  TrainingProgress Progress(O, S.getProgram(), R.FirstStep);
  NonfiniteWatch Watch(O);
  handleInterrupts(true);
  if (Status Done = Evaluator.begin(Progress); !Done)
    return Done;
  for (uint64_t Step = R.FirstStep; Step < uint64_t(O.Steps); ++Step) {
    std::string Where = "step " + std::to_string(Step + 1);
    Result<bool> Ends = checkInterrupt(O);
    if (!Ends)
      return Ends.getError().within(Where);
    if (*Ends)
      return Saving.interrupt(S, Step, "before " + Where);
    if (Status Fed = agree(O.TheRanks.get(), Feeder.feed(S, Step)); !Fed)
      return Saving.leave(S, Step, Fed.getError().within(Where));
    if (Status Counted = writeStep(S, Step); !Counted)
      return Counted;
    if (Status Ran = runStep(S, O, Step, R); !Ran)
      return Ran.getError().within(Where);
    Result<StepNumbers> Numbers = readNumbers(S);
    if (!Numbers)
      return Numbers.getError().within(Where);
    R.add(*Numbers);
    Metrics.add(S, *Numbers);
    if (Status Finite = Watch.check(Step + 1, *Numbers, S, Progress, R);
        !Finite)
      return Finite;
    Progress.finishStep(Step + 1, *Numbers, S.getStatistics());
    if (Step + 1 == uint64_t(O.Steps))
      if (Status Written = writeResults(S, O); !Written)
        return Saving.leave(S, Step + 1, Written.getError());
    if (Status Done = Evaluator.finishStep(Step + 1, Progress); !Done)
      return Saving.leave(S, Step + 1, Done.getError());
    Saving.finishStep(S, Step + 1, Progress);
  }
  R.LastCheckpoint = Saving.finish(S, O.Steps);
  return {};
}

static Status writeFiles(Session &S, const ToolOptions &O) {
  if (!O.Save.empty())
    if (Status Saved = saveWeights(S, O.Save, Saved::Model); !Saved)
      return Saved;
  if (!O.SaveAverages.empty())
    if (Status Saved = saveWeights(S, O.SaveAverages, Saved::Averages); !Saved)
      return Saved;
  return {};
}

/// Adds what the data are, where that is to be compared with other ranks' or
/// another run's.
static Status describeData(const InputFeeder &Feeder, const ToolOptions &O,
                           RunFacts &Facts) {
  if (O.Checkpoints.Folder.empty() && !O.TheRanks)
    return {};
  Result<std::string> Data = Feeder.describeData();
  if (!Data)
    return Data.getError();
  Facts["--data"] = std::move(*Data);
  return compareRanks(O, Facts);
}

/// The least and the most that any rank measured.
static Status comparePeaks(const ToolOptions &O, RunResult &R) {
  R.LeastPeakBytes = R.MostPeakBytes = R.MeasuredPeakBytes;
  if (!O.TheRanks)
    return {};
  auto All = allGather(*O.TheRanks, std::to_string(R.MeasuredPeakBytes));
  if (!All)
    return All.getError();
  for (const std::string &Text : *All) {
    uint64_t Bytes = parseNumber<uint64_t>(Text).value_or(0);
    R.LeastPeakBytes = std::min(R.LeastPeakBytes, Bytes);
    R.MostPeakBytes = std::max(R.MostPeakBytes, Bytes);
  }
  return {};
}

Result<RunResult> run::train(std::shared_ptr<const Program> P,
                             const ToolOptions &O, RunFacts Facts) {
  if (Status Checked = checkRequests(*P, O); !Checked)
    return Checked.getError();
  ResidentGrowth Growth;
  DeviceOptions Choice;
  Result<MachineShare> Share = shareMachine(O.TheRanks.get());
  if (!Share)
    return Share.getError();
  Choice.Threads = O.Threads ? O.Threads : Share->NumProcessors;
  Choice.MatmulAlgorithms = O.MatmulAlgorithms;
  Choice.TheRanks = O.TheRanks;
  if (O.TheRanks)
    Choice.Ordinal = static_cast<int>(O.TheRanks->getLocalRank());
  Result<std::unique_ptr<Device>> D = createDevice(P->Device, Choice);
  if (!D)
    return D.getError();
  SessionOptions Options;
  Options.Poison = O.Poison;
  Options.Ranges = O.Ranges;
  Options.CheckFinite = O.NanCheck;
  Result<std::unique_ptr<Session>> Made =
      Session::create(std::move(P), **D, Options);
  if (!Made)
    return Made.getError();
  Session &S = **Made;

  if (Status Initialised = S.initialise(O.Seed); !Initialised)
    return Initialised.getError();
  if (O.RateGiven)
    if (Status Written = writeRate(S, O); !Written)
      return Written.getError();
  Result<InputFeeder> Feeder = InputFeeder::create(S, O);
  if (!Feeder)
    return Feeder.getError();
  if (Status Same = describeData(*Feeder, O, Facts); !Same)
    return Same.getError();
  Result<Checkpoints> Saving = Checkpoints::open(S, O, std::move(Facts));
  if (!Saving)
    return Saving.getError();
  if (!O.Weights.empty() && Saving->getResumedFrom().empty())
    if (Status Loaded = loadWeights(S, O.Weights); !Loaded)
      return Loaded.getError();
  if (Status Checked = checkResults(O, Saving->getFirstStep()); !Checked)
    return Checked.getError();

  Result<Evaluator> Evaluation = Evaluator::create(S, *Saving, O);
  if (!Evaluation)
    return Evaluation.getError();
  Result<MetricsFile> Metrics =
      MetricsFile::open(S, **D, O, Saving->getFirstStep());
  if (!Metrics)
    return Metrics.getError();

  RunResult R;
  R.ResumedFrom = Saving->getResumedFrom();
  if (Status Ran = runSteps(S, *Feeder, *Saving, *Evaluation, O, *Metrics, R);
      !Ran)
    return Ran.getError();
  R.Evaluations = Evaluation->take();
  if (Status Written = writeFiles(S, O); !Written)
    return Written.getError();
  if (Status Complete = Metrics->finish(); !Complete)
    return Complete.getError();
  Result<std::string> Digest = S.computeParametersDigest();
  if (!Digest)
    return Digest.getError();
  R.ParametersDigest = std::move(*Digest);
  SessionStatistics Statistics = S.getStatistics();
  R.MedianMs = Statistics.MedianStepMs;
  R.MeasuredPeakBytes = Statistics.MeasuredPeakBytes;
  if (Status Compared = comparePeaks(O, R); !Compared)
    return Compared.getError();
  R.Device = (*D)->getDescription();
  R.IsDeterministic =
      (*D)->isDeterministic() && S.getProgram().isDeterministic();
  R.HostScratchBytes = S.getExecutable().getHostScratchBytes();
  if (Result<MemoryInfo> Memory = (*D)->getMemoryInfo()) {
    R.ContextBytes = Memory->ContextBytes;
    R.ProcessBytes = Memory->ProcessBytes;
  }
  if ((*D)->getName() == "host")
    R.ProcessBytes = Growth.getBytes();
  return R;
}
