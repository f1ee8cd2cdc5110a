//===- Runtime.cpp - devices and sessions ---------------------------------===//

#include "remat-c/Runtime.h"
#include "Common.h"
#include "remat/runtime/Session.h"

using namespace remat;
using namespace remat::capi;

struct RematDevice_ {
  std::unique_ptr<runtime::Device> Device;
};

struct RematSession_ {
  std::unique_ptr<runtime::Session> Session;
};

static RematStatus makeStatus(const runtime::Error &E) {
  RematCode Code = E.getCode() == runtime::ErrorCode::OutOfMemory
                       ? REMAT_OUT_OF_MEMORY
                       : REMAT_ERROR;
  return capi::makeStatus(Code, E.getMessage());
}

static RematStatus makeStatus(const runtime::Status &S) {
  return S ? nullptr : makeStatus(S.getError());
}

RematStatus rematDeviceCreate(const char *Name, RematDevice *Device) {
  return guard([&]() -> RematStatus {
    if (!Name || !Device)
      return makeNullError("name and device");
    *Device = nullptr;
    auto Made = runtime::createDevice(Name);
    if (!Made)
      return makeStatus(Made.getError());
    *Device = new RematDevice_{std::move(*Made)};
    return nullptr;
  });
}

void rematDeviceDestroy(RematDevice Device) { delete Device; }

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
    *Session = new RematSession_{std::move(*Made)};
    return nullptr;
  });
}

void rematSessionDestroy(RematSession Session) { delete Session; }

RematStatus rematSessionRunStep(RematSession Session) {
  return guard([&]() -> RematStatus {
    if (!Session)
      return makeNullError("session");
    return makeStatus(Session->Session->runStep());
  });
}

RematStatus rematSessionWrite(RematSession Session, const char *Name,
                              const void *Data, size_t Bytes) {
  return guard([&]() -> RematStatus {
    if (!Session || !Name || !Data)
      return makeNullError("session, name and data");
    return makeStatus(Session->Session->writeArgument(Name, Data, Bytes));
  });
}

RematStatus rematSessionRead(RematSession Session, const char *Name, void *Data,
                             size_t Bytes) {
  return guard([&]() -> RematStatus {
    if (!Session || !Name || !Data)
      return makeNullError("session, name and data");
    // An updated parameter is both an argument and a result, at the same bytes.
    if (Session->Session->getProgram().findArgument(Name))
      return makeStatus(Session->Session->readArgument(Name, Data, Bytes));
    return makeStatus(Session->Session->readResult(Name, Data, Bytes));
  });
}

RematStatus rematSessionGetBytes(RematSession Session, const char *Name,
                                 size_t *Bytes) {
  return guard([&]() -> RematStatus {
    if (!Session || !Name || !Bytes)
      return makeNullError("session, name and bytes");
    const runtime::Program &P = Session->Session->getProgram();
    if (auto Argument = P.findArgument(Name))
      *Bytes = P.Tensors[P.Arguments[*Argument].Tensor].Bytes;
    else if (auto Result = P.findResult(Name))
      *Bytes = P.Tensors[P.Results[*Result].Tensor].Bytes;
    else
      return capi::makeStatus(REMAT_ERROR, std::string("no tensor '") + Name +
                                               "' in the program");
    return nullptr;
  });
}

uint64_t rematSessionGetPeakBytes(RematSession Session) {
  return Session ? Session->Session->getPool().getStatistics().Requested.Peak
                 : 0;
}
