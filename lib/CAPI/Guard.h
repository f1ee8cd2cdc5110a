//===- Guard.h - statuses, and calls that cannot throw ----------*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_GUARD_H
#define REMAT_LIB_CAPI_GUARD_H

#include "remat-c/Status.h"
#include <exception>
#include <new>
#include <string>
#include <vector>

namespace remat::capi {

struct Said {
  bool IsNote = false;
  std::string Message, File;
  unsigned Line = 0, Column = 0;
};

} // namespace remat::capi

struct RematStatus_ {
  RematCode Code;
  std::string Message;
  std::vector<remat::capi::Said> Diagnostics = {};
};

namespace remat::capi {

/// "no host memory", a status that is never destroyed.
RematStatus getMemoryStatus() noexcept;

inline RematStatus makeStatus(RematCode Code, std::string Message) {
  return new RematStatus_{Code, std::move(Message)};
}

/// Calls `F`, which returns a status: no exception leaves the library. Where
/// even a status finds no memory, the one that is there from the start is
/// given.
template <typename Function> RematStatus guard(Function F) noexcept {
  try {
    return F();
  } catch (const std::bad_alloc &) {
    return getMemoryStatus();
  } catch (const std::exception &E) {
    try {
      return makeStatus(REMAT_ERROR, E.what());
    } catch (...) {
      return getMemoryStatus();
    }
  }
}

/// The error for a null argument that must not be null.
inline RematStatus makeNullError(const char *What) {
  return makeStatus(REMAT_ERROR, std::string(What) + " must not be null");
}

} // namespace remat::capi

#endif // REMAT_LIB_CAPI_GUARD_H
