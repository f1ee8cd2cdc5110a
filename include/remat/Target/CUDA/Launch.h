//===- Launch.h - one launch of a kernel, as text and arguments -*- C++ -*-===//

#ifndef REMAT_TARGET_CUDA_LAUNCH_H
#define REMAT_TARGET_CUDA_LAUNCH_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace remat::cuda {

/// What a kernel is called with, in order: tensors and the workspace as
/// pointers, numbers as `int64`.
struct Argument {
  enum class Kind { Operand, Result, Workspace, Int };
  enum Kind Kind;
  unsigned Index = 0; ///< of the operand or result
  int64_t Int = 0;    ///< the number, or the byte offset in the workspace
};

/// A file of code that kernels are made of, lib/Target/CUDA/Kernels/*.cuh: its
/// text, without the lines that include others, and those others.
struct KernelSource {
  std::string_view File, Text;
  std::vector<const KernelSource *> Includes;
};

/// One launch: a kernel's text and how it is called. Two launches whose kernels
/// differ in their names alone share one.
struct Launch {
  std::string Name;       ///< a legal C identifier that says what it does
  std::string Comment;    ///< whole lines before the kernel, or ""
  std::string Parameters; ///< what stands between the parentheses
  std::string Body;       ///< whole lines between the braces
  const KernelSource *Source = nullptr;    ///< what `Body` uses
  std::array<int64_t, 3> Grid = {1, 1, 1}; ///< may be more than a GPU takes
  std::array<uint32_t, 3> Block = {1, 1, 1};
  uint32_t SharedBytes = 0;
  /// Blocks that a multiprocessor is to run at a time, for which the compiler
  /// leaves registers; 0: as it comes.
  int64_t BlocksPerMultiprocessor = 0;
  std::vector<Argument> Arguments;
};

/// The kernel of `Launch` as an `extern "C"` function called `Name`.
std::string printKernel(const Launch &Launch, std::string_view Name);

/// Appends `Source` to `Sources` behind all that it includes, unless it is
/// there.
void addSource(const KernelSource &Source,
               std::vector<const KernelSource *> &Sources);

} // namespace remat::cuda

#endif // REMAT_TARGET_CUDA_LAUNCH_H
