//===- Session.cpp - a program with its memory ----------------------------===//

#include "remat/runtime/Session.h"
#include "lib/Guard.h"
#include "lib/TensorCopy.h"
#include "ops/Op.h"
#include "remat/runtime/FiniteCheck.h"
#include <algorithm>
#include <chrono>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Session::Session(std::shared_ptr<const Program> Program, Device &Device,
                 const SessionOptions &Options)
    : TheProgram(std::move(Program)), TheDevice(Device), Options(Options),
      ThePool(std::make_unique<Pool>(Device, Options.Pool)),
      Written(TheProgram->Arguments.size()) {}

Session::~Session() {
  auto Lock = TheDevice.lock();
  // No work may go on over memory that is given back.
  (void)TheDevice.synchronize();
  Functions.clear();
  TheExecutable.reset();
  if (Arena && !Main)
    (void)ThePool->free(Arena);
  ThePool.reset();
}

Result<std::unique_ptr<Session>>
Session::create(std::span<const uint8_t> Bytes, Device &Device,
                const SessionOptions &Options) {
  auto Loaded = Program::load(Bytes);
  if (!Loaded)
    return Loaded.getError();
  return create(*Loaded, Device, Options);
}

Result<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Program> Program, Device &Device,
                const SessionOptions &Options) {
  auto Lock = Device.lock();
  return guard([&]() -> Result<std::unique_ptr<Session>> {
    std::unique_ptr<Session> S(
        new Session(std::move(Program), Device, Options));
    // The arena first: it is what is short, and preparing may take long.
    REMAT_TRY(S->allocateArena());
    REMAT_TRY(S->prepare());
    REMAT_TRY(S->loadConstants());
    REMAT_TRY(S->addFunctions());
    return S;
  });
}

Status Session::prepare() {
  auto Executable = TheDevice.prepare(TheProgram);
  if (!Executable)
    return Executable.getError();
  TheExecutable = std::move(*Executable);
  return {};
}

Status Session::allocateArena() {
  Program::PeakProfile Peak = TheProgram->getPeakProfile();
  AllocationInfo Info;
  Info.Class = MemoryClass::Arena;
  Info.Op = "the program's arena";
  if (Peak.Step >= 0 &&
      Peak.Step < static_cast<int64_t>(TheProgram->Steps.size())) {
    const Step &At = TheProgram->Steps[Peak.Step];
    Info.Op += ", whose peak is at step " + std::to_string(Peak.Step) + " (" +
               At.Op + ")";
    Info.Location = At.Location;
  }
  Result<void *> Memory = ThePool->allocate(TheProgram->ArenaBytes, Info);
  if (!Memory)
    return Memory.getError();
  Arena = *Memory;
  return {};
}

Status Session::loadConstants() {
  for (const Constant &C : TheProgram->Constants)
    REMAT_TRY(
        TheDevice.copyIn(getAddress(C.Tensor), C.Data.data(), C.Data.size()));
  return {};
}

char *Session::getAddress(uint32_t Tensor) const {
  return static_cast<char *>(Arena) + TheProgram->Tensors[Tensor].Offset;
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

static Error unknownName(std::string_view What, std::string_view Name) {
  return Error(ErrorCode::InvalidArgument, "the program has no " +
                                               std::string(What) + " '" +
                                               std::string(Name) + "'");
}

static Status checkSize(const Tensor &T, std::string_view Name,
                        uint64_t Bytes) {
  if (T.Bytes == Bytes)
    return {};
  return Error(ErrorCode::InvalidArgument,
               "'" + std::string(Name) + "' has " + std::to_string(T.Bytes) +
                   " bytes; " + std::to_string(Bytes) + " were given");
}

/// The number of an argument or result that holds a value.
Result<uint32_t> Session::findValue(std::string_view Name,
                                    bool IsArgument) const {
  std::optional<uint32_t> Index = IsArgument ? TheProgram->findArgument(Name)
                                             : TheProgram->findResult(Name);
  if (!Index)
    return unknownName(IsArgument ? "argument" : "result", Name);
  if (IsArgument && !holdsValue(*Index))
    return Error(ErrorCode::InvalidArgument,
                 "argument '" + std::string(Name) + "' holds no value");
  if (!IsArgument && !HasRun)
    return Error(ErrorCode::InvalidArgument,
                 "result '" + std::string(Name) +
                     "' holds no value before a step has run");
  return IsArgument ? TheProgram->Arguments[*Index].Tensor
                    : TheProgram->Results[*Index].Tensor;
}

Result<void *> Session::getAddress(std::string_view Name,
                                   bool IsArgument) const {
  Result<uint32_t> Tensor = findValue(Name, IsArgument);
  if (!Tensor)
    return Tensor.getError();
  if (TheProgram->Tensors[*Tensor].InHalves)
    return Error(ErrorCode::InvalidArgument,
                 "'" + std::string(Name) +
                     "' lies in halves, so that its bytes are no f32: copy it, "
                     "or compile with halves=false");
  return static_cast<void *>(getAddress(*Tensor));
}

/// The number of an argument that has so many bytes.
Result<uint32_t> Session::findArgument(std::string_view Name,
                                       uint64_t Bytes) const {
  std::optional<uint32_t> Index = TheProgram->findArgument(Name);
  if (!Index)
    return unknownName("argument", Name);
  uint32_t Tensor = TheProgram->Arguments[*Index].Tensor;
  REMAT_TRY(checkSize(TheProgram->Tensors[Tensor], Name, Bytes));
  return *Index;
}

Status Session::write(std::string_view Name, const void *Data, uint64_t Bytes,
                      Origin From) {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    Result<uint32_t> Index = findArgument(Name, Bytes);
    if (!Index)
      return Index.getError();
    const Argument &A = TheProgram->Arguments[*Index];
    uint32_t Tensor = A.Tensor;
    REMAT_TRY(checkWritable(A));
    if (A.Role == Role::Input)
      REMAT_TRY(occupy());
    REMAT_TRY(copyIn(Tensor, Data, Bytes, From));
    Written[*Index] = true;
    return {};
  });
}

Status Session::copyIn(uint32_t Tensor, const void *Data, uint64_t Bytes,
                       Origin From) {
  const struct Tensor &T = TheProgram->Tensors[Tensor];
  char *To = getAddress(Tensor);
  if (From == Origin::Device)
    return T.InHalves ? splitFromDevice(Tensor, Data, Bytes)
                      : TheDevice.copyWithin(To, Data, Bytes);
  if (From == Origin::HostUntilStep && !T.InHalves)
    return TheDevice.copyInLater(To, Data, Bytes);
  return copyTensorIn(TheDevice, T, To, 0, Data, Bytes);
}

/// The host takes the numbers apart.
Status Session::splitFromDevice(uint32_t Tensor, const void *Data,
                                uint64_t Bytes) {
  std::vector<char> Buffer(std::min(Bytes, StreamBytes));
  for (uint64_t At = 0; At < Bytes; At += Buffer.size()) {
    uint64_t Count = std::min<uint64_t>(Buffer.size(), Bytes - At);
    REMAT_TRY(TheDevice.copyOut(Buffer.data(),
                                static_cast<const char *>(Data) + At, Count));
    REMAT_TRY(copyTensorIn(TheDevice, TheProgram->Tensors[Tensor],
                           getAddress(Tensor), At, Buffer.data(), Count));
  }
  return {};
}

Status Session::writeArgument(std::string_view Name, const void *Data,
                              uint64_t Bytes) {
  return write(Name, Data, Bytes, Origin::Host);
}

Status Session::writeArgumentLater(std::string_view Name, const void *Data,
                                   uint64_t Bytes) {
  return write(Name, Data, Bytes, Origin::HostUntilStep);
}

Status Session::writeArgumentFromDevice(std::string_view Name, const void *Data,
                                        uint64_t Bytes) {
  return write(Name, Data, Bytes, Origin::Device);
}

Status Session::read(std::string_view Name, bool IsArgument, void *Data,
                     uint64_t Bytes) {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    Result<uint32_t> Tensor = findValue(Name, IsArgument);
    if (!Tensor)
      return Tensor.getError();
    REMAT_TRY(checkSize(TheProgram->Tensors[*Tensor], Name, Bytes));
    return copyTensorOut(TheDevice, TheProgram->Tensors[*Tensor],
                         getAddress(*Tensor), 0, Data, Bytes);
  });
}

Status Session::readArgument(std::string_view Name, void *Data,
                             uint64_t Bytes) {
  return read(Name, /*IsArgument=*/true, Data, Bytes);
}

Status Session::readResult(std::string_view Name, void *Data, uint64_t Bytes) {
  return read(Name, /*IsArgument=*/false, Data, Bytes);
}

Status Session::loadArgument(std::string_view Name, const Source &From) {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    std::optional<uint32_t> Index = TheProgram->findArgument(Name);
    if (!Index)
      return unknownName("argument", Name);
    const Argument &A = TheProgram->Arguments[*Index];
    uint32_t Tensor = A.Tensor;
    REMAT_TRY(checkWritable(A));
    if (A.Role == Role::Input)
      REMAT_TRY(occupy());
    uint64_t Bytes = TheProgram->Tensors[Tensor].Bytes;
    std::vector<char> Buffer(std::min(Bytes, StreamBytes));
    Written[*Index] = false;
    for (uint64_t At = 0; At < Bytes; At += Buffer.size()) {
      uint64_t Count = std::min<uint64_t>(Buffer.size(), Bytes - At);
      REMAT_TRY(From(At, Buffer.data(), Count));
      REMAT_TRY(copyTensorIn(TheDevice, TheProgram->Tensors[Tensor],
                             getAddress(Tensor), At, Buffer.data(), Count));
    }
    Written[*Index] = true;
    return {};
  });
}

Status Session::store(std::string_view Name, bool IsArgument, const Sink &To) {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    Result<uint32_t> Tensor = findValue(Name, IsArgument);
    if (!Tensor)
      return Tensor.getError();
    uint64_t Bytes = TheProgram->Tensors[*Tensor].Bytes;
    std::vector<char> Buffer(std::min(Bytes, StreamBytes));
    for (uint64_t At = 0; At < Bytes; At += Buffer.size()) {
      uint64_t Count = std::min<uint64_t>(Buffer.size(), Bytes - At);
      REMAT_TRY(copyTensorOut(TheDevice, TheProgram->Tensors[*Tensor],
                              getAddress(*Tensor), At, Buffer.data(), Count));
      REMAT_TRY(To(Buffer.data(), Count));
    }
    return {};
  });
}

Status Session::storeArgument(std::string_view Name, const Sink &To) {
  return store(Name, /*IsArgument=*/true, To);
}

Status Session::storeResult(std::string_view Name, const Sink &To) {
  return store(Name, /*IsArgument=*/false, To);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Whether this rank or another one is to stop here: all stop before the same
/// step.
Result<bool> Session::takeInterrupt() {
  bool Own = IsInterrupted.exchange(false);
  if (Ranks *Others = TheDevice.getRanks())
    return anyOf(*Others, Own);
  return Own;
}

Status Session::runStep() {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    REMAT_TRY(checkWritten());
    Result<bool> Stops = takeInterrupt();
    if (!Stops)
      return Stops.getError();
    if (*Stops)
      return Error(ErrorCode::Interrupted,
                   "the step was interrupted before it began");
    REMAT_TRY(occupy());
    RunOptions Run;
    Run.Interrupt = &IsInterrupted;
    Run.Poison = Options.Poison;
    Run.Ranges = Options.Ranges;
    FiniteCheck Check(*TheProgram, TheDevice, static_cast<char *>(Arena));
    FirstNonfinite.reset();
    if (Options.CheckFinite) {
      REMAT_TRY(Check.checkArguments());
      Run.AfterStep = [&](size_t Step) { return Check.checkStep(Step); };
    }
    auto Begin = std::chrono::steady_clock::now();
    HasRun = false;
    Status S = TheExecutable->run(Arena, Run);
    if (Status Done = TheDevice.synchronize(); S && !Done)
      S = Done;
    for (size_t I = 0; I < Written.size(); ++I)
      if (!TheProgram->Arguments[I].Survives)
        Written[I] = false;
    if (!S) {
      if (S.getError().getCode() == ErrorCode::Interrupted)
        IsInterrupted = false;
      return S;
    }
    HasRun = true;
    if (Options.CheckFinite)
      REMAT_TRY(Check.checkResults());
    FirstNonfinite = Check.describe();
    StepMs.push_back(std::chrono::duration<double, std::milli>(
                         std::chrono::steady_clock::now() - Begin)
                         .count());
    return {};
  });
}

SessionStatistics Session::getStatistics() const {
  const PoolStatistics &From = getPool().getStatistics();
  SessionStatistics To;
  To.MeasuredPeakBytes = From.Requested.Peak;
  To.AllocatedPeakBytes = From.Allocated.Peak;
  To.ReservedPeakBytes = From.Reserved.Peak;
  To.Steps = StepMs.size();
  if (StepMs.empty())
    return To;
  To.LastStepMs = StepMs.back();
  // The first step pays for what later ones find ready.
  std::vector<double> Sorted(StepMs.begin() + (StepMs.size() > 1),
                             StepMs.end());
  auto Middle = Sorted.begin() + static_cast<ptrdiff_t>(Sorted.size() / 2);
  std::nth_element(Sorted.begin(), Middle, Sorted.end());
  To.MedianStepMs = *Middle;
  return To;
}
