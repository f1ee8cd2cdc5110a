//===- BatchSource.cpp - where the inputs of a step come from -------------===//

#include "remat/runtime/Data/BatchSource.h"
#include "lib/Guard.h"

using namespace remat::runtime;

Status BatchSource::get(uint64_t Step, uint64_t Number, Batch &To) const {
  return guard([&]() -> Status {
    To.resize(Arguments.size());
    for (size_t I = 0; I < Arguments.size(); ++I)
      To[I].Argument = Arguments[I];
    return fill(Step, Number, To);
  });
}
