//===- StoredTensor.h - a file's tensors and a program's --------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_STOREDTENSOR_H
#define REMAT_RUNTIME_LIB_STOREDTENSOR_H

#include "remat/runtime/Safetensors.h"

namespace remat::runtime {

/// What a file holds of an argument or a result: the whole of what several
/// ranks hold together.
TensorEntry describeStored(const Program &P, const Argument &A);
TensorEntry describeStored(const Program &P, const ProgramResult &R);

/// Whether a tensor of the file `Path` has the type and shape that the program
/// wants.
Status checkStored(const TensorEntry &Wanted, DType Type,
                   const std::vector<int64_t> &Shape, const std::string &Path);

/// A header in which `List`, arguments or results, are those that `IsWanted`.
template <typename Values, typename Function>
SafetensorsHeader describeAll(const Program &P, const Values &List,
                              Function IsWanted) {
  SafetensorsHeader Header;
  for (const auto &V : List)
    if (IsWanted(V))
      Header.Tensors.push_back(describeStored(P, V));
  return Header;
}

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_STOREDTENSOR_H
