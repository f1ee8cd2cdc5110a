//===- BatchSource.cpp - where the inputs of a step come from -------------===//

#include "remat/runtime/Data/BatchSource.h"
#include "lib/Data/Paths.h"
#include "lib/Data/TokenBatches.h"
#include "lib/Guard.h"

using namespace remat::runtime;

Status BatchSource::get(uint64_t Step, Batch &To) const {
  return guard([&]() -> Status {
    To.resize(Arguments.size());
    for (size_t I = 0; I < Arguments.size(); ++I)
      To[I].Argument = Arguments[I];
    return fill(Step, To);
  });
}

Result<std::unique_ptr<BatchSource>>
remat::runtime::openData(const Program &P, const DataOptions &O) {
  return guard([&]() -> Result<std::unique_ptr<BatchSource>> {
    std::vector<std::string> Files;
    for (const std::string &Path : O.Paths) {
      Result<std::vector<std::string>> Listed = listFiles(Path);
      if (!Listed)
        return Listed.getError();
      Files.insert(Files.end(), Listed->begin(), Listed->end());
    }
    return openTokens(P, Files, O.Seed);
  });
}
