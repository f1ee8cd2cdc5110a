/*===- remat-c/Status.h - errors and version ---------------------*- C -*-===*\
|*                                                                            *|
|* The C interface of remat. Types are opaque; what a `Create` or a `Compile` *|
|* gave, the matching `Destroy` takes back. No call throws, prints or ends    *|
|* the process. Nothing is thread-safe unless said.                           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REMAT_C_STATUS_H
#define REMAT_C_STATUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define REMAT_CAPI_EXPORTED
#else
#define REMAT_CAPI_EXPORTED __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version that this header belongs to. */
#define REMAT_VERSION_MAJOR 0
#define REMAT_VERSION_MINOR 1
#define REMAT_VERSION_PATCH 0

/** The version of the library that runs. Available since 0.1. */
REMAT_CAPI_EXPORTED void rematGetVersion(int *major, int *minor, int *patch);

/** What kind of thing went wrong. Available since 0.1. */
typedef enum {
  REMAT_OK = 0,
  REMAT_ERROR = 1,         /**< the message says what */
  REMAT_REFUSED = 2,       /**< the budget cannot be met; the report says why */
  REMAT_OUT_OF_MEMORY = 3, /**< nothing was changed, the call can be repeated */
  REMAT_INTERRUPTED = 4    /**< by rematSessionInterrupt */
} RematCode;

/** An error, or null for success. Owned by the caller. Available since 0.1. */
typedef struct RematStatus_ *RematStatus;

/** REMAT_OK for null. Available since 0.1. */
REMAT_CAPI_EXPORTED RematCode rematStatusGetCode(RematStatus status);

/** The message, "" for null; lives as long as the status. Since 0.1. */
REMAT_CAPI_EXPORTED const char *rematStatusGetMessage(RematStatus status);

/** One thing that was said of a graph. Texts live as long as the status.
 * Available since 0.1. */
typedef struct {
  int note;            /**< not 0: it explains the one before it */
  const char *message; /**< without the place */
  const char *file;    /**< what the graph calls its file; "": no place */
  unsigned line, column;
} RematDiagnostic;

/**
 * How many things a compilation that failed or was refused said of its graph:
 * the parts that the message is made of, with their places. 0 for all other
 * errors. Available since 0.1.
 */
REMAT_CAPI_EXPORTED size_t rematStatusGetNumDiagnostics(RematStatus status);

/** Describes the `number`th of them; 0 if there are fewer, else 1. Since 0.1.
 */
REMAT_CAPI_EXPORTED int rematStatusGetDiagnostic(RematStatus status,
                                                 size_t number,
                                                 RematDiagnostic *diagnostic);

/** Frees a status; null is allowed. Available since 0.1. */
REMAT_CAPI_EXPORTED void rematStatusDestroy(RematStatus status);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_STATUS_H */
