/*===- remat-c/Compiler.h - from graph text to a program ---------*- C -*-===*\
|*                                                                            *|
|* Compiles a graph under options and gives the program's bytes and a report. *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REMAT_C_COMPILER_H
#define REMAT_C_COMPILER_H

#include "remat-c/Tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a compilation. Available since 0.1. */
typedef struct RematOptions_ *RematOptions;

/** A compiled program with its report. Available since 0.1. */
typedef struct RematProgram_ *RematProgram;

/** The defaults of remat-run. Available since 0.1. */
REMAT_CAPI_EXPORTED RematOptions rematOptionsCreate(void);

/** Frees options; null is allowed. Available since 0.1. */
REMAT_CAPI_EXPORTED void rematOptionsDestroy(RematOptions options);

/**
 * Sets one option by the name and text that remat-run takes, without dashes:
 * ("budget", "4GiB"), ("device", "host"), ("optimizer", "sgd"). An unknown name
 * or a bad value is an error and changes nothing. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematOptionsSet(RematOptions options,
                                                const char *name,
                                                const char *value);

/**
 * Keeps programs that are compiled with these options in `folder`, from where
 * they are taken when the same is compiled again; "off", the default: nowhere.
 * Null: where remat-run keeps them, which $REMAT_CACHE_DIR says. A folder that
 * cannot be written is no error. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematOptionsSetCache(RematOptions options,
                                                     const char *folder);

/**
 * Gets a line, without its end, of what somebody may want to read: a warning,
 * what the budget `max` is, that a program was kept from before or could not be
 * kept. The text lives as long as the call. Available since 0.1.
 */
typedef void (*RematLog)(void *data, const char *message);

/** Has `log` called with `data` by the thread that compiles with these options;
 * null: nobody is told. Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematOptionsSetLog(RematOptions options,
                                                   RematLog log, void *data);

/** Where planning is. Available since 0.1. */
typedef struct {
  double seconds;               /**< since it began */
  int64_t smallest_found_bytes; /**< of the leanest program so far */
  int64_t budget_bytes;         /**< -1 while the smallest is looked for */
  /** Of the fastest plan so far within the budget, and what is proven of every
   * plan, over the time without recomputation, 0.01: one percent; -1 while
   * there is none. */
  double overhead, least_overhead;
} RematProgress;

typedef void (*RematWatch)(void *data, const RematProgress *progress);

/** Has `watch` called with `data` every two seconds or so while a compilation
 * with these options plans, by one thread at a time, not always the one that
 * compiles; null: nobody is told. Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematOptionsSetWatch(RematOptions options,
                                                     RematWatch watch,
                                                     void *data);

/**
 * Ends the compilations with these options, now or later: as soon as they look,
 * at once while they plan, they fail. The only call that another thread may
 * make while one compiles, and a signal handler too. Available since 0.1.
 */
REMAT_CAPI_EXPORTED void rematOptionsInterrupt(RematOptions options);

/**
 * Compiles `length` bytes of graph text. On success and on a refused budget
 * (REMAT_REFUSED) stores in `program` an object to destroy; a refused one has a
 * report and no bytes. On any other error stores null; the message holds the
 * diagnostics with their locations. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematCompile(const char *graph, size_t length,
                                             RematOptions options,
                                             RematProgram *program);

/**
 * Verifies the bytes of a program that was compiled before and copies them. Its
 * report has what a program carries. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematProgramLoad(const uint8_t *bytes,
                                                 size_t length,
                                                 RematProgram *program);

/** Frees a program; null is allowed. Sessions made of it stay valid. Since 0.1.
 */
REMAT_CAPI_EXPORTED void rematProgramDestroy(RematProgram program);

/**
 * The report as one JSON object with remat-run's keys (those that a compilation
 * knows). Lives as long as the program. Available since 0.1.
 */
REMAT_CAPI_EXPORTED const char *rematProgramGetReport(RematProgram program);

/** The program's bytes, to be stored or sent; not owned. Available since 0.1.
 */
REMAT_CAPI_EXPORTED const uint8_t *rematProgramGetBytes(RematProgram program,
                                                        size_t *length);

/** The number of arguments, or results; none of a refused one. Since 0.1. */
REMAT_CAPI_EXPORTED size_t rematProgramGetNumTensors(RematProgram program,
                                                     RematSide side);

/** Describes argument, or result, `number`. Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematProgramGetTensor(RematProgram program,
                                                      RematSide side,
                                                      size_t number,
                                                      RematTensorInfo *info);

/** A step of a program. Texts live as long as the program. Since 0.1. */
typedef struct {
  const char *op;       /**< the operation; "kernel" for a group of them */
  const char *phase;    /**< "forward", "backward" or "optimizer" */
  const char *location; /**< where the graph has it */
  int64_t recomputes;   /**< the number of the step that it repeats, or -1 */
  double flops;
} RematStepInfo;

/** The number of steps that a program runs through; 0 of a refused one.
 * Available since 0.1. */
REMAT_CAPI_EXPORTED size_t rematProgramGetNumSteps(RematProgram program);

/** Describes step `number`, in the order in which they run. Since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematProgramGetStep(RematProgram program,
                                                    size_t number,
                                                    RematStepInfo *info);

/** The number of functions beside the program's own steps. Since 0.1. */
REMAT_CAPI_EXPORTED size_t rematProgramGetNumFunctions(RematProgram program);

/**
 * Stores the name of function `number`, which lives as long as the program, and
 * the function as a program to be looked at and destroyed: it has a report,
 * arguments, results and steps, and no bytes of its own. Its arguments are also
 * what it shares without reading it. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematProgramGetFunction(RematProgram program,
                                                        size_t number,
                                                        const char **name,
                                                        RematProgram *function);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_COMPILER_H */
