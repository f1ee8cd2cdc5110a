//===- Checkpoints.cpp - where a run begins and what it leaves ------------===//

#include "Checkpoints.h"
#include "RunFacts.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;

static llvm::raw_ostream &warn() {
  llvm::outs().flush();
  return llvm::WithColor::warning(llvm::errs(), "remat-run");
}

Result<Checkpoints> Checkpoints::open(Session &S, const ToolOptions &O,
                                      RunFacts Facts) {
  Checkpoints Made;
  Made.Options = O.Checkpoints;
  Made.Steps = O.Steps;
  Made.Quiet = O.Quiet;
  Made.Facts = std::move(Facts);
  if (Made.Options.Folder.empty())
    return Made;
  Result<CheckpointFolder> Folder =
      CheckpointFolder::open(Made.Options.Folder, O.TheRanks.get());
  if (!Folder)
    return Folder.getError().within("--checkpoint");
  bool WasEmpty = Folder->wasEmpty();
  Made.Folder = std::move(*Folder);
  if (Made.Options.Resume) {
    if (Status Resumed = Made.resume(S); !Resumed)
      return Resumed.getError();
  } else if (!WasEmpty) {
    return Error(ErrorCode::InvalidArgument,
                 "--checkpoint: '" + Made.Options.Folder +
                     "' holds checkpoints of another run; --resume goes on "
                     "from them, and a new run needs a folder of its own");
  }
  return Made;
}

static RunFacts take(RunFacts &From, const char *Name) {
  RunFacts Taken;
  if (auto Node = From.extract(Name); !Node.empty())
    Taken.insert(std::move(Node));
  return Taken;
}

Status Checkpoints::resume(Session &S) {
  Result<CheckpointSearch> Found =
      findCheckpoint(Options.Folder, S.getDevice().getRanks());
  if (!Found)
    return Found.getError().within("--resume");
  for (const std::string &Why : Found->Skipped)
    warn() << "a checkpoint is passed over: " << Why << '\n';
  if (!Found->Newest)
    return {};
  const Checkpoint &From = *Found->Newest;
  // What explains more is said first: an option why names differ, a name why
  // graphs do, a shape why batches do.
  RunFacts Graph = take(Facts, "graph"), Data = take(Facts, "--data");
  if (Status Same = compareFacts(From, Facts); !Same)
    return Same;
  if (Status Loaded = loadCheckpoint(S, From); !Loaded)
    return Loaded.getError().within("--resume");
  for (RunFacts *Last : {&Graph, &Data}) {
    if (Status Same = compareFacts(From, *Last); !Same)
      return Same;
    Facts.merge(*Last);
  }
  if (From.Steps > uint64_t(Steps))
    return Error(ErrorCode::InvalidArgument,
                 "--resume: '" + From.Path + "' is of " +
                     std::to_string(From.Steps) +
                     " steps that are done; --steps " + std::to_string(Steps) +
                     " counts them too");
  Noted = From.Facts;
  ResumedFrom = Newest = From.Path;
  FirstStep = From.Steps;
  Saved = From.Steps;
  if (!Quiet)
    llvm::outs() << "resumed from '" << From.Path << "', " << From.Steps
                 << " steps are done\n";
  return {};
}

Status Checkpoints::save(Session &S, uint64_t Done) {
  Result<std::string> Written = Folder->save(S, Done, Facts, Options.Keep);
  if (!Written)
    return Written.getError();
  Newest = std::move(*Written);
  Saved = Done;
  return {};
}

void Checkpoints::finishStep(Session &S, uint64_t Done,
                             TrainingProgress &Progress) {
  if (!Folder || Options.Every == 0 || Done % uint64_t(Options.Every) != 0)
    return;
  Status Written = save(S, Done);
  if (Written || S.getRank() != 0)
    return;
  Progress.endLine();
  warn() << "no checkpoint of step " << Done << ": "
         << Written.getError().getMessage() << '\n';
}

Status Checkpoints::finish(Session &S, uint64_t Done) {
  if (!Folder || Saved == Done)
    return {};
  Status Written = save(S, Done);
  if (Written)
    return {};
  return Written.getError().within("no checkpoint of the last step");
}

Error Checkpoints::leave(Session &S, uint64_t Done, const Error &Why) {
  if (!Folder || Done == 0)
    return Why;
  std::string Text = Why.getMessage();
  if (Status Written = finish(S, Done); !Written)
    Text += "; " + Written.getError().getMessage();
  if (!Newest.empty())
    Text += "; '" + Newest + "' holds the first " + std::to_string(*Saved) +
            " steps, and --resume goes on from there";
  return Error(Why.getCode(), Text);
}

Error Checkpoints::interrupt(Session &S, uint64_t Done,
                             const std::string &Where) {
  std::string Text = "interrupted " + Where + " of " + std::to_string(Steps);
  if (!Folder || Done == 0)
    Text += ": nothing was saved";
  return leave(S, Done, Error(ErrorCode::InvalidArgument, Text));
}
