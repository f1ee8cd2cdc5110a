//===- Session.h - what a session's handle holds ----------------*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_SESSION_H
#define REMAT_LIB_CAPI_SESSION_H

#include "remat-c/Runtime.h"
#include "remat/runtime/Session.h"
#include <atomic>
#include <memory>

struct RematDevice_ {
  std::shared_ptr<remat::runtime::Device> Device;
};

namespace remat::capi {

/// A session and its device, which goes after it. Views share it.
struct SharedSession {
  std::shared_ptr<runtime::Device> Device;
  std::unique_ptr<runtime::Session> Session;
  /// Whether others may read or write the session's memory: a view was exported
  /// since the last wait, or is still there.
  std::atomic<bool> Shown = false;
};

} // namespace remat::capi

struct RematSession_ {
  std::shared_ptr<remat::capi::SharedSession> Shared;

  /// Waits for what others queued on the session's memory, through views.
  remat::runtime::Status waitForOthers() const {
    if (!Shared->Shown)
      return {};
    Shared->Shown = Shared.use_count() > 1;
    auto Lock = Shared->Device->lock();
    return Shared->Device->synchronizeOthers();
  }

  remat::runtime::Session *operator->() const { return Shared->Session.get(); }
};

#endif // REMAT_LIB_CAPI_SESSION_H
