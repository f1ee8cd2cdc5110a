//===- CompileOptions.cpp - names and ranges of options -------------------===//
//
// Every number is parsed and checked here: what is not a number of the option's
// range is an error, and nothing wraps.
//
//===----------------------------------------------------------------------===//

#include "remat/CompileOptions.h"
#include "remat/Analysis/NamePattern.h"
#include "remat/IR/RematDialect.h"
#include "remat/Support/Architecture.h"
#include "remat/Support/Numbers.h"
#include "remat/Transforms/FitReport.h"
#include "remat/Transforms/Schedule.h"
#include "remat/Transforms/ScopeBudget.h"
#include "remat/Transforms/ShardRequest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace remat;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static SmallVector<StringRef> listOptimizers() {
  SmallVector<StringRef> Names(getUpdateKindNames());
  Names.push_back("none");
  return Names;
}

ArrayRef<CompileOption> remat::getCompileOptions() {
  static const std::string Optimizers = join(listOptimizers(), "|"),
                           Schedules = join(getScheduleKinds(), "|"),
                           Strategies = join(getFitStrategies(), "|");
  static const CompileOption Table[] = {
      {"device", "host|cuda",
       "where the program runs (default: as the graph says, else host)", false},
      {"budget", "BYTES|4GiB|50%|smallest|max|unlimited",
       "memory that the program may own; smallest: the least that is found to "
       "do; max: what the device has free, less a margin (default unlimited)",
       false},
      {"strategy", Strategies, "how recomputation is chosen (default search)",
       false},
      {"effort", "N", "amount of search, 0 to 20 (default 1)", false},
      {"planner-seed", "N", "seed of the search (default 0)", false},
      {"autocast", "bf16|f16", "computes in this type, parameters stay f32",
       false},
      {"freeze", "NAME|GLOB",
       "do not train these parameters: a name, or a glob such as body.*", false,
       /*Repeatable=*/true},
      {"shard", "NAME=DIM",
       "where the ranks have an axis 'tensor': cut this parameter, or those of "
       "a glob, along this dimension among them; NAME=DIM/BLOCKS cuts each of "
       "so many equal blocks (default: as the graph says, else where few bytes "
       "are sent)",
       false, /*Repeatable=*/true},
      {"accumulate", "N", "micro-batches a step (default 1)", false},
      {"parallel", "data|zero1|zero2|zero3[,tensor=N]",
       "how ranks share a step: data: each has a batch of its own; zero1, "
       "zero2, zero3: and keeps a part of the optimizer's states, of gradients "
       "too, of parameters too; tensor=N: N ranks share a batch, "
       "and parameters are cut among them (default: one rank)",
       false},
      {"ranks", "N",
       "processes that run the program side by side; remat-run knows it of "
       "what started it (default 1)",
       false},
      {"bucket", "BYTES",
       "gradients that are summed over ranks at once (default 25MiB)", false},
      {"slices", "N|auto",
       "makes and uses the largest values, as a language model's logits, in N "
       "slices one after the other; sums over slices round otherwise than "
       "whole ones. auto: as many as is fastest within the budget (default 1)",
       false},
      {"bitwise-budget", "true|false",
       "whether nothing may change a bit against the program without a budget, "
       "so that --slices auto leaves values whole (default false: only "
       "--slices auto and --deterministic false do)",
       false},
      {"fuse", "true|false", "groups operations into kernels (default true)",
       false},
      {"halves", "true|false",
       "with autocast bf16, on CUDA: stores f32 parameters so that their bf16 "
       "need not be made in each step, nor held beside them (default true)",
       false},
      {"arch", "sm_NN",
       "CUDA architecture (default: as the graph says, else sm_90)", false},
      {"attention", "auto|cudnn|own",
       "attention and convolution kernels on CUDA (default: as the graph "
       "says, else auto)",
       false},
      {"deterministic", "true|false",
       "whether a step computes the same bits at each run, and at each budget, "
       "on CUDA; false: attention's backward adds in any order, which is "
       "faster and takes less workspace (default: as the graph says, else "
       "true)",
       false},
      {"costs", "FILE",
       "a profile of this or another graph (remat-run --profile), whose times "
       "planning takes where it has them; of two the later one counts",
       false, /*Repeatable=*/true},
      {"keep", "NAME|GLOB",
       "compute these values once and keep them: a name, a glob such as "
       "h.*/gelu, or a scope such as h.1",
       false, /*Repeatable=*/true},
      {"recompute", "NAME|GLOB",
       "compute these values again for the backward, rather than keep them",
       false, /*Repeatable=*/true},
      {"prefer", "NAME|GLOB", "rather keep these values than others", false,
       /*Repeatable=*/true},
      {"scope-budget", "SCOPE=BYTES",
       "what a scope makes in the forward and keeps for the backward is at "
       "most "
       "so much",
       false, /*Repeatable=*/true},
      {"explain", "NAME|GLOB|all",
       "say in the report (remat-run: on standard output too) why these values "
       "are computed again or kept: a name, a glob such as h.1/*, or all",
       false, /*Repeatable=*/true},
      {"optimizer", Optimizers, "none: gradients are results (default adamw)",
       true},
      {"learning-rate", "X", "learning rate (default 0.001)", true},
      {"beta1", "X", "adamw, adam, lion: decay of the mean (default 0.9)",
       true},
      {"beta2", "X",
       "adamw, adam, rmsprop: decay of the mean square; lion: of the mean that "
       "is kept (default 0.999)",
       true},
      {"epsilon", "X",
       "adamw, adam, rmsprop: added to the root; adafactor: least size of a "
       "parameter (default 1e-8)",
       true},
      {"weight-decay", "X", "weight decay (default 0.01)", true},
      {"momentum", "X", "sgd, rmsprop, muon: momentum (default 0)", true},
      {"clip-norm", "X",
       "largest global norm of the gradients; 0: any (default 0)", true},
      {"schedule", Schedules,
       "how the learning rate goes on behind the warm-up (default constant)",
       true},
      {"warmup-steps", "N",
       "steps in which the learning rate rises to its own (default 0)", true},
      {"hold-steps", "N", "steps from the warm-up to the decay (default 0)",
       true},
      {"decay-steps", "N",
       "linear, cosine: steps until the rate is least; step, exponential: in "
       "which it falls by the factor once",
       true},
      {"decay-factor", "X",
       "part of the rate that is left after decay-steps (default 0.1)", true},
      {"gradient-norm", "true|false",
       "report the norm of the gradients (default: where they are clipped)",
       true},
      {"skip-nonfinite", "true|false",
       "a step whose loss or gradients are infinite or NaN changes nothing "
       "(default false)",
       true},
      {"loss-scale", "dynamic|X",
       "scale gradients in the backward, so that f16 holds small ones; "
       "dynamic: begins at 65536 and follows them (default none)",
       true},
      {"loss-scale-interval", "N",
       "finite steps in a row after which a dynamic loss scale doubles "
       "(default 2000)",
       true},
      {"ema", "X",
       "keep an average of each parameter, of which each step leaves this part "
       "(default none)",
       true},
  };
  return Table;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

using Failure = std::optional<std::string>;

Failure expected(StringRef What, StringRef Text) {
  return formatv("expected {0}, got '{1}'", What, Text).str();
}

Failure setChoice(std::string &Target, StringRef Text,
                  ArrayRef<StringRef> Words) {
  if (!is_contained(Words, Text))
    return expected("one of " + join(Words, ", "), Text);
  Target = Text.str();
  return std::nullopt;
}

template <typename T>
Failure setInteger(T &Target, StringRef Text, T Min, T Max) {
  std::optional<T> Value = parseInteger<T>(Text, Min, Max);
  if (!Value)
    return expected(formatv("an integer from {0} to {1}", Min, Max).str(),
                    Text);
  Target = *Value;
  return std::nullopt;
}

/// A finite number of [0, Below), without 0 if `Positive`.
Failure setReal(double &Target, StringRef Text, bool Positive = false,
                double Below = std::numeric_limits<double>::infinity()) {
  std::optional<double> Value = parseReal(Text, 0, Below);
  if (!Value || (Positive && *Value == 0)) {
    std::string Range = Positive ? "a positive number" : "a number from 0";
    if (std::isfinite(Below))
      Range += formatv(" below {0}", Below).str();
    return expected(Range, Text);
  }
  Target = *Value;
  return std::nullopt;
}

Failure setBool(bool &Target, StringRef Text) {
  if (Text != "true" && Text != "false")
    return expected("true or false", Text);
  Target = Text == "true";
  return std::nullopt;
}

/// What has a parser of its own; `Help` says what that takes.
template <typename T>
Failure setParsed(T &Target, StringRef Text, StringRef Help) {
  std::optional<T> Parsed = T::parse(Text);
  if (!Parsed)
    return expected(Help, Text);
  Target = *Parsed;
  return std::nullopt;
}

/// Adds what a T can be made of to a list; `Help` says what that is.
template <typename T>
Failure addText(std::vector<std::string> &Target, StringRef Text,
                StringRef Help) {
  if (!T::parse(Text))
    return expected(Help, Text);
  Target.push_back(Text.str());
  return std::nullopt;
}

/// Adds a name or glob to a list.
Failure addPattern(std::vector<std::string> &Target, StringRef Text) {
  return addText<NamePattern>(Target, Text, NamePatternHelp);
}

/// Nothing if `Name` is no control.
std::optional<Failure> addControl(Controls &C, StringRef Name, StringRef Text) {
  if (Name == "keep")
    return addPattern(C.Keep, Text);
  if (Name == "recompute")
    return addPattern(C.Recompute, Text);
  if (Name == "prefer")
    return addPattern(C.Prefer, Text);
  if (Name == "scope-budget")
    return addText<ScopeBudget>(C.ScopeBudgets, Text, ScopeBudgetHelp);
  return std::nullopt;
}

Failure setArch(std::string &Target, StringRef Text) {
  if (!isCUDAArchitecture(Text))
    return expected("a CUDA architecture such as sm_90", Text);
  Target = Text.str();
  return std::nullopt;
}

/// The options of the learning rate's schedule; nothing if `Name` is none of
/// them.
std::optional<Failure> setScheduleOption(OptimizerOptions &O, StringRef Name,
                                         StringRef Text) {
  if (Name == "schedule")
    return setChoice(O.Schedule, Text, getScheduleKinds());
  if (Name == "warmup-steps")
    return setInteger<int64_t>(O.WarmupSteps, Text, 0, MaxSteps);
  if (Name == "hold-steps")
    return setInteger<int64_t>(O.HoldSteps, Text, 0, MaxSteps);
  if (Name == "decay-steps")
    return setInteger<int64_t>(O.DecaySteps, Text, 0, MaxSteps);
  if (Name == "decay-factor")
    return setReal(O.DecayFactor, Text);
  return std::nullopt;
}

Failure setLossScale(OptimizerOptions &O, StringRef Text) {
  bool IsDynamic = Text == "dynamic";
  if (IsDynamic)
    O.LossScale = 65536; // where torch.amp.GradScaler begins
  else if (setReal(O.LossScale, Text, /*Positive=*/true))
    return expected("dynamic or a positive number", Text);
  O.DynamicLossScale = IsDynamic;
  return std::nullopt;
}

Failure setSlices(CompileOptions &O, StringRef Text) {
  if (Text == "auto") {
    O.Slices = 0;
    return std::nullopt;
  }
  return setInteger<int64_t>(O.Slices, Text, 1, MaxSlices);
}

Failure setBucket(int64_t &Target, StringRef Text) {
  static constexpr StringLiteral Help = "a number of bytes such as 25MiB";
  struct Budget Parsed;
  if (Failure Failed = setParsed(Parsed, Text, Help))
    return Failed;
  if (Parsed.Kind != Budget::Kind::Bytes)
    return expected(Help, Text);
  Target = Parsed.Bytes;
  return std::nullopt;
}

/// The options of several ranks; nothing if `Name` is none of them.
std::optional<Failure> setRanksOption(CompileOptions &O, StringRef Name,
                                      StringRef Text) {
  if (Name == "parallel")
    return setParsed(O.Parallel, Text, ParallelHelp);
  if (Name == "ranks")
    return setInteger<int64_t>(O.Ranks, Text, 1, MaxRanks);
  if (Name == "bucket")
    return setBucket(O.BucketBytes, Text);
  return std::nullopt;
}

/// What is done with gradients before the update; nothing if `Name` is none.
std::optional<Failure> setFinitenessOption(OptimizerOptions &O, StringRef Name,
                                           StringRef Text) {
  if (Name == "gradient-norm")
    return setBool(O.GradientNorm, Text);
  if (Name == "skip-nonfinite")
    return setBool(O.SkipNonfinite, Text);
  if (Name == "loss-scale")
    return setLossScale(O, Text);
  if (Name == "loss-scale-interval")
    return setInteger<int64_t>(O.LossScaleInterval, Text, 1, MaxSteps);
  return std::nullopt;
}

/// The options of the optimizer; nothing if `Name` is none of them.
std::optional<Failure> setOptimizerOption(OptimizerOptions &O, StringRef Name,
                                          StringRef Text) {
  if (Name == "optimizer")
    return setChoice(O.Kind, Text, listOptimizers());
  if (Name == "learning-rate")
    return setReal(O.LearningRate, Text);
  if (Name == "beta1")
    return setReal(O.Beta1, Text, false, 1.0);
  if (Name == "beta2")
    return setReal(O.Beta2, Text, false, 1.0);
  if (Name == "epsilon")
    return setReal(O.Epsilon, Text, true);
  if (Name == "weight-decay")
    return setReal(O.WeightDecay, Text);
  if (Name == "momentum")
    return setReal(O.Momentum, Text);
  if (Name == "clip-norm")
    return setReal(O.ClipNorm, Text);
  if (Name == "ema")
    return setReal(O.Average, Text, /*Positive=*/true, 1.0);
  if (std::optional<Failure> Done = setScheduleOption(O, Name, Text))
    return Done;
  return setFinitenessOption(O, Name, Text);
}

} // namespace

std::optional<std::string>
remat::setCompileOption(CompileOptions &O, StringRef Name, StringRef Text) {
  if (std::optional<Failure> Done = setOptimizerOption(O.Optimizer, Name, Text))
    return *Done;
  if (std::optional<Failure> Done = setRanksOption(O, Name, Text))
    return *Done;
  if (Name == "device")
    return setChoice(O.Device, Text, {"host", "cuda"});
  if (Name == "budget")
    return setParsed(O.Budget, Text, BudgetHelp);
  if (Name == "strategy")
    return setChoice(O.Strategy, Text, getFitStrategies());
  if (Name == "effort")
    return setInteger<int64_t>(O.PlannerEffort, Text, 0, MaxEffort);
  if (Name == "planner-seed")
    return setInteger<uint64_t>(O.PlannerSeed, Text, 0, UINT64_MAX);
  if (Name == "autocast")
    return setChoice(O.Autocast, Text, {"bf16", "f16"});
  if (Name == "accumulate")
    return setInteger<int64_t>(O.MicroBatches, Text, 1, MaxMicroBatches);
  if (Name == "slices")
    return setSlices(O, Text);
  if (Name == "bitwise-budget")
    return setBool(O.BitwiseBudget, Text);
  if (Name == "fuse")
    return setBool(O.Fuse, Text);
  if (Name == "halves")
    return setBool(O.Halves, Text);
  if (std::optional<Failure> Done = addControl(O.Controls, Name, Text))
    return *Done;
  if (Name == "freeze")
    return addPattern(O.Freeze, Text);
  if (Name == "shard")
    return addText<ShardRequest>(O.Shards, Text, ShardRequestHelp);
  if (Name == "explain")
    return addPattern(O.Explain, Text);
  if (Name == "arch")
    return setArch(O.Arch, Text);
  if (Name == "attention")
    return setChoice(O.Attention, Text, {"auto", "cudnn", "own"});
  if (Name == "costs") {
    O.Costs.push_back(Text.str());
    return std::nullopt;
  }
  if (Name == "deterministic")
    return setChoice(O.Deterministic, Text, {"true", "false"});
  return formatv("unknown option '{0}'", Name).str();
}

std::vector<std::pair<std::string, std::string>>
remat::getNumericOptions(const CompileOptions &O) {
  const OptimizerOptions &Rule = O.Optimizer;
  return {{"autocast", O.Autocast},
          {"halves", O.Halves ? "true" : "false"},
          {"accumulate", std::to_string(O.MicroBatches)},
          {"slices", O.Slices ? std::to_string(O.Slices) : std::string("auto")},
          {"optimizer", Rule.Kind},
          {"learning-rate", formatReal(Rule.LearningRate)},
          {"beta1", formatReal(Rule.Beta1)},
          {"beta2", formatReal(Rule.Beta2)},
          {"epsilon", formatReal(Rule.Epsilon)},
          {"weight-decay", formatReal(Rule.WeightDecay)},
          {"momentum", formatReal(Rule.Momentum)},
          {"clip-norm", formatReal(Rule.ClipNorm)},
          {"schedule", Rule.Schedule},
          {"warmup-steps", std::to_string(Rule.WarmupSteps)},
          {"hold-steps", std::to_string(Rule.HoldSteps)},
          {"decay-steps", std::to_string(Rule.DecaySteps)},
          {"decay-factor", formatReal(Rule.DecayFactor)},
          {"skip-nonfinite", Rule.SkipNonfinite ? "true" : "false"},
          {"loss-scale", Rule.DynamicLossScale ? std::string("dynamic")
                                               : formatReal(Rule.LossScale)},
          {"loss-scale-interval", std::to_string(Rule.LossScaleInterval)},
          {"ema", formatReal(Rule.Average)},
          {"freeze", join(O.Freeze, " ")},
          {"shard", join(O.Shards, " ")}};
}
