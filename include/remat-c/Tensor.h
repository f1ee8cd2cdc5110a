/*===- remat-c/Tensor.h - what a program's tensors are -----------*- C -*-===*\
|*                                                                            *|
|* Arguments and results of a program: names, types, shapes and roles.        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REMAT_C_TENSOR_H
#define REMAT_C_TENSOR_H

#include "remat-c/Status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An argument and a result may have the same name. Available since 0.1. */
typedef enum { REMAT_ARGUMENT = 0, REMAT_RESULT = 1 } RematSide;

/** What an argument or a result is for. Available since 0.1. */
typedef enum {
  REMAT_ROLE_PARAMETER = 0,
  REMAT_ROLE_INPUT = 1,
  REMAT_ROLE_STATE = 2,
  REMAT_ROLE_SEED = 3,
  REMAT_ROLE_STEP = 4,
  REMAT_ROLE_LEARNING_RATE = 5,
  REMAT_ROLE_LOSS = 6,
  REMAT_ROLE_OUTPUT = 7,
  REMAT_ROLE_GRADIENT = 8
} RematRole;

/** Element types. An element of I1 is a byte, 0 or 1. Available since 0.1. */
typedef enum {
  REMAT_TYPE_F32 = 0,
  REMAT_TYPE_BF16 = 1,
  REMAT_TYPE_F16 = 2,
  REMAT_TYPE_I32 = 3,
  REMAT_TYPE_I64 = 4,
  REMAT_TYPE_I1 = 5,
  REMAT_TYPE_F8E4M3FN = 6
} RematType;

/** An argument or a result. Name and shape are the program's, and live as long
 * as it. Available since 0.1. */
typedef struct {
  const char *name;
  RematRole role;
  RematType type;
  size_t rank;
  const int64_t *shape; /**< sizes, row-major: the last one is contiguous */
  size_t bytes;
  /** Argument: the number of the result that takes its place at each step, -1
   * if it keeps its value. Result: -1. */
  int64_t result;
  /** Argument: not 0 if a step leaves it there; else it is written before each
   * step. Result: 0, a step overwrites it. */
  int survives;
  /** The shape of what ranks hold together, of which this is a part; rank and
   * shape where each holds all of it. */
  size_t whole_rank;
  const int64_t *whole_shape;
  /** Not 0 if the bytes are an f32 in halves: there is no view of it
   * (REMAT_VIEW), and copies have the f32. */
  int in_halves;
} RematTensorInfo;

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_TENSOR_H */
