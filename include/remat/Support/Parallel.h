//===- Parallel.h - how a step is spread over ranks -------------*- C++ -*-===//

#ifndef REMAT_SUPPORT_PARALLEL_H
#define REMAT_SUPPORT_PARALLEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace remat {

/// Names of the axes of a mesh.
inline constexpr llvm::StringLiteral DataAxis = "data", TensorAxis = "tensor";

/// Ranks of a program, at most.
inline constexpr int64_t MaxRanks = 65536;

/// What ranks of the data axis keep a part of, where others have all of it
/// (ZeRO: Rajbhandari et al., 2020). Each includes those before.
enum class Sharding { Nothing, States, Gradients, Parameters };

/// What `--parallel` says.
struct Parallel {
  bool IsGiven = false;
  Sharding Sharded = Sharding::Nothing;
  int64_t TensorRanks = 1; ///< ranks that share the work of one batch

  /// "data", "zero1", "zero2", "zero3", "tensor=N", or one of the first four
  /// and the last with a comma between. Nothing if it is none of these.
  static std::optional<Parallel> parse(llvm::StringRef Text);
  /// As `parse` takes it; "" if nothing was given.
  std::string str() const;
};

/// What `Parallel::parse` takes, for messages.
inline constexpr llvm::StringLiteral ParallelHelp =
    "data, zero1, zero2 or zero3, or tensor=N, or both with a comma between";

/// The names of the shardings: "data", "zero1", ...
llvm::ArrayRef<llvm::StringRef> getShardingNames();

} // namespace remat

#endif // REMAT_SUPPORT_PARALLEL_H
