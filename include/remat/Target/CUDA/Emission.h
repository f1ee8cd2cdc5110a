//===- Emission.h - from operations to compiled kernels ---------*- C++ -*-===//
//
// Kernels of elementwise operations and groups are printed here; those of
// structured operations come from KernelLibrary.h. A KernelTable collects the
// kernels of a program, each once, and NVRTC compiles its text in parts.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CUDA_EMISSION_H
#define REMAT_TARGET_CUDA_EMISSION_H

#include "remat/Target/CUDA/KernelLibrary.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <vector>

namespace remat::cuda {

/// Whether `Op` runs as a printed elementwise kernel.
bool isPointwiseKernel(mlir::Operation *Op);

/// Appends that kernel and those that join its sums. `Op` satisfies
/// `isPointwiseKernel`.
void getPointwiseLaunches(mlir::Operation *Op,
                          llvm::SmallVectorImpl<Launch> &Launches);

/// `Text` such that it can stand in a `//` comment: one line of plain
/// characters, at most 120 of them.
std::string sanitizeComment(llvm::StringRef Text);

/// The kernels of a program: each source text once, under a name of its own.
class KernelTable {
public:
  /// Adds the kernel of `Launch` unless an equal one is there; returns its
  /// number. `User` describes who launches it, for a comment.
  unsigned add(const Launch &Launch, llvm::StringRef User);

  llvm::ArrayRef<std::string> getNames() const { return Names; }
  /// The whole text: the code that the kernels use unless not wanted, then the
  /// kernels with their first users.
  std::string getSource(bool WithPrelude = true) const;
  /// The text in parts that compile alone: kernel K is in part K modulo their
  /// number, which depends on the number of kernels only.
  std::vector<std::string> getParts() const;

private:
  std::string getText(bool WithPrelude, size_t First, size_t Stride) const;

  llvm::StringMap<unsigned> NumberOfText;
  llvm::StringSet<> UsedNames;
  std::vector<std::string> Names, Texts, FirstUsers;
  std::vector<const KernelSource *> Sources;
  std::vector<unsigned> UserCounts;
};

/// The architectures that kernels are compiled for.
llvm::ArrayRef<llvm::StringRef> getArchitectures();

/// Compiles each of `Sources` for `Arch` ("sm_90") into a cubin with NVRTC,
/// which is looked up at run time, on as many threads as there are processors.
/// Returns false, with the reason in `Error`, if the architecture is not known,
/// there is no NVRTC or a text does not compile. Without texts nothing is
/// loaded.
bool compileSources(llvm::ArrayRef<std::string> Sources, llvm::StringRef Arch,
                    std::vector<std::vector<uint8_t>> &Cubins,
                    std::string &Error);

/// The version of NVRTC and the file that it was loaded from; "" where there is
/// none.
std::string describeNVRTC();

} // namespace remat::cuda

#endif // REMAT_TARGET_CUDA_EMISSION_H
