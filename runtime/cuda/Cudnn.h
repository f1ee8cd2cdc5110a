//===- Cudnn.h - what cuDNN runs --------------------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_CUDNN_H
#define REMAT_RUNTIME_CUDA_CUDNN_H

#include "cuda/Attention.h"
#include "cuda/Convolution.h"
#include "cuda/Driver.h"

namespace remat::runtime::cuda {

/// cuDNN and a handle of it on one stream.
class CudnnLibrary {
public:
  virtual ~CudnnLibrary() = default;

  /// Loads cuDNN; a context must be current. Unavailable if this build or this
  /// machine has none.
  static Result<std::unique_ptr<CudnnLibrary>> load(Stream S);

  /// Makes a problem ready. Unavailable if cuDNN cannot run it, or only with
  /// more workspace than `P.WorkspaceBytes`.
  virtual Result<std::unique_ptr<Attention>>
  prepare(const AttentionProblem &P) = 0;
  virtual Result<std::unique_ptr<Convolution>>
  prepare(const ConvolutionProblem &P) = 0;
};

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_CUDNN_H
