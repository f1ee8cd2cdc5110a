//===- RefusalPage.h - a refused budget for people to read ------*- C++ -*-===//

#ifndef REMAT_DRIVER_REFUSALPAGE_H
#define REMAT_DRIVER_REFUSALPAGE_H

#include "remat/Pipeline.h"
#include "remat/Support/Terminal.h"

namespace remat {

/// The page in lines no wider than the screen, the last one ended: the three
/// numbers in one sentence, bytes at the peak by class, where the peak is, the
/// largest values there, and what to try. `Source` is the line of the graph's
/// text at the peak; it may be empty. The page begins at `Column` of a line.
std::string renderRefusal(const CompileOptions &Options, const Refusal &Refused,
                          const Screen &Where, llvm::StringRef Source = "",
                          unsigned Column = 0);

} // namespace remat

#endif // REMAT_DRIVER_REFUSALPAGE_H
