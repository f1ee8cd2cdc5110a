/*===- remat-c/Ranks.h - processes that run one program ----------*- C -*-===*\
|*                                                                            *|
|* A program that was compiled for several ranks ("ranks", "parallel") runs   *|
|* in as many processes side by side. They talk through what started them, or *|
|* through functions of the caller's.                                         *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REMAT_C_RANKS_H
#define REMAT_C_RANKS_H

#include "remat-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The processes of a job, as one of them sees them. Available since 0.1. */
typedef struct RematRanks_ *RematRanks;

/** Bytes for another rank, or where its bytes go. Available since 0.1. */
typedef struct {
  uint32_t peer;
  void *data;
  size_t bytes;
} RematMessage;

/**
 * How ranks talk. `exchange` starts all messages and waits for them, at most so
 * many milliseconds: the n-th message to a peer is that peer's n-th from here.
 * It gives 0, or another number with what went wrong as text with a zero behind
 * in `error`, of `error_bytes` bytes. `tell` gives a text to all other ranks,
 * whose exchanges then fail with it, and waits a few seconds at most. Both are
 * called by one thread at a time. Available since 0.1.
 */
typedef struct {
  void *context;
  uint32_t rank, size; /**< this one's number, from 0, and how many there are */
  uint32_t local_rank; /**< its number among those of its machine */
  int (*exchange)(void *context, const RematMessage *sends, size_t num_sends,
                  const RematMessage *receives, size_t num_receives,
                  uint64_t milliseconds, char *error, size_t error_bytes);
  void (*tell)(void *context, const char *message);
} RematRanksCallbacks;

/** Ranks that talk through the caller's functions. Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus
rematRanksCreate(const RematRanksCallbacks *callbacks, RematRanks *ranks);

/**
 * The ranks that this process was started with, by mpirun or srun, for a device
 * of that name; null, and no error, where it was started alone. They talk by
 * MPI, which torchrun does not start: under it this is an error, and
 * rematRanksCreate takes what torch.distributed talks by. Called once in a
 * process. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematRanksStart(const char *device,
                                                RematRanks *ranks);

/** This process's number, from 0, and how many there are. Since 0.1. */
REMAT_CAPI_EXPORTED uint32_t rematRanksGetRank(RematRanks ranks);
REMAT_CAPI_EXPORTED uint32_t rematRanksGetSize(RematRanks ranks);

/**
 * How long one of these ranks waits for another before its calls fail, 30
 * seconds unless set: from 1 to 1000000000 milliseconds. Ranks that compile,
 * read data or are watched by a debugger for longer, one without the others,
 * need more. The tool's are set by --rank-timeout. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematRanksSetTimeLimit(RematRanks ranks,
                                                       uint64_t milliseconds);

/**
 * The bytes that the budget "max" means for these ranks on a device of that
 * name, "host" or "cuda": the same number on all, what the least of them has
 * free, less a margin. Compile with that number. Null is one rank. All ranks
 * call it. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematRanksFindMaxBudget(RematRanks ranks,
                                                        const char *device,
                                                        uint64_t *bytes);

/** Lets go of ranks; devices made with them keep them. Null is allowed.
 * Available since 0.1. */
REMAT_CAPI_EXPORTED void rematRanksDestroy(RematRanks ranks);

/** A device whose sessions run programs for these ranks; `threads` as
 * rematDeviceCreateWithThreads has them, but for 0: ranks of one machine share
 * its processors. All ranks call it. Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematDeviceCreateOnRanks(const char *name,
                                                         unsigned threads,
                                                         RematRanks ranks,
                                                         RematDevice *device);

/**
 * Writes argument `name` from, or reads it into, host memory of the whole
 * tensor that ranks hold together (RematTensorInfo::whole_shape). All ranks
 * call it, with the same bytes; it is rematSessionWrite and rematSessionRead
 * where each holds all of it. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematSessionWriteWhole(RematSession session,
                                                       const char *name,
                                                       const void *data,
                                                       size_t bytes);
REMAT_CAPI_EXPORTED RematStatus rematSessionReadWhole(RematSession session,
                                                      const char *name,
                                                      void *data, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_RANKS_H */
