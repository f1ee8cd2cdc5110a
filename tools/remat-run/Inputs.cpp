//===- Inputs.cpp - what each step reads ----------------------------------===//

#include "Inputs.h"
#include "remat/runtime/SessionFiles.h"
#include <algorithm>

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;

Result<InputFeeder> InputFeeder::create(Session &S,
                                        const ToolOptions &Options) {
  InputFeeder Feeder;
  Feeder.Seed = Options.Seed;
  if (!Options.Inputs.empty()) {
    Result<TensorFile> File = readSafetensors(Options.Inputs);
    if (!File)
      return File.getError();
    Feeder.File = std::move(*File);
  }
  if (!Options.Data.empty())
    if (Status Opened = Feeder.openTokens(S, Options.Data); !Opened)
      return Opened.getError();
  return Feeder;
}

/// Finds the inputs that ask for tokens; both must have one shape, whose last
/// dimension is the sequence and whose other ones are the batch.
Status InputFeeder::openTokens(Session &S, const std::string &Path) {
  const Program &P = S.getProgram();
  int64_t Bound = 0;
  for (uint32_t I = 0; I < P.Arguments.size(); ++I) {
    const Argument &A = P.Arguments[I];
    if (A.Data.empty())
      continue;
    std::optional<uint32_t> &Slot = A.Data == "tokens" ? Tokens : Targets;
    if (Slot)
      return Error(ErrorCode::InvalidArgument,
                   "inputs '" + P.Arguments[*Slot].Name + "' and '" + A.Name +
                       "' both ask for " + A.Data);
    Slot = I;
    if (A.Bound > 0)
      Bound = Bound ? std::min(Bound, A.Bound) : A.Bound;
  }
  if (!Tokens && !Targets)
    return Error(ErrorCode::InvalidArgument,
                 "no input of the graph asks for tokens; mark one with "
                 "remat.data = #remat.data<tokens>");
  const Tensor &Shape =
      P.Tensors[P.Arguments[Tokens ? *Tokens : *Targets].Tensor];
  if (Tokens && Targets &&
      P.Tensors[P.Arguments[*Targets].Tensor].Shape != Shape.Shape)
    return Error(ErrorCode::InvalidArgument,
                 "inputs '" + P.Arguments[*Tokens].Name + "' and '" +
                     P.Arguments[*Targets].Name + "' have different shapes");
  uint64_t Length = Shape.Shape.empty() ? 1 : Shape.Shape.back();
  uint64_t Count = Shape.NumElements;
  Result<std::vector<uint16_t>> Ids = readTokens(Path);
  if (!Ids)
    return Ids.getError();
  Result<TokenBatches> Made = TokenBatches::create(
      std::move(*Ids), Count / Length, Length, Seed, Bound);
  if (!Made)
    return Made.getError().within(Path);
  Batches = std::move(*Made);
  TokenIds.resize(Tokens ? Count : 0);
  TargetIds.resize(Targets ? Count : 0);
  return {};
}

static Status writeIds(Session &S, uint32_t Number,
                       const std::vector<int64_t> &Ids) {
  const Argument &A = S.getProgram().Arguments[Number];
  switch (S.getProgram().Tensors[A.Tensor].Type) {
  case DType::I64:
    return S.writeArgument(A.Name, Ids.data(), Ids.size() * sizeof(int64_t));
  case DType::I32: {
    std::vector<int32_t> Narrow(Ids.begin(), Ids.end());
    return S.writeArgument(A.Name, Narrow.data(),
                           Narrow.size() * sizeof(int32_t));
  }
  default:
    return Error(ErrorCode::InvalidArgument,
                 "input '" + A.Name + "' asks for tokens but is no integer");
  }
}

Status InputFeeder::feedTokens(Session &S, uint64_t Step) {
  Batches->get(Step, TokenIds, TargetIds);
  if (Tokens)
    if (Status Written = writeIds(S, *Tokens, TokenIds); !Written)
      return Written;
  return Targets ? writeIds(S, *Targets, TargetIds) : Status();
}

Status InputFeeder::feed(Session &S, uint64_t Step) {
  if (Status Filled = S.fillInputs(Seed, Step); !Filled)
    return Filled;
  if (Batches)
    if (Status Fed = feedTokens(S, Step); !Fed)
      return Fed;
  return File ? writeInputs(S, *File) : Status();
}
