//===- Guard.h - exhausted memory as an error -------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_GUARD_H
#define REMAT_RUNTIME_LIB_GUARD_H

#include "remat/runtime/Result.h"
#include <new>
#include <system_error>
#include <utility>

namespace remat::runtime {

/// Calls `F`, which returns a Result. What the standard library throws, for
/// want of memory or of threads, becomes an error: the runtime throws nothing.
template <typename Function> auto guard(Function F) -> decltype(F()) {
  try {
    return F();
  } catch (const std::bad_alloc &) {
    // So short that the text needs no memory of its own.
    return Error(ErrorCode::OutOfMemory, "no host memory");
  } catch (const std::system_error &E) {
    return Error(ErrorCode::Unavailable, E.what());
  }
}

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_GUARD_H
