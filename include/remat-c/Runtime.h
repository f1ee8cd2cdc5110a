/*===- remat-c/Runtime.h - running a program ---------------------*- C -*-===*\
|*                                                                            *|
|* Devices, sessions, and tensors by name. A program's bytes are verified     *|
|* before they are trusted, whoever made them.                                *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REMAT_C_RUNTIME_H
#define REMAT_C_RUNTIME_H

#include "remat-c/Status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A device. Outlives its sessions, which may be used from several threads, each
 * session by one at a time; their work is done in turn. Available since 0.1.
 */
typedef struct RematDevice_ *RematDevice;

/** A program with its memory on a device. Available since 0.1. */
typedef struct RematSession_ *RematSession;

/** Makes the device "host" or "cuda". Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematDeviceCreate(const char *name,
                                                  RematDevice *device);

/** Frees a device; null is allowed. Available since 0.1. */
REMAT_CAPI_EXPORTED void rematDeviceDestroy(RematDevice device);

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

/** Frees a session and its memory; null is allowed. Available since 0.1. */
REMAT_CAPI_EXPORTED void rematSessionDestroy(RematSession session);

/** Runs one step and waits for it. Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematSessionRunStep(RematSession session);

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

/** Size in bytes of the argument or result `name`. Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematSessionGetBytes(RematSession session,
                                                     const char *name,
                                                     size_t *bytes);

/** The measured peak of the session's pool in bytes. Available since 0.1. */
REMAT_CAPI_EXPORTED uint64_t rematSessionGetPeakBytes(RematSession session);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_RUNTIME_H */
