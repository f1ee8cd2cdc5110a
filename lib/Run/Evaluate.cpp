//===- Evaluate.cpp - evaluation between steps ----------------------------===//

#include "Evaluate.h"
#include "Job.h"
#include "remat/Pipeline.h"
#include "remat/Support/Tool.h"
#include "remat/runtime/SessionFiles.h"
#include "remat/runtime/Together.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;

static const std::string Name = EvaluationName.str();

/// What a checkpoint calls the lowest loss, written so that it reads back
/// exactly. That of averages is no measure for parameters.
static std::string getBestNote(bool OfAverages) {
  return OfAverages ? "lowest evaluation loss of averages"
                    : "lowest evaluation loss";
}

/// What it calls the step whose evaluation an interrupt ended.
static const std::string OwedNote = "interrupted evaluation";

static std::optional<float> readBest(const Checkpoints &Saving,
                                     bool OfAverages) {
  std::optional<std::string> Text = Saving.getNote(getBestNote(OfAverages));
  double Loss = 0;
  if (!Text || llvm::StringRef(*Text).getAsDouble(Loss) || !std::isfinite(Loss))
    return std::nullopt;
  return static_cast<float>(Loss);
}

void Evaluator::setBest(float Lowest) {
  Best = Lowest;
  std::string Text;
  llvm::raw_string_ostream(Text) << llvm::format("%.9g", double(Lowest));
  Saving->note(getBestNote(ReadsAverages), Text);
}

/// What evaluation reads is the program's: @evaluate has averages where it was
/// compiled so.
static bool readsAverages(const Program &P, const Program &Function) {
  for (const Argument &A : P.Arguments)
    if (const Argument *Average = findAverage(P, A))
      if (readsArgument(Function, *Function.findArgument(Average->Name)))
        return true;
  return false;
}

/// Its data are those of training, as far as no others are given.
static void chooseData(ToolOptions &O) {
  if (!O.EvaluateData.empty()) {
    O.Data = O.EvaluateData;
    O.Inputs.clear();
  }
  O.AugmentsByChance = !O.EvaluateAugment.empty();
  if (O.EvaluateAugment == "none")
    O.Augment.clear();
  else if (!O.EvaluateAugment.empty())
    O.Augment = O.EvaluateAugment;
}

Result<Evaluator> Evaluator::create(Session &S, Checkpoints &Saving,
                                    const ToolOptions &Options) {
  Evaluator E(Options);
  if (Options.EvaluateEvery == 0)
    return E;
  if (!S.getProgram().findFunction(Name))
    return Error(ErrorCode::InvalidArgument,
                 "--evaluate-every: the program has no function '" + Name +
                     "'; compile its graph with --evaluate-every");
  Result<Session *> Function = S.getFunction(Name);
  if (!Function)
    return Function.getError();
  E.Training = &S;
  E.Function = *Function;
  for (const ProgramResult &R : E.Function->getProgram().Results)
    if (R.Role == Role::Loss)
      E.Loss = R.Name;
  if (E.Loss.empty())
    return Error(ErrorCode::InvalidArgument,
                 "--evaluate-every: the function '" + Name +
                     "' has no result of role loss");
  E.ReadsAverages = readsAverages(S.getProgram(), E.Function->getProgram());
  if (Options.EvaluateAverages && !E.ReadsAverages)
    return Error(ErrorCode::InvalidArgument,
                 "--evaluate-ema: the function '" + Name +
                     "' reads no averages; compile the graph with --ema and "
                     "--evaluate-ema");
  chooseData(E.Options);
  Result<InputFeeder> Feeder = InputFeeder::create(*E.Function, E.Options);
  if (!Feeder)
    return Feeder.getError().within("the data of evaluation");
  E.Feeder = std::move(*Feeder);
  E.Saving = &Saving;
  if (std::optional<float> Lowest = readBest(Saving, E.ReadsAverages))
    E.setBest(*Lowest);
  uint64_t First = Saving.getFirstStep();
  if (Saving.getNote(OwedNote) == std::to_string(First))
    E.Owed = First;
  return E;
}

/// The mean over the same batches each time; none if it was interrupted.
Result<std::optional<float>> Evaluator::evaluate() {
  double Sum = 0;
  for (int64_t Batch = 0; Batch < Options.EvaluateSteps; ++Batch) {
    Result<bool> Ends = checkInterrupt(Options);
    if (!Ends)
      return Ends.getError();
    if (*Ends)
      return std::optional<float>();
    float Value = 0;
    Status Done = agree(Options.TheRanks.get(), Feeder->feed(*Function, Batch));
    if (Done)
      Done = Function->runStep();
    if (Done)
      Done = Function->readResult(Loss, &Value, sizeof Value);
    if (!Done)
      return Done.getError().within("batch " + std::to_string(Batch + 1));
    Sum += Value;
  }
  return std::optional(
      static_cast<float>(Sum / static_cast<double>(Options.EvaluateSteps)));
}

Status Evaluator::begin(TrainingProgress &Progress) {
  return Owed ? evaluateAfter(*Owed, Progress) : Status();
}

void Evaluator::print(TrainingProgress &Progress,
                      const std::string &Line) const {
  if (Options.Quiet)
    return;
  Progress.endLine();
  llvm::outs() << Line << '\n';
  llvm::outs().flush();
}

Status Evaluator::finishStep(uint64_t Step, TrainingProgress &Progress) {
  if (!Function || Step % Options.EvaluateEvery != 0)
    return {};
  return evaluateAfter(Step, Progress);
}

Status Evaluator::evaluateAfter(uint64_t Step, TrainingProgress &Progress) {
  std::string Where = "evaluation after step " + std::to_string(Step);
  if (ReadsAverages) {
    Result<bool> Begun = haveAveragesBegun(*Training);
    if (!Begun)
      return Begun.getError().within(Where);
    if (!*Begun) {
      print(Progress, Where + ": left out, for no step has changed the "
                              "parameters and there are no averages");
      return {};
    }
  }
  Result<std::optional<float>> Made = evaluate();
  if (!Made)
    return Made.getError().within(Where);
  std::optional<float> Mean = *Made;
  if (!Mean) {
    Saving->note(OwedNote, std::to_string(Step));
    return Saving->interrupt(*Training, Step, "in the " + Where);
  }
  Done.push_back({Step, *Mean});
  bool IsBest = std::isfinite(*Mean) && (!Best || *Mean < *Best);
  std::string Text;
  llvm::raw_string_ostream(Text)
      << Where << ": loss " << llvm::format("%.6g", double(*Mean))
      << (ReadsAverages ? " of averages" : "")
      << (IsBest ? ", the lowest so far" : "");
  print(Progress, Text);
  if (!IsBest)
    return {};
  setBest(*Mean);
  return Options.SaveBest.empty()
             ? Status()
             : saveWeights(*Training, Options.SaveBest,
                           ReadsAverages ? Saved::Averages : Saved::Model);
}
