//===- Program.cpp - program bytes ----------------------------------------===//

#include "remat/Target/Program.h"
#include "Shared.h"
#include "remat/runtime/Session.h"
#include "remat/runtime/Timeline.h"

using namespace remat;
using namespace remat::fuzz;
using namespace remat::runtime;

static Device &getHost() {
  static std::unique_ptr<Device> Host = [] {
    DeviceOptions Options;
    Options.Threads = 1;
    auto Made = createDevice("host", Options);
    if (!Made)
      fail("no host device: " + Made.getError().getMessage());
    return std::move(*Made);
  }();
  return *Host;
}

/// A picture shows every tensor once, and no step but those that there are.
static void checkTimeline(const runtime::Program &P) {
  Timeline Shown = makeTimeline(P);
  std::vector<unsigned> Times(P.Tensors.size(), 0);
  for (const Timeline::Line &Line : Shown.Lines)
    for (uint32_t Tensor : Line.Tensors)
      ++Times[Tensor];
  for (size_t I = 0; I < Times.size(); ++I)
    if (Times[I] != (P.Tensors[I].IsView ? 0u : 1u))
      fail("a tensor is in " + std::to_string(Times[I]) + " lines");
  if (Shown.LiveBytes.size() != P.Steps.size() + 2)
    fail("the timeline has another number of steps");
}

/// Runs each function; it leaves the parameters as they are.
static void runFunctions(Session &S) {
  for (const ProgramFunction &F : S.getProgram().Functions) {
    auto Before = S.computeParametersDigest();
    Session &Function = **S.getFunction(F.Name);
    if (Status Done = Function.fillInputs(1, 2); !Done)
      fail("fillInputs of a function: " + Done.getError().getMessage());
    (void)Function.runStep();
    auto After = S.computeParametersDigest();
    if (Before && After && *Before != *After)
      fail("a function changed a parameter");
  }
}

Outcome remat::fuzz::runOnHost(Bytes Data, uint64_t MaxBytes) {
  auto Loaded = Program::load(Data);
  if (!Loaded)
    return Outcome::Refused;
  checkTimeline(**Loaded);
  if ((*Loaded)->ArenaBytes > MaxBytes)
    return Outcome::Read;
  SessionOptions Options;
  Options.Poison = true;
  auto Made = Session::create(*Loaded, getHost(), Options);
  if (!Made)
    return Outcome::Read;
  Session &S = **Made;
  // A loaded program has nothing that its arguments cannot be given.
  if (Status Done = S.initialise(1); !Done)
    fail("initialise: " + Done.getError().getMessage());
  for (uint64_t Step = 0; Step < 2; ++Step) {
    if (Status Done = S.fillInputs(1, Step); !Done)
      fail("fillInputs: " + Done.getError().getMessage());
    (void)S.runStep();
    runFunctions(S);
  }
  (void)S.computeParametersDigest();
  (void)(*Loaded)->getPeakProfile();
  return Outcome::Done;
}

Outcome remat::fuzz::runProgram(Bytes Data) {
  // A file's bytes are aligned as memory for any type is; a library's user may
  // have them anywhere.
  std::string Error;
  (void)printProgram({Data.data(), Data.size()}, llvm::nulls(), Error);
  (void)printProgramSource({Data.data(), Data.size()}, llvm::nulls(), Error);
  std::vector<uint8_t> Shifted(Data.size() + 1);
  std::copy(Data.begin(), Data.end(), Shifted.begin() + 1);
  auto Moved = Program::load(Bytes(Shifted).subspan(1));
  Outcome How = runOnHost(Data, 1 << 18);
  if (bool(Moved) != (How != Outcome::Refused))
    fail("whether a program loads depends on its address");
  return How;
}
