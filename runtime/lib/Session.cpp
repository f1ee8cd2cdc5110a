//===- Session.cpp - a program with its memory ----------------------------===//

#include "remat/runtime/Session.h"
#include "lib/Guard.h"
#include "ops/Numeric.h"
#include "ops/Random.h"
#include "remat/runtime/FiniteCheck.h"
#include "remat/runtime/Sha256.h"
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
// Initial values
//===----------------------------------------------------------------------===//

/// FNV-1a (Fowler, Noll and Vo), 64 bits: the random id of a name.
static uint64_t hashName(std::string_view Name) {
  uint64_t Hash = 0xcbf29ce484222325;
  for (char C : Name)
    Hash = (Hash ^ static_cast<uint8_t>(C)) * 0x100000001b3;
  return Hash;
}

/// Elements that are made and copied at once.
static constexpr int64_t ChunkElements = 1 << 16;

/// Calls Make(first, count, elements in their computing type) chunk by chunk
/// and copies what it made to the device.
template <typename Function>
static Status fillTensor(Device &D, const Tensor &T, char *Address,
                         Function Make) {
  std::vector<uint64_t> Computed(ChunkElements), Stored(ChunkElements);
  auto *Bytes = reinterpret_cast<char *>(Stored.data());
  uint64_t Width = getByteWidth(T.Type);
  for (int64_t First = 0; First < T.NumElements; First += ChunkElements) {
    int64_t Count = std::min(ChunkElements, T.NumElements - First);
    Make(First, Count, static_cast<void *>(Computed.data()));
    storeBlock(T.Type, Bytes, 0, Count, Computed.data());
    REMAT_TRY(D.copyIn(Address + First * Width, Bytes, Count * Width));
  }
  return {};
}

/// A number for every element, whatever the type.
static void splat(DType Type, double Number, int64_t Count, void *Out) {
  dispatchElement(Type, [&](auto Row) {
    using Element = typename decltype(Row)::Computed;
    Element Value;
    if constexpr (Row.HoldsFloats)
      Value = static_cast<Element>(Number);
    else if constexpr (Row.Kind == ElementKind::Bool)
      Value = Number != 0;
    else if constexpr (sizeof(Element) == 4)
      Value = static_cast<Element>(std::clamp(Number, -0x1p31, 0x1p31 - 1));
    else
      Value = static_cast<Element>(std::clamp(Number, -0x1p62, 0x1p62));
    std::fill_n(static_cast<Element *>(Out), Count, Value);
  });
}

static Walk getWalk(const Tensor &T) {
  return Walk::broadcast(T.Shape, T.Shape);
}

static Status initialiseTensor(Device &D, const Argument &A, const Tensor &T,
                               char *Address, uint64_t Seed) {
  if (A.Role == Role::Seed || A.Role == Role::Step) {
    uint64_t Number = A.Role == Role::Seed ? Seed : 0;
    return D.copyIn(Address, &Number, sizeof Number);
  }
  bool Random =
      isFloat(T.Type) && (A.InitKind == "normal" || A.InitKind == "uniform");
  double Constant = A.InitKind.empty() ? 0 : A.InitValue;
  PhiloxStream Stream(Seed, hashName(A.Name), /*Step=*/0);
  bool Normal = A.InitKind == "normal";
  auto Scale = static_cast<float>(A.InitValue);
  return fillTensor(
      D, T, Address, [&](int64_t First, int64_t Count, void *Out) {
        if (!Random)
          return splat(T.Type, Constant == Constant ? Constant : 0, Count, Out);
        auto *X = static_cast<float *>(Out);
        drawBlock(Stream, Normal, getWalk(T), First, Count, X);
        for (int64_t I = 0; I < Count; ++I)
          X[I] = Scale * (Normal ? X[I] : 2.0f * X[I] - 1.0f);
      });
}

Status Session::initialise(uint64_t Seed) {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    for (size_t I = 0; I < TheProgram->Arguments.size(); ++I) {
      const Argument &A = TheProgram->Arguments[I];
      if (A.Role == Role::Input)
        continue;
      REMAT_TRY(checkWritable(A));
      REMAT_TRY(initialiseTensor(TheDevice, A, TheProgram->Tensors[A.Tensor],
                                 getAddress(A.Tensor), Seed));
      Written[I] = true;
    }
    return {};
  });
}

static void drawIntegers(const PhiloxStream &Stream, DType Type, uint64_t Bound,
                         int64_t First, int64_t Count, void *Out) {
  for (int64_t I = 0; I < Count; ++I) {
    auto Words = Stream.getBlock(First + I);
    uint64_t Number = (uint64_t(Words[0]) << 32 | Words[1]) % Bound;
    dispatchElement(Type, [&](auto Row) {
      using Element = typename decltype(Row)::Computed;
      static_cast<Element *>(Out)[I] = static_cast<Element>(
          Row.Kind == ElementKind::Bool ? Number & 1 : Number);
    });
  }
}

Status Session::fillInputs(uint64_t Seed, uint64_t Draw,
                           std::span<const uint32_t> Except) {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    REMAT_TRY(occupy());
    for (size_t I = 0; I < TheProgram->Arguments.size(); ++I) {
      const Argument &A = TheProgram->Arguments[I];
      if (A.Role != Role::Input ||
          std::find(Except.begin(), Except.end(), I) != Except.end())
        continue;
      const Tensor &T = TheProgram->Tensors[A.Tensor];
      PhiloxStream Stream(Seed, hashName(A.Name), Draw);
      auto Bound = static_cast<uint64_t>(A.Bound ? A.Bound : 2);
      auto Make = [&](int64_t First, int64_t Count, void *Out) {
        if (holdsFloats(T.Type))
          drawBlock(Stream, /*Normal=*/true, getWalk(T), First, Count,
                    static_cast<float *>(Out));
        else
          drawIntegers(Stream, T.Type, Bound, First, Count, Out);
      };
      REMAT_TRY(fillTensor(TheDevice, T, getAddress(A.Tensor), Make));
      Written[I] = true;
    }
    return {};
  });
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
                      Copy CopyTo) {
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
    REMAT_TRY((TheDevice.*CopyTo)(getAddress(Tensor), Data, Bytes));
    Written[*Index] = true;
    return {};
  });
}

Status Session::writeArgument(std::string_view Name, const void *Data,
                              uint64_t Bytes) {
  return write(Name, Data, Bytes, &Device::copyIn);
}

Status Session::writeArgumentFromDevice(std::string_view Name, const void *Data,
                                        uint64_t Bytes) {
  return write(Name, Data, Bytes, &Device::copyWithin);
}

Status Session::read(std::string_view Name, bool IsArgument, void *Data,
                     uint64_t Bytes) {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    Result<uint32_t> Tensor = findValue(Name, IsArgument);
    if (!Tensor)
      return Tensor.getError();
    REMAT_TRY(checkSize(TheProgram->Tensors[*Tensor], Name, Bytes));
    return TheDevice.copyOut(Data, getAddress(*Tensor), Bytes);
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
      REMAT_TRY(
          TheDevice.copyIn(getAddress(Tensor) + At, Buffer.data(), Count));
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
      REMAT_TRY(
          TheDevice.copyOut(Buffer.data(), getAddress(*Tensor) + At, Count));
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

Status Session::runStep() {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    REMAT_TRY(checkWritten());
    if (IsInterrupted.exchange(false))
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

Result<std::string> Session::computeParametersDigest() {
  return guard([&]() -> Result<std::string> {
    Sha256 Digest;
    for (const Argument &A : TheProgram->Arguments)
      if (A.Role == Role::Parameter)
        REMAT_TRY(storeArgument(A.Name, [&](const void *Data, uint64_t Bytes) {
          Digest.update(Data, Bytes);
          return Status();
        }));
    std::string Text = Digest.finish();
    if (Text.empty())
      return Error(ErrorCode::DeviceFailure, "libcrypto computes no SHA-256");
    return Text;
  });
}
