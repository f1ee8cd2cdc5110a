//===- Library.cpp - the CUDA libraries -----------------------------------===//

#include "cuda/Library.h"

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::cuda;

Result<Library> Library::open(std::string_view Name) {
  // Global: cuDNN and NVRTC look each other up by name.
  SharedLibrary Found = openCUDALibrary({std::string(Name)}, /*IsGlobal=*/true);
  if (!Found.Handle)
    return Error(ErrorCode::Unavailable, Found.Why);
  return Library(std::move(Found));
}
