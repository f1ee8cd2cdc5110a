/*===- remat-c/Run.h - the tool remat-run as a function ----------*- C -*-===*\
|*                                                                            *|
|* For who starts it with ranks of another kind than mpirun's, as             *|
|* `python -m remat.run` does with those of torch.distributed.                *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REMAT_C_RUN_H
#define REMAT_C_RUN_H

#include "remat-c/Ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Does what remat-run does with these words, of which the first is the tool's
 * name, and gives its exit code: 0 done, 2 the budget is refused, 1 any other
 * error. `ranks` run it side by side, all with the same words; with null they
 * are those of rematRanksStart. The process is the tool's: SIGINT, SIGTERM and
 * SIGHUP end the run as they end the tool, standard output is flushed at the
 * end, and exhausted memory or a second signal ends the process. Called once in
 * a process. Available since 0.1.
 */
REMAT_CAPI_EXPORTED int rematRunTool(int argc, const char *const *argv,
                                     RematRanks ranks);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_RUN_H */
