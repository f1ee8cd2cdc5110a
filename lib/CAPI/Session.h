//===- Session.h - what a session's handle holds ----------------*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_SESSION_H
#define REMAT_LIB_CAPI_SESSION_H

#include "Common.h"
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
  std::atomic<long> Handles = 0; ///< that users hold; the others are views
  /// Whether others may read or write the session's memory: a view was exported
  /// since the last wait, or is still there.
  std::atomic<bool> Shown = false;
};

} // namespace remat::capi

struct RematSession_ {
  explicit RematSession_(std::shared_ptr<remat::capi::SharedSession> Of,
                         remat::runtime::Session *Function = nullptr)
      : Shared(std::move(Of)), Function(Function) {
    ++Shared->Handles;
  }
  ~RematSession_() { --Shared->Handles; }
  RematSession_(const RematSession_ &) = delete;
  RematSession_ &operator=(const RematSession_ &) = delete;

  std::shared_ptr<remat::capi::SharedSession> Shared;
  /// A function of the program; null for the program's own steps.
  remat::runtime::Session *Function = nullptr;

  /// Waits for what others queued on the session's memory, through views.
  remat::runtime::Status waitForOthers() const {
    if (!Shared->Shown)
      return {};
    Shared->Shown = Shared.use_count() > Shared->Handles;
    auto Lock = Shared->Device->lock();
    return Shared->Device->synchronizeOthers();
  }

  remat::runtime::Session *operator->() const {
    return Function ? Function : Shared->Session.get();
  }
};

namespace remat::capi {

/// Reads the whole of an argument that ranks hold parts of; all ranks call it.
runtime::Status readWhole(runtime::Session &S, const char *Name, void *Data,
                          size_t Bytes);

/// What the functions that make devices share.
RematStatus createDevice(const char *Name,
                         const runtime::DeviceOptions &Options,
                         RematDevice *Device);

/// Calls `F` with the session, once what others queued on its memory is done.
/// The error for null arguments names `What`.
template <typename Function>
RematStatus use(RematSession Session, bool AreThere, const char *What,
                Function F) {
  return guard([&]() -> RematStatus {
    if (!Session || !AreThere)
      return makeNullError(What);
    if (runtime::Status Waited = Session->waitForOthers(); !Waited)
      return makeStatus(Waited);
    return makeStatus(F(*Session->operator->()));
  });
}

} // namespace remat::capi

#endif // REMAT_LIB_CAPI_SESSION_H
