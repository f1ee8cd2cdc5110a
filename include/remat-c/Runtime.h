/*===- remat-c/Runtime.h - running a program ---------------------*- C -*-===*\
|*                                                                            *|
|* Devices, sessions, and tensors by name. A program's bytes are verified     *|
|* before they are trusted, whoever made them.                                *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REMAT_C_RUNTIME_H
#define REMAT_C_RUNTIME_H

#include "remat-c/Tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A device. It goes when it and all of its sessions are destroyed. These may be
 * used from several threads, each session by one at a time; their work is done
 * in turn. Available since 0.1.
 */
typedef struct RematDevice_ *RematDevice;

/** A program with its memory on a device. Available since 0.1. */
typedef struct RematSession_ *RematSession;

/** Makes the device "host" or "cuda". Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematDeviceCreate(const char *name,
                                                  RematDevice *device);

/** The same with so many threads for the host's kernels, 1 to 1024; 0: one a
 * processor. Values do not depend on it. A GPU has no use for it. Available
 * since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematDeviceCreateWithThreads(
    const char *name, unsigned threads, RematDevice *device);

/**
 * The same on a stream of the caller's, a cudaStream_t of the GPU's primary
 * context that is no default stream: all work of the device is queued on it.
 * It stays the caller's, and outlives the device and its sessions. Null is a
 * stream of the device's own; on the host anything else is refused. Available
 * since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematDeviceCreateOnStream(const char *name,
                                                          void *stream,
                                                          RematDevice *device);

/** Frees a device; null is allowed. Available since 0.1. */
REMAT_CAPI_EXPORTED void rematDeviceDestroy(RematDevice device);

/**
 * The stream that the device's work is queued on, a cudaStream_t: what writes a
 * tensor that is to be copied from the GPU goes before it. Null on the host.
 * Available since 0.1.
 */
REMAT_CAPI_EXPORTED void *rematDeviceGetStream(RematDevice device);

/**
 * Verifies the program, allocates its arena and initialises parameters and
 * states from `seed`. REMAT_OUT_OF_MEMORY leaves nothing allocated.
 * Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematSessionCreate(const uint8_t *program,
                                                   size_t length,
                                                   RematDevice device,
                                                   uint64_t seed,
                                                   RematSession *session);

/**
 * Gives the program's function of that name, such as "evaluate", as a session:
 * its inputs are written, it is run and its results are read by the calls
 * below. Parameters and states are those of `session`, and a function only
 * reads them. Both have one memory: what does not survive a step, inputs and
 * results, is of the one that was written or run last, and is lost to the
 * other. One thread at a time uses the two. The function is destroyed as a
 * session is; the memory stays until both are. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematSessionGetFunction(RematSession session,
                                                        const char *name,
                                                        RematSession *function);

/** Frees a session, and its memory once no view of it is left; null is
 * allowed. Available since 0.1. */
REMAT_CAPI_EXPORTED void rematSessionDestroy(RematSession session);

/** Runs one step and waits for it. Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematSessionRunStep(RematSession session);

/**
 * Ends the step that runs, or else the next one, with REMAT_INTERRUPTED: no
 * parameter or state was changed then, and once its inputs are written again
 * the step can be run. A step that has begun to change them, and on a GPU one
 * that has begun, is done to its end; then the next one ends so. Any thread may
 * call this while a step runs, and a signal handler too. Available since 0.1.
 */
REMAT_CAPI_EXPORTED void rematSessionInterrupt(RematSession session);

/**
 * Writes argument `name` from, or reads argument or result `name` into, host
 * memory of exactly the tensor's size in bytes (row-major). A donated argument
 * holds its new value after a step. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematSessionWrite(RematSession session,
                                                  const char *name,
                                                  const void *data,
                                                  size_t bytes);
REMAT_CAPI_EXPORTED RematStatus rematSessionRead(RematSession session,
                                                 const char *name, void *data,
                                                 size_t bytes);

/**
 * Writes an argument from memory of the session's device, by whomever it was
 * allocated there. Waits for what the device's stream waits for. Since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematSessionWriteFromDevice(
    RematSession session, const char *name, const void *data, size_t bytes);

/** Size in bytes of the argument or result `name`. Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematSessionGetBytes(RematSession session,
                                                     const char *name,
                                                     size_t *bytes);

/**
 * Milliseconds that the last step took, to the end of the device's work; 0
 * before the first one. Available since 0.1.
 */
REMAT_CAPI_EXPORTED double
rematSessionGetStepMilliseconds(RematSession session);

/**
 * Stores the SHA-256 of all parameters' bytes, in the order of the arguments,
 * as 64 lower-case digits and a zero. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus
rematSessionGetParametersDigest(RematSession session, char digest[65]);

/**
 * Reads a safetensors file: the parameters and the graph's states, each of
 * which must be there with its type and shape; and what the optimizer
 * remembers, if all of it is there. Other tensors of the file are ignored.
 * Nothing is written unless all of it fits. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematSessionLoad(RematSession session,
                                                 const char *path);

/**
 * Writes a safetensors file with the parameters and the graph's states; with
 * `optimizer` not 0 what the optimizer remembers too, so that training goes on
 * where it was. A reader never sees half a file. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematSessionSave(RematSession session,
                                                 const char *path,
                                                 int optimizer);

/**
 * Writes a checkpoint into a folder, as `remat-run --checkpoint` does: all
 * arguments but the inputs, and that `steps` steps are done. The folder is made
 * where it is missing. Then all older checkpoints but the newest are removed,
 * so that `keep` are there; at least 1. If it fails, those that were there are
 * there. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematSessionSaveCheckpoint(RematSession session,
                                                           const char *folder,
                                                           uint64_t steps,
                                                           uint64_t keep);

/** A checkpoint that was found whole. Available since 0.1. */
typedef struct RematCheckpoint_ *RematCheckpoint;

/**
 * Finds the newest checkpoint of a folder that is whole: each of its bytes is
 * what was written. Stores null where there is none, or no folder; fails where
 * there are some but none is whole. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus
rematCheckpointFind(const char *folder, RematCheckpoint *checkpoint);

/** Frees what describes it, not its file; null is allowed. Since 0.1. */
REMAT_CAPI_EXPORTED void rematCheckpointDestroy(RematCheckpoint checkpoint);

/** The path of its file. Available since 0.1. */
REMAT_CAPI_EXPORTED const char *
rematCheckpointGetPath(RematCheckpoint checkpoint);

/** The steps that were done. Available since 0.1. */
REMAT_CAPI_EXPORTED uint64_t
rematCheckpointGetSteps(RematCheckpoint checkpoint);

/**
 * Why newer files of the folder were passed over, from number 0 on; null behind
 * the last. Available since 0.1.
 */
REMAT_CAPI_EXPORTED const char *
rematCheckpointGetSkipped(RematCheckpoint checkpoint, size_t number);

/**
 * Writes the arguments of a checkpoint to a session, whose program may be of
 * another budget. Names, types and shapes of all arguments but the inputs must
 * be the checkpoint's; nothing is written otherwise. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus
rematSessionLoadCheckpoint(RematSession session, RematCheckpoint checkpoint);

/** A value of a session. Available since 0.1. */
typedef struct RematTensor_ *RematTensor;

/** What a RematTensor holds. Available since 0.1. */
typedef enum {
  /** The session's own memory, on its device. It stays allocated as long as the
   * view or what was exported from it, and shows what lies there: of a result,
   * and of an argument that does not survive, other bytes from the next step
   * on. An argument may be written through it, between steps. On a GPU all that
   * others queued on views, on whatever stream, is done before the session's
   * memory is next read, written or stepped on. An error for a tensor that lies
   * in halves (RematTensorInfo). */
  REMAT_VIEW = 0,
  /** A copy in host memory. */
  REMAT_COPY = 1,
  /** A copy in host memory of the whole that ranks hold parts of, of an
   * argument. All ranks ask for it. */
  REMAT_WHOLE = 2
} RematAccess;

/**
 * Gives the value of argument, or result, `number`. An argument must have been
 * written, and a step must have made the result. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematSessionGetTensor(RematSession session,
                                                      RematSide side,
                                                      size_t number,
                                                      RematAccess access,
                                                      RematTensor *tensor);

/** Frees a tensor; null is allowed. What was exported stays. Since 0.1. */
REMAT_CAPI_EXPORTED void rematTensorDestroy(RematTensor tensor);

/** The address of the first element, on the device where it lies. Since 0.1. */
REMAT_CAPI_EXPORTED void *rematTensorGetData(RematTensor tensor);

/**
 * Exports a tensor by DLPack: stores a DLManagedTensorVersioned, or the older
 * DLManagedTensor where `versioned` is 0. It may outlive tensor and session,
 * and its deleter may be called by any thread. All work that made the value is
 * done, whatever the stream of the reader. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematTensorExport(RematTensor tensor,
                                                  int versioned,
                                                  void **managed);

/** The measured peak of the session's pool in bytes. Available since 0.1. */
REMAT_CAPI_EXPORTED uint64_t rematSessionGetPeakBytes(RematSession session);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_RUNTIME_H */
