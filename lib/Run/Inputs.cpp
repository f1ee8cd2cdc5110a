//===- Inputs.cpp - what each step reads ----------------------------------===//

#include "Inputs.h"
#include "remat/runtime/SessionFiles.h"
#include "remat/runtime/Sha256.h"

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
      return File.getError().within("--inputs");
    Feeder.File = std::move(*File);
  }
  if (Options.Data.empty() && !Options.Augment.empty())
    return Error(ErrorCode::InvalidArgument,
                 "--augment: there are no --data to change");
  if (Options.Data.empty())
    return Feeder;
  DataOptions Wanted{.Paths = Options.Data,
                     .Augment = Options.Augment,
                     .AugmentsByChance = Options.AugmentsByChance,
                     .Seed = Options.Seed,
                     .Share = S.getDataShare()};
  if (Feeder.File)
    for (const auto &[Name, Stored] : Feeder.File->Tensors)
      Wanted.OtherInputs.push_back(Name);
  Result<std::unique_ptr<BatchSource>> Data = openData(S.getProgram(), Wanted);
  if (!Data)
    return Data.getError();
  Feeder.Data = std::move(*Data);
  Feeder.Batches = std::make_unique<Prefetcher>(
      *Feeder.Data, Options.DataThreads, 2 * Options.DataThreads);
  // On a GPU a batch is copied while the program begins its step.
  const Program &P = S.getProgram();
  std::vector<uint64_t> Bytes;
  for (uint32_t Number : Feeder.Data->getArguments())
    Bytes.push_back(P.Tensors[P.Arguments[Number].Tensor].Bytes);
  Feeder.Memory = std::make_unique<HostMemory>(S.getDevice());
  if (Status Reserved = Feeder.Batches->reserve(Bytes, *Feeder.Memory);
      !Reserved)
    return Reserved.getError().within("--data");
  return Feeder;
}

/// Records are drawn from all files, so that one batch and their number tell
/// data from other data without reading all of it. The batch is that of all
/// ranks, as one process with all its rows has it.
Result<std::string> InputFeeder::describeData() const {
  if (!Data)
    return std::string("none");
  std::vector<Batch> Shares(Data->getShare().Count);
  for (size_t Number = 0; Number < Shares.size(); ++Number)
    if (Status Read = Data->get(0, Number, Shares[Number]); !Read)
      return Read.getError().within("--data");
  Sha256 Digest;
  for (size_t I = 0; I < Data->getArguments().size(); ++I)
    for (const Batch &First : Shares)
      Digest.update(First[I].Bytes.data(), First[I].Bytes.size());
  return "of " + std::to_string(Data->getBatchesPerEpoch()) +
         " batches an epoch, whose first has the SHA-256 " + Digest.finish();
}

Status InputFeeder::feed(Session &S, uint64_t Step) {
  std::span<const uint32_t> Read;
  if (Data)
    Read = Data->getArguments();
  if (Status Filled = S.fillInputs(Seed, Step, Read); !Filled)
    return Filled;
  if (Batches) {
    Result<const Batch *> Made = Batches->get(Step);
    if (!Made)
      return Made.getError().within("--data");
    for (const BatchInput &I : **Made)
      if (Status Written =
              S.writeArgumentLater(S.getProgram().Arguments[I.Argument].Name,
                                   I.Bytes.data(), I.Bytes.size());
          !Written)
        return Written;
  }
  return File ? writeInputs(S, *File) : Status();
}
