//===- Runtime.cpp - devices and sessions ---------------------------------===//

#include "Common.h"
#include "Session.h"
#include "remat/runtime/SessionFiles.h"

using namespace remat;
using namespace remat::capi;

RematStatus capi::makeStatus(const runtime::Error &E) {
  RematCode Code = REMAT_ERROR;
  if (E.getCode() == runtime::ErrorCode::OutOfMemory)
    Code = REMAT_OUT_OF_MEMORY;
  else if (E.getCode() == runtime::ErrorCode::Interrupted)
    Code = REMAT_INTERRUPTED;
  return makeStatus(Code, E.getMessage());
}

RematStatus capi::makeStatus(const runtime::Status &S) {
  return S ? nullptr : makeStatus(S.getError());
}

RematStatus capi::createDevice(const char *Name,
                               const runtime::DeviceOptions &Options,
                               RematDevice *Device) {
  return guard([&]() -> RematStatus {
    if (!Name || !Device)
      return makeNullError("name and device");
    *Device = nullptr;
    if (Options.Threads > runtime::MaxThreads)
      return makeStatus(REMAT_ERROR, "threads is " +
                                         std::to_string(Options.Threads) +
                                         "; it must be from 0 to " +
                                         std::to_string(runtime::MaxThreads));
    auto Made = runtime::createDevice(Name, Options);
    if (!Made)
      return makeStatus(Made.getError());
    *Device = new RematDevice_{std::move(*Made)};
    return nullptr;
  });
}

RematStatus rematDeviceCreate(const char *Name, RematDevice *Device) {
  return createDevice(Name, {}, Device);
}

RematStatus rematDeviceCreateOnStream(const char *Name, void *Stream,
                                      RematDevice *Device) {
  runtime::DeviceOptions Options;
  Options.Stream = Stream;
  return createDevice(Name, Options, Device);
}

RematStatus rematDeviceCreateWithThreads(const char *Name, unsigned Threads,
                                         RematDevice *Device) {
  runtime::DeviceOptions Options;
  Options.Threads = Threads;
  return createDevice(Name, Options, Device);
}

void rematDeviceDestroy(RematDevice Device) { delete Device; }

void *rematDeviceGetStream(RematDevice Device) {
  return Device ? Device->Device->getStream() : nullptr;
}

RematStatus rematSessionCreate(const uint8_t *Program, size_t Length,
                               RematDevice Device, uint64_t Seed,
                               RematSession *Session) {
  return guard([&]() -> RematStatus {
    if (!Program || !Device || !Session)
      return makeNullError("program, device and session");
    *Session = nullptr;
    auto Made =
        runtime::Session::create(std::span(Program, Length), *Device->Device);
    if (!Made)
      return makeStatus(Made.getError());
    if (runtime::Status S = (*Made)->initialise(Seed); !S)
      return makeStatus(S.getError());
    auto Shared = std::make_shared<SharedSession>(Device->Device);
    Shared->Session = std::move(*Made);
    *Session = new RematSession_(std::move(Shared));
    return nullptr;
  });
}

RematStatus rematSessionGetFunction(RematSession Session, const char *Name,
                                    RematSession *Function) {
  return guard([&]() -> RematStatus {
    if (!Session || !Name || !Function)
      return makeNullError("session, name and function");
    *Function = nullptr;
    auto Found = (*Session)->getFunction(Name);
    if (!Found)
      return makeStatus(Found.getError());
    *Function = new RematSession_(Session->Shared, *Found);
    return nullptr;
  });
}

void rematSessionDestroy(RematSession Session) { delete Session; }

void rematSessionInterrupt(RematSession Session) {
  if (Session)
    (*Session)->interrupt();
}

RematStatus rematSessionRunStep(RematSession Session) {
  return use(Session, true, "session",
             [](runtime::Session &S) { return S.runStep(); });
}

RematStatus rematSessionWrite(RematSession Session, const char *Name,
                              const void *Data, size_t Bytes) {
  return use(
      Session, Name && Data, "session, name and data",
      [&](runtime::Session &S) { return S.writeArgument(Name, Data, Bytes); });
}

RematStatus rematSessionWriteFromDevice(RematSession Session, const char *Name,
                                        const void *Data, size_t Bytes) {
  return use(Session, Name && Data, "session, name and data",
             [&](runtime::Session &S) {
               return S.writeArgumentFromDevice(Name, Data, Bytes);
             });
}

RematStatus rematSessionRead(RematSession Session, const char *Name, void *Data,
                             size_t Bytes) {
  return use(Session, Name && Data, "session, name and data",
             [&](runtime::Session &S) {
               // An updated parameter is both an argument and a result, at the
               // same bytes.
               return S.getProgram().findArgument(Name)
                          ? S.readArgument(Name, Data, Bytes)
                          : S.readResult(Name, Data, Bytes);
             });
}

RematStatus rematSessionGetBytes(RematSession Session, const char *Name,
                                 size_t *Bytes) {
  return guard([&]() -> RematStatus {
    if (!Session || !Name || !Bytes)
      return makeNullError("session, name and bytes");
    const runtime::Program &P = (*Session)->getProgram();
    if (auto Argument = P.findArgument(Name))
      *Bytes = P.Tensors[P.Arguments[*Argument].Tensor].Bytes;
    else if (auto Result = P.findResult(Name))
      *Bytes = P.Tensors[P.Results[*Result].Tensor].Bytes;
    else
      return makeStatus(REMAT_ERROR,
                        std::string("no tensor '") + Name + "' in the program");
    return nullptr;
  });
}

uint64_t rematSessionGetPeakBytes(RematSession Session) {
  return Session ? (*Session)->getPool().getStatistics().Requested.Peak : 0;
}

double rematSessionGetStepMilliseconds(RematSession Session) {
  return Session ? (*Session)->getLastStepMilliseconds() : 0;
}

RematStatus rematSessionGetParametersDigest(RematSession Session,
                                            char Digest[65]) {
  return use(Session, Digest, "session and digest",
             [&](runtime::Session &S) -> runtime::Status {
               runtime::Result<std::string> Text = S.computeParametersDigest();
               if (!Text)
                 return Text.getError();
               Digest[Text->copy(Digest, 64)] = '\0';
               return {};
             });
}

RematStatus rematSessionLoad(RematSession Session, const char *Path) {
  return use(Session, Path, "session and path", [&](runtime::Session &S) {
    return runtime::loadWeights(S, Path);
  });
}

RematStatus rematSessionSave(RematSession Session, const char *Path,
                             int Optimizer) {
  return use(Session, Path, "session and path", [&](runtime::Session &S) {
    return runtime::saveWeights(
        S, Path, Optimizer ? runtime::Saved::Training : runtime::Saved::Model);
  });
}
