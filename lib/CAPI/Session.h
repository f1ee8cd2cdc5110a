//===- Session.h - what a session's handle holds ----------------*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_SESSION_H
#define REMAT_LIB_CAPI_SESSION_H

#include "remat-c/Runtime.h"
#include "remat/runtime/Session.h"
#include <memory>

struct RematDevice_ {
  std::shared_ptr<remat::runtime::Device> Device;
};

namespace remat::capi {

/// A session and its device, which goes after it. Views share it.
struct SharedSession {
  std::shared_ptr<runtime::Device> Device;
  std::unique_ptr<runtime::Session> Session;
};

} // namespace remat::capi

struct RematSession_ {
  std::shared_ptr<remat::capi::SharedSession> Shared;

  remat::runtime::Session *operator->() const { return Shared->Session.get(); }
};

#endif // REMAT_LIB_CAPI_SESSION_H
