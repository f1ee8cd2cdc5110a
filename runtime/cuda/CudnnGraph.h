//===- CudnnGraph.h - cuDNN's frontend --------------------------*- C++ -*-===//
//
// Included by the few files that are built with cuDNN's headers. The frontend
// may throw; nothing leaves these files but a Result.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_CUDNNGRAPH_H
#define REMAT_RUNTIME_CUDA_CUDNNGRAPH_H

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
// No graph is written to a file: what that needs takes half of the time that
// these headers take.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include "cuda/Attention.h"
#include "cuda/Convolution.h"
#include <memory>

namespace remat::runtime::cuda {

namespace fe = cudnn_frontend;

/// cuDNN's name of a type; NOT_SET for those that no problem is of.
fe::DataType_t getCudnnType(DType Type);

/// What `CudnnLibrary::prepare` does, for each kind of problem.
Result<std::unique_ptr<Attention>> makeAttention(cudnnHandle_t Handle,
                                                 const AttentionProblem &P);
Result<std::unique_ptr<Convolution>>
makeConvolution(cudnnHandle_t Handle, const ConvolutionProblem &P);

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_CUDNNGRAPH_H
