//===- Common.h - what the C interface's files share ------------*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_COMMON_H
#define REMAT_LIB_CAPI_COMMON_H

#include "Guard.h"
#include "remat-c/Tensor.h"
#include "remat/runtime/Program.h"

namespace remat::capi {

RematStatus makeStatus(const runtime::Error &E);
RematStatus makeStatus(const runtime::Status &S); ///< null for success

/// The error for the number of an argument or a result that is not there.
RematStatus makeNumberError(RematSide Side, size_t Number, size_t Count);

/// Describes an argument or a result that is there.
RematTensorInfo describe(const runtime::Program &P, RematSide Side,
                         size_t Number);

} // namespace remat::capi

#endif // REMAT_LIB_CAPI_COMMON_H
