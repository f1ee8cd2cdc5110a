//===- Common.h - what the C interface's files share ------------*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_COMMON_H
#define REMAT_LIB_CAPI_COMMON_H

#include "remat-c/Tensor.h"
#include "remat/runtime/Program.h"
#include <exception>
#include <new>
#include <string>

struct RematStatus_ {
  RematCode Code;
  std::string Message;
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

RematStatus makeStatus(const runtime::Error &E);
RematStatus makeStatus(const runtime::Status &S); ///< null for success

/// The error for the number of an argument or a result that is not there.
RematStatus makeNumberError(RematSide Side, size_t Number, size_t Count);

/// Describes an argument or a result that is there.
RematTensorInfo describe(const runtime::Program &P, RematSide Side,
                         size_t Number);

/// The error for a null argument that must not be null.
inline RematStatus makeNullError(const char *What) {
  return makeStatus(REMAT_ERROR, std::string(What) + " must not be null");
}

} // namespace remat::capi

#endif // REMAT_LIB_CAPI_COMMON_H
