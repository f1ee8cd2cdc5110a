//===- Library.h - shared libraries found when they are needed --*- C++ -*-===//
//
// A binary starts with and without the libraries that it can use: they are
// looked up when they are first needed. The working directory is no place to
// look in: what lies there was not put there by whoever installed the program.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_LIBRARY_H
#define REMAT_SUPPORT_LIBRARY_H

#include <string>
#include <vector>

namespace remat {

/// A shared library that was loaded; it stays loaded to the end of the process.
struct SharedLibrary {
  void *Handle = nullptr; ///< null: there is none
  std::string Folder;     ///< where it lay; "": the loader found it
  std::string Why;        ///< why there is none

  /// The address of a function, or null.
  void *find(const char *Symbol) const;
};

/// Loads the first of `Names` that the loader finds, which looks in the
/// system's folders and LD_LIBRARY_PATH.
SharedLibrary openLibrary(const std::vector<std::string> &Names);

/// Loads the project's library `Name` from the folder of this program or
/// library or from `lib` beside it. It, and what it needs, are there for all
/// that is loaded later.
SharedLibrary openOwnLibrary(const std::string &Name);

/// Loads the first of `Names` ("libnvrtc.so.13") from, in this order:
///  - the folders in REMAT_CUDA_LIBRARIES, separated by ':';
///  - where the loader looks;
///  - CUDA_HOME, CUDA_PATH and /usr/local/cuda;
///  - the Python packages `nvidia/*/lib` of VIRTUAL_ENV, of the packages that
///    this library is installed with, of `.venv` in a folder above this program
///    or library, of each python3 on PATH, of /usr/local and of /usr.
/// Of folders that are not named by a variable of their own, only absolute ones
/// count. With `IsGlobal`, libraries that look each other up by name find it.
SharedLibrary openCUDALibrary(const std::vector<std::string> &Names,
                              bool IsGlobal);

} // namespace remat

#endif // REMAT_SUPPORT_LIBRARY_H
