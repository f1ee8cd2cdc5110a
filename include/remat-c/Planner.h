/*===- remat-c/Planner.h - plans for programs of others ----------*- C -*-===*\
|*                                                                            *|
|* The planner on problems of any origin: which ops to run again, in which    *|
|* order, and where buffers lie. libremat has these calls, and so has         *|
|* libremat-planner, which needs neither LLVM nor a device.                   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REMAT_C_PLANNER_H
#define REMAT_C_PLANNER_H

#include "remat-c/Status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One problem and every plan found for it. Available since 0.1. */
typedef struct RematPlanner_ *RematPlanner;

/** What a call found, as text. Available since 0.1. */
typedef struct RematAnswer_ *RematAnswer;

/**
 * Reads a problem of the format remat-problem-1, of `length` bytes. Available
 * since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematPlannerCreate(const char *problem,
                                                   size_t length,
                                                   RematPlanner *planner);

/** Frees a planner; null is allowed. Answers stay valid. Since 0.1. */
REMAT_CAPI_EXPORTED void rematPlannerDestroy(RematPlanner planner);

/**
 * Sets an option of remat-solve, without dashes: "strategy", "effort" (3 unless
 * set), "seed", "threads" or "time-limit" (seconds, 0 is none). What was found
 * before is forgotten. An unknown name or a bad value is an error and changes
 * nothing. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematPlannerSet(RematPlanner planner,
                                                const char *name,
                                                const char *value);

/**
 * Ends the call that runs with this planner, or else the next one: it returns
 * what it has, a refusal where that is nothing. The only call that another
 * thread may make while one runs, and a signal handler too. Since 0.1.
 */
REMAT_CAPI_EXPORTED void rematPlannerInterrupt(RematPlanner planner);

/**
 * What `remat-solve recompute` finds within a budget in bytes, whatever was
 * asked before. With `smallest` not zero it also looks for the smallest budget.
 * Stores an answer, with a plan, also where the budget is refused
 * (REMAT_REFUSED); null on any other error. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematPlannerSolve(RematPlanner planner,
                                                  int64_t budget, int smallest,
                                                  RematAnswer *answer);

/**
 * The best plan within a budget in bytes that this call or any before it found:
 * never slower than what was given for a smaller budget. Answers as
 * rematPlannerSolve does. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematPlannerAt(RematPlanner planner,
                                               int64_t budget,
                                               RematAnswer *answer);

/**
 * An answer for each of `count` budgets in bytes, with a plan each, at the cost
 * of a few calls. Stores null in all on an error; a budget that is refused is
 * none, its answer says so. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematPlannerFrontier(RematPlanner planner,
                                                     const int64_t *budgets,
                                                     size_t count,
                                                     RematAnswer *answers);

/**
 * What `remat-solve frontier` finds: 1 to 10000 budgets, evenly spaced from the
 * smallest found to the peak of every op once. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematPlannerSweep(RematPlanner planner,
                                                  int points,
                                                  RematAnswer *answer);

/**
 * Checks a plan of the format remat-plan-1 by simulation, against a budget in
 * bytes unless that is negative. REMAT_REFUSED where the plan needs more; a
 * plan that breaks a rule is an answer that says so ("feasible": false). The
 * answer has the bytes in use at each step ("memory") and the values whose
 * storage is free after it ("releases"). Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematPlannerVerify(RematPlanner planner,
                                                   const char *plan,
                                                   size_t length,
                                                   int64_t budget,
                                                   RematAnswer *answer);

/** A buffer that lives in [lower, upper). Available since 0.1. */
typedef struct {
  int64_t lower, upper;
  int64_t size;      /**< bytes */
  int64_t alignment; /**< bytes, at least 1 */
  int64_t fixed;     /**< the offset that it must have, or -1 */
} RematBuffer;

/** Buffers that are to lie in one piece of memory. Available since 0.1. */
typedef struct RematPacker_ *RematPacker;

/** Copies `count` buffers. Available since 0.1. */
REMAT_CAPI_EXPORTED RematStatus rematPackerCreate(const RematBuffer *buffers,
                                                  size_t count,
                                                  RematPacker *packer);

/** Frees a packer; null is allowed. Available since 0.1. */
REMAT_CAPI_EXPORTED void rematPackerDestroy(RematPacker packer);

/** As rematPlannerInterrupt. Available since 0.1. */
REMAT_CAPI_EXPORTED void rematPackerInterrupt(RematPacker packer);

/**
 * Stores an offset for each buffer, within `capacity` bytes, or as low as
 * possible where that is negative: what `remat-solve pack` finds with these
 * limits (`seconds`: 0 is none). REMAT_REFUSED where they do not fit: the
 * offsets are the lowest found, and the answer names buffers in conflict by
 * their numbers. Available since 0.1.
 */
REMAT_CAPI_EXPORTED RematStatus rematPackerRun(RematPacker packer,
                                               int64_t capacity, double seconds,
                                               int64_t nodes, int64_t *offsets,
                                               RematAnswer *answer);

/** Frees an answer; null is allowed. Available since 0.1. */
REMAT_CAPI_EXPORTED void rematAnswerDestroy(RematAnswer answer);

/** One JSON object, what remat-solve prints. Lives as long as the answer.
 * Available since 0.1. */
REMAT_CAPI_EXPORTED const char *rematAnswerGetText(RematAnswer answer);

/** The plan, in the format remat-plan-1, or "". Available since 0.1. */
REMAT_CAPI_EXPORTED const char *rematAnswerGetPlan(RematAnswer answer);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_PLANNER_H */
