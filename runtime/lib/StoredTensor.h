//===- StoredTensor.h - a file's tensors and a program's --------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_STOREDTENSOR_H
#define REMAT_RUNTIME_LIB_STOREDTENSOR_H

#include "remat/runtime/Safetensors.h"

namespace remat::runtime {

/// Whether a tensor of the file `Path` has the type and shape that the
/// program's `T`, named `Name`, has.
Status checkStored(const Tensor &T, const std::string &Name, DType Type,
                   const std::vector<int64_t> &Shape, const std::string &Path);

/// A header in which `List`, arguments or results, are those that `IsWanted`.
template <typename Values, typename Function>
SafetensorsHeader describeAll(const Program &P, const Values &List,
                              Function IsWanted) {
  SafetensorsHeader Header;
  for (const auto &V : List)
    if (IsWanted(V)) {
      const Tensor &T = P.Tensors[V.Tensor];
      Header.Tensors.push_back({V.Name, T.Type, T.Shape, 0, T.Bytes});
    }
  return Header;
}

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_STOREDTENSOR_H
