//===- Library.h - libraries found when they are needed ---------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_LIBRARY_H
#define REMAT_RUNTIME_CUDA_LIBRARY_H

#include "remat/Support/Library.h"
#include "remat/runtime/Result.h"
#include <string>
#include <string_view>

namespace remat::runtime::cuda {

/// A shared library that was loaded; it stays loaded to the end of the process.
class Library {
public:
  /// Loads the library `Name` ("libcublasLt.so.13") from where
  /// `openCUDALibrary` looks. Unavailable, with what was tried, if it is
  /// nowhere.
  static Result<Library> open(std::string_view Name);

  /// The address of a function, or null.
  void *find(const char *Symbol) const { return Found.find(Symbol); }

  void *getHandle() const { return Found.Handle; }

private:
  explicit Library(SharedLibrary Found) : Found(std::move(Found)) {}

  SharedLibrary Found;
};

/// Looks up `Function` under `Symbol`. Unavailable if the library lacks it.
template <typename T>
Status bind(const Library &From, const char *Symbol, T *&Function) {
  Function = reinterpret_cast<T *>(From.find(Symbol));
  if (Function)
    return {};
  return Error(ErrorCode::Unavailable,
               std::string("a loaded CUDA library has no function ") + Symbol);
}

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_LIBRARY_H
