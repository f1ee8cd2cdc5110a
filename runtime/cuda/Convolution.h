//===- Convolution.h - convolutions by cuDNN --------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_CONVOLUTION_H
#define REMAT_RUNTIME_CUDA_CONVOLUTION_H

#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace remat::runtime::cuda {

/// A convolution of X [N, C, X...] with Weight [O, C / groups, K...] to Y, or
/// the gradient of one of its operands. The group count follows from the
/// shapes.
struct ConvolutionProblem {
  enum class Kind { Forward, InputGrad, WeightGrad };

  Kind TheKind = Kind::Forward;
  DType Type = DType::F32;
  std::vector<int64_t> X, Weight, Y;
  std::vector<int64_t> Strides, Low, High, Dilation;
  bool ChannelsLast = false; ///< how they lie; sizes are given channels first
  bool Deterministic = true;
  uint64_t WorkspaceBytes = 0;

  /// The problem of step `S` of `P`, which is one of the three.
  static ConvolutionProblem of(const Program &P, const Step &S);
  /// Whether `Op` is one of the three.
  static bool isConvolution(std::string_view Op);
  /// All of it as one line of text.
  std::string getKey() const;
  /// For messages: the op and its shapes.
  std::string describe() const;
};

/// Device memory, not owned.
struct ConvolutionAddresses {
  char *X = nullptr, *Weight = nullptr, *Y = nullptr, *Workspace = nullptr;
};

class Convolution {
public:
  virtual ~Convolution() = default;
  /// Enqueues the convolution.
  virtual Status run(const ConvolutionAddresses &Where) = 0;
};

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_CONVOLUTION_H
