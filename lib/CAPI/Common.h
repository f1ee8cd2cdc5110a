//===- Common.h - what the C interface's files share ------------*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_COMMON_H
#define REMAT_LIB_CAPI_COMMON_H

#include "remat-c/Status.h"
#include <string>

struct RematStatus_ {
  RematCode Code;
  std::string Message;
};

namespace remat::capi {

inline RematStatus makeStatus(RematCode Code, std::string Message) {
  return new RematStatus_{Code, std::move(Message)};
}

/// The error for a null argument that must not be null.
inline RematStatus makeNullError(const char *What) {
  return makeStatus(REMAT_ERROR, std::string(What) + " must not be null");
}

} // namespace remat::capi

#endif // REMAT_LIB_CAPI_COMMON_H
