//===- RunFacts.cpp - what makes a run the same run -----------------------===//

#include "RunFacts.h"
#include "remat/IR/GraphFile.h"
#include "remat/Support/File.h"
#include "remat/Support/Numbers.h"
#include "remat/runtime/Session.h"
#include "remat/runtime/Sha256.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;

std::string run::computeGraphDigest(mlir::ModuleOp Graph) {
  // What runs beside training changes nothing of it.
  mlir::OwningOpRef<mlir::ModuleOp> Training(Graph.clone());
  for (mlir::func::FuncOp Other : getOtherFunctions(*Training))
    Other.erase();
  std::string Text;
  llvm::raw_string_ostream(Text) << *Training;
  return computeSha256(Text);
}

static Result<std::string> describeFile(const std::string &Path) {
  if (Path.empty())
    return std::string("none");
  InputFile File;
  if (FileFailure Failed = File.open(Path))
    return Error(ErrorCode::IO, std::move(*Failed));
  Sha256 Digest;
  std::vector<char> Bytes(StreamBytes);
  for (uint64_t At = 0; At < File.getSize(); At += Bytes.size()) {
    uint64_t Count = std::min<uint64_t>(Bytes.size(), File.getSize() - At);
    if (FileFailure Failed = File.read(At, Bytes.data(), Count))
      return Error(ErrorCode::IO, std::move(*Failed));
    Digest.update(Bytes.data(), Count);
  }
  return "with the SHA-256 " + Digest.finish();
}

/// An input as one process has it that computes the rows of all ranks, as
/// micro-batches.
static std::string describeInput(const Program &P, const Argument &A,
                                 int64_t MicroBatches) {
  const Tensor &T = P.Tensors[A.Tensor];
  std::vector<int64_t> Shape = T.Shape;
  auto Shares = static_cast<int64_t>(getDataShare(P, 0).Count);
  if (MicroBatches > 1 && !Shape.empty())
    Shape.front() *= Shares;
  else if (Shares > 1)
    Shape.insert(Shape.begin(), Shares);
  return describeTensor(getName(T.Type), Shape);
}

Result<RunFacts> run::collectFacts(const ToolOptions &O,
                                   const CompiledFile &Compiled) {
  RunFacts Facts;
  if (O.Checkpoints.Folder.empty() && !O.TheRanks)
    return Facts;
  Facts["--seed"] = std::to_string(O.Seed);
  Result<std::string> Inputs = describeFile(O.Inputs);
  if (!Inputs)
    return Inputs.getError().within("--inputs");
  Facts["--inputs"] = std::move(*Inputs);
  const Program &P = *Compiled.Program;
  for (const Argument &A : P.Arguments)
    if (A.Role == Role::Input)
      Facts["input '" + A.Name + "'"] =
          describeInput(P, A, O.Compile.MicroBatches);
  if (!Compiled.GraphDigest.empty()) {
    Facts["graph"] = "with the SHA-256 " + Compiled.GraphDigest;
    for (const auto &[Name, Text] : getNumericOptions(O.Compile))
      Facts["--" + Name] = Text.empty() ? "none" : Text;
    Facts["--accumulate"] =
        std::to_string(O.Compile.MicroBatches * getDataShare(P, 0).Count);
  } else if (O.RateGiven) {
    Facts["--learning-rate"] = formatReal(O.Compile.Optimizer.LearningRate);
  }
  return Facts;
}

Status run::compareFacts(const Checkpoint &From, const RunFacts &Facts) {
  for (const auto &[Name, Text] : Facts) {
    auto Known = From.Facts.find(Name);
    if (Known == From.Facts.end() || Known->second == Text)
      continue;
    return Error(ErrorCode::InvalidArgument,
                 "--resume: '" + From.Path + "' was made with " + Name + " " +
                     Known->second + "; this run has " + Name + " " + Text +
                     (Name == "--accumulate"
                          ? " (over all ranks: --accumulate times the ranks "
                            "that share a batch)"
                          : "") +
                     ", and would not go on as it began (--weights begins a "
                     "new run from its values)");
  }
  return {};
}
