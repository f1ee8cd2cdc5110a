//===- Random.h - blocks of random numbers ----------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_OPS_RANDOM_H
#define REMAT_RUNTIME_OPS_RANDOM_H

#include "ops/Op.h"
#include "ops/Scalar.h"
#include "remat/runtime/Philox.h"

namespace remat::runtime {

/// Number `Element` of the uniform stream.
float drawUniform(const PhiloxStream &Stream, int64_t Element);

/// The numbers of the elements that `W` names at positions [First, First +
/// Count) of its space.
void drawBlock(const PhiloxStream &Stream, bool Normal, const Walk &W,
               int64_t First, int64_t Count, float *Out);

/// The attributes of dropout, made ready.
struct DropoutParameters {
  float P, Scale;
  explicit DropoutParameters(double P)
      : P(static_cast<float>(P)), Scale(static_cast<float>(1.0 / (1.0 - P))) {}
  float apply(float X, float Uniform) const {
    return Uniform >= P ? X * Scale : 0.0f;
  }
};

/// 0 <= p <= 1.
Status checkProbability(double P);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_RANDOM_H
