//===- Files.cpp - weights and tokens -------------------------------------===//

#include "Target.h"
#include "remat/runtime/Safetensors.h"
#include "remat/runtime/Tokens.h"
#include <algorithm>

using namespace remat::fuzz;
using namespace remat::runtime;

Outcome remat::fuzz::runSafetensors(Bytes Data) {
  auto Read = parseSafetensors(Data);
  if (!Read)
    return Outcome::Refused;
  for (const auto &[Name, Tensor] : Read->Tensors)
    if (!Read->find(Name))
      fail("tensor '" + Name + "' is not found");
  // What was read can be written, and is then read as the same.
  auto Written = formatSafetensors(*Read);
  if (!Written)
    fail("what was read is not written: " + Written.getError().getMessage());
  auto Again = parseSafetensors(*Written);
  if (!Again)
    fail("what was written is not read: " + Again.getError().getMessage());
  bool Same = Again->Metadata == Read->Metadata &&
              std::ranges::equal(Again->Tensors, Read->Tensors,
                                 [](const auto &L, const auto &R) {
                                   return L.first == R.first &&
                                          L.second.Type == R.second.Type &&
                                          L.second.Shape == R.second.Shape &&
                                          L.second.Data == R.second.Data;
                                 });
  if (!Same)
    fail("what was written is read as something else");
  return Outcome::Done;
}

Outcome remat::fuzz::runTokens(Bytes Data) {
  auto Read = parseTokens(Data);
  if (!Read)
    return Outcome::Refused;
  auto Written = formatTokens(*Read);
  auto Again = Written ? parseTokens(*Written) : Written.getError();
  if (!Again || *Again != *Read)
    fail("tokens change when they are written and read");

  // The sizes of a batch are drawn from the tokens.
  Random R(hashOf(Data));
  uint64_t Batch = R.draw(5), Length = R.draw(9), Bound = R.draw(3) * 300;
  auto Batches = TokenBatches::create(*Read, Batch, Length, R.draw(9), Bound);
  if (!Batches)
    return Outcome::Read;
  std::vector<int64_t> Inputs(Batch * Length), Targets(Inputs.size());
  for (uint64_t Index : {R.draw(4), R.draw(100), R.draw(UINT64_MAX)})
    Batches->get(Index, Inputs, Targets);
  for (int64_t Token : Inputs)
    if (Token < 0 || (Bound && Token >= static_cast<int64_t>(Bound)))
      fail("a batch holds a token outside of the vocabulary");
  return Outcome::Done;
}
