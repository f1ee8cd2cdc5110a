//===- PlanEntry.h - a program and its report as one file -------*- C++ -*-===//

#ifndef REMAT_LIB_DRIVER_PLANENTRY_H
#define REMAT_LIB_DRIVER_PLANENTRY_H

#include "remat/Pipeline.h"

namespace remat {

/// What a file of the plan cache holds: a line with the digest of all that
/// follows, a line with the summary, a line with the report, the program.
struct PlanEntry {
  /// What is read without the rest, to see whether the rest is wanted.
  struct Summary {
    std::string Key;
    std::string KernelCompiler; ///< "": there are no kernels to compile
    int64_t ArenaBytes = 0;
    double Microseconds = 0;
  };

  Summary Head;
  CompileReport Report; ///< no seconds, refusal or explanation
  std::vector<uint8_t> Program;

  std::string write() const;
  /// Nothing if the bytes are not what `write` wrote.
  static std::optional<PlanEntry> read(llvm::StringRef Bytes);
  /// The summary at the beginning of a file; it is not verified.
  static std::optional<Summary> readSummary(llvm::StringRef Beginning);
};

} // namespace remat

#endif // REMAT_LIB_DRIVER_PLANENTRY_H
