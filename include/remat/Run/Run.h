//===- Run.h - all of remat-run but its main --------------------*- C++ -*-===//
//
// The tool's main is here for who has a process of its own for it and other
// ranks than MPI's: Python, which has those of torch.distributed.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUN_RUN_H
#define REMAT_RUN_RUN_H

#include "remat/runtime/Ranks.h"
#include <memory>

namespace remat {

/// Does what the words ask for, of which the first is the tool's name, and
/// gives the exit code of the process: 0 done, 2 the budget was refused, 1 any
/// other error. Without `Ranks` it finds those that the process was started
/// with. It takes over the process's signals and standard output, and may end
/// it (Tool.h).
int runTool(int Argc, const char *const *Argv,
            std::shared_ptr<runtime::Ranks> Ranks = nullptr);

} // namespace remat

#endif // REMAT_RUN_RUN_H
