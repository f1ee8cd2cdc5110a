//===- TensorCopy.h - tensors between host and device -----------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_TENSORCOPY_H
#define REMAT_RUNTIME_LIB_TENSORCOPY_H

#include "remat/runtime/Device.h"
#include "remat/runtime/Program.h"

namespace remat::runtime {

/// Copies elements of a tensor at `Address`, from byte `Offset` on as the
/// tensor has them in row-major order, whether it lies in halves or not.
Status copyTensorIn(Device &To, const Tensor &T, char *Address, uint64_t Offset,
                    const void *Data, uint64_t Bytes);
Status copyTensorOut(Device &From, const Tensor &T, const char *Address,
                     uint64_t Offset, void *Data, uint64_t Bytes);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_TENSORCOPY_H
