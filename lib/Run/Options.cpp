//===- Options.cpp - the command line of remat-run ------------------------===//
//
// The compiler's options come from its own table; those of the run are here.
// What is not a number of an option's range is an error, and nothing wraps.
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "remat/Tool/NumberOptions.h"
#include "remat/runtime/Device.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace remat;
using namespace remat::run;

namespace {

class CommandLine {
public:
  explicit CommandLine(ToolOptions &Options) : O(Options) {
    App.add_option("file", O.File, "graph or program; - reads standard input");
    addCompilation();
    addRun();
    addFiles();
    addCheckpoints();
  }

  std::optional<int> parse(int Argc, const char *const *Argv) {
    try {
      App.parse(Argc, Argv);
    } catch (const CLI::CallForHelp &) {
      llvm::outs() << App.help();
      return 0;
    } catch (const CLI::ParseError &E) {
      llvm::WithColor::error(llvm::errs(), "remat-run") << E.what() << '\n';
      return 1;
    }
    for (CLI::Option *Option : Compilation)
      if (Option->count())
        O.CompileFlags.push_back(Option->get_name());
    O.RateGiven = Rate->count() > 0;
    O.Compile.AddsEvaluation = O.EvaluateEvery > 0;
    O.Compile.EvaluatesAverages = O.EvaluateAverages;
    for (const char *Name :
         {"--evaluate-steps", "--evaluate-data", "--evaluate-augment",
          "--evaluate-ema", "--save-best"})
      if (O.EvaluateEvery == 0 && App.count(Name)) {
        llvm::WithColor::error(llvm::errs(), "remat-run")
            << Name << " needs --evaluate-every\n";
        return 1;
      }
    if (O.OnNonfinite == "skip")
      O.Compile.Optimizer.SkipNonfinite = true;
    if (O.PrintPipeline) {
      llvm::outs() << printPipeline(O.Compile) << '\n';
      return 0;
    }
    if (!O.File.empty())
      return std::nullopt;
    llvm::WithColor::error(llvm::errs(), "remat-run") << "file is required\n";
    return 1;
  }

private:
  void addCompilation();
  void addRun();
  void addRankTimeout();
  void addFiles();
  void addCheckpoints();

  CLI::App App{"Compiles a training graph within a memory budget and runs it",
               "remat-run"};
  ToolOptions &O;
  std::vector<CLI::Option *> Compilation; ///< all but the learning rate
  CLI::Option *Rate = nullptr;
};

/// The options that every way into the compiler has, from their one table.
void CommandLine::addCompilation() {
  for (const CompileOption &Option : getCompileOptions()) {
    std::string Name = Option.Name.str();
    auto Parse = [this, Name](const std::vector<std::string> &Texts) {
      for (const std::string &Text : Texts)
        if (std::optional<std::string> Bad =
                setCompileOption(O.Compile, Name, Text))
          throw CLI::ValidationError("--" + Name, *Bad);
    };
    CLI::Option *Added =
        App.add_option_function<std::vector<std::string>>("--" + Name, Parse,
                                                          Option.Help.str())
            ->type_name(Option.Value.str())
            ->expected(1)
            ->allow_extra_args(false) // the file may stand behind it
            ->multi_option_policy(Option.Repeatable
                                      ? CLI::MultiOptionPolicy::TakeAll
                                      : CLI::MultiOptionPolicy::Throw)
            ->group(Option.OfOptimizer ? "Optimizer" : "Compilation");
    if (Name == "learning-rate")
      Rate = Added;
    else
      Compilation.push_back(Added);
  }
}

void CommandLine::addRun() {
  auto Integer = [this](const char *Name, auto &Target, auto Min, auto Max,
                        const std::string &Help) {
    std::string Default = " (default " + std::to_string(Target) + ")";
    addInteger(App, Name, Target, Min, Max, Help + Default)->group("Run");
  };
  Integer("--steps", O.Steps, int64_t(0), MaxSteps,
          "steps of the run, those before its checkpoint among them");
  Integer("--seed", O.Seed, uint64_t(0), UINT64_MAX,
          "of initial weights, random data and dropout");
  Integer("--threads", O.Threads, 0u, runtime::MaxThreads,
          "threads of the host device; 0: one a processor, which ranks of one "
          "machine share");
  addRankTimeout();
  Integer("--data-threads", O.DataThreads, 0u, 64u,
          "threads that make the next batches ready; 0: each step reads its "
          "own");
  Integer("--evaluate-every", O.EvaluateEvery, int64_t(0), MaxSteps,
          "steps between two evaluations; 0: none");
  Integer("--evaluate-steps", O.EvaluateSteps, int64_t(1), MaxSteps,
          "batches of an evaluation");
  auto Flag = [this](const char *Name, bool &Target, const char *Help) {
    App.add_flag(Name, Target, Help)->group("Run");
  };
  Flag("--evaluate-ema", O.EvaluateAverages,
       "evaluate the averages that --ema keeps, in place of the parameters; "
       "--save-best saves them");
  Flag("--print-pipeline", O.PrintPipeline,
       "print the passes as remat-opt --pass-pipeline takes them, do no more");
  Flag("--compile-only", O.CompileOnly, "compile, do not run");
  Flag("--nvtx", O.Ranges,
       "run operation by operation, in ranges for NVIDIA's profilers");
  Flag("--poison", O.Poison, "overwrite bytes that hold nothing more");
  Flag("--nan-check", O.NanCheck,
       "look at the results of every operation; slow, but names the one that "
       "makes a loss or gradient norm infinite or NaN, and stops");
  App.add_option("--on-nonfinite", O.OnNonfinite,
                 "what a loss or gradient norm that is infinite or NaN leads "
                 "to; skip: that step changes nothing (default warn)")
      ->check(CLI::IsMember({"warn", "stop", "skip"}))
      ->group("Run");
  Flag("--quiet", O.Quiet,
       "no lines of plan and steps; where a budget is refused, no other way is "
       "tried");
}

void CommandLine::addRankTimeout() {
  using Seconds = std::chrono::duration<double>;
  using runtime::Ranks;
  auto Parse = [this](const std::string &Text) {
    constexpr Seconds Least = Ranks::LeastTimeLimit,
                      Most = Ranks::MostTimeLimit;
    std::optional<double> Value = parseReal(Text, Least.count());
    if (!Value || *Value > Most.count())
      throw CLI::ValidationError(
          "--rank-timeout",
          "expected seconds from " + formatReal(Least.count()) + " to " +
              std::to_string(int64_t(Most.count())) + ", got '" + Text + "'");
    O.RankTimeout = std::chrono::round<Ranks::Milliseconds>(Seconds(*Value));
  };
  std::string Default = formatReal(Seconds(O.RankTimeout).count());
  App.add_option_function<std::string>(
         "--rank-timeout", Parse,
         "of several ranks, how long one waits for another before the run ends "
         "(default " +
             Default + ")")
      ->type_name("SECONDS")
      ->group("Run");
}

void CommandLine::addFiles() {
  auto Add = [this](const char *Name, std::string &Target, const char *Help) {
    App.add_option(Name, Target, Help)->type_name("FILE")->group("Files");
  };
  auto AddPaths = [this](const char *Name, std::vector<std::string> &Target,
                         const char *Help) {
    App.add_option(Name, Target, Help)
        ->type_name("PATH")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group("Files");
  };
  AddPaths("--data", O.Data,
           "token files, arrays with a record in each row (.npy, .npz, "
           ".safetensors), or a folder of pictures with a folder for each "
           "class: a path, a glob pattern, INPUT=FILE or INPUT=FILE:ARRAY; "
           "repeatable");
  AddPaths("--evaluate-data", O.EvaluateData,
           "the same for evaluation; without it, what the steps read");
  auto AddList = [this](const char *Name, std::string &Target,
                        const char *Help) {
    App.add_option(Name, Target, Help)->type_name("LIST")->group("Files");
  };
  AddList("--augment", O.Augment,
          "what is done to pictures, separated by commas: resize=N, "
          "crop=N:PADDING, center=N, resized-crop=N:AREA, flip, "
          "normalize=MEAN/DEVIATION");
  AddList("--evaluate-augment", O.EvaluateAugment,
          "the same for evaluation, or none; without it, what is done for the "
          "steps but for chance: the middle is cut, and nothing is turned");
  Add("--inputs", O.Inputs, "safetensors: inputs by name, the same each step");
  Add("--weights", O.Weights, "safetensors: parameters and states by name");
  Add("--save", O.Save,
      "safetensors: parameters and states after the last step");
  Add("--save-ema", O.SaveAverages,
      "the same with the averages of --ema for the parameters");
  Add("--save-best", O.SaveBest,
      "safetensors: parameters and states of the lowest evaluation loss");
  Add("--save-gradients", O.SaveGradients,
      "safetensors: loss and gradients of the last step (--optimizer none)");
  Add("--save-outputs", O.SaveOutputs,
      "safetensors: loss and outputs of the last step");
  Add("--metrics", O.Metrics, "a line of JSON a step, as it is done");
  Add("--report", O.Report, "JSON: losses, times, memory");
  Add("--report-html", O.Page,
      "one HTML file: memory over the step, the plan, the arena, times");
  Add("--timeline", O.Timeline, "JSON: what --report-html shows");
  Add("--timeline-csv", O.Table, "CSV: memory and time of each step");
  Add("--trace", O.Trace, "trace events (JSON) for Perfetto or Chrome");
  Add("--emit-program", O.EmitProgram, "the compiled program");
  App.add_option("--cache", O.Cache,
                 "keeps compiled programs in this folder; off: nowhere "
                 "(default $REMAT_CACHE_DIR, else ~/.cache/remat)")
      ->type_name("DIR|off")
      ->group("Files");
  Add("--profile", O.Profile, "JSON: milliseconds of each operation");
  Add("--tune", O.MatmulAlgorithms,
      "on a GPU, the fastest algorithms of matrix products: those that the "
      "file lacks are measured first and added");
}

void CommandLine::addCheckpoints() {
  static constexpr char Group[] = "Checkpoints";
  CheckpointOptions &C = O.Checkpoints;
  CLI::Option *Folder =
      App.add_option("--checkpoint", C.Folder,
                     "folder for checkpoints, from which a run can go on")
          ->type_name("DIR")
          ->group(Group);
  auto Integer = [&](const char *Name, int64_t &Target, int64_t Min,
                     const std::string &Help) {
    std::string Default = " (default " + std::to_string(Target) + ")";
    addInteger(App, Name, Target, Min, MaxSteps, Help + Default)
        ->group(Group)
        ->needs(Folder);
  };
  Integer("--checkpoint-every", C.Every, 0,
          "steps between checkpoints; 0: only when the run ends");
  Integer("--keep-checkpoints", C.Keep, 1, "how many of them are kept");
  App.add_flag("--resume", C.Resume,
               "go on from the newest checkpoint; begin where there is none")
      ->group(Group)
      ->needs(Folder);
}

} // namespace

std::optional<int> run::parseOptions(int Argc, const char *const *Argv,
                                     ToolOptions &Options) {
  return CommandLine(Options).parse(Argc, Argv);
}
