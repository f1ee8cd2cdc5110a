//===- Parallel.h - how a step is spread over ranks -------------*- C++ -*-===//

#ifndef REMAT_SUPPORT_PARALLEL_H
#define REMAT_SUPPORT_PARALLEL_H

#include "remat/Support/Mesh.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace remat {

/// Ranks of a program, at most.
inline constexpr int64_t MaxRanks = 65536;

/// What ranks of the data axis keep a part of, where others have all of it
/// (ZeRO: Rajbhandari et al., 2020). Each includes those before.
enum class Sharding { Nothing, States, Gradients, Parameters };

/// Their names, in this order.
inline constexpr std::array<std::string_view, 4> ShardingNames = {
    "data", "zero1", "zero2", "zero3"};

/// What `--parallel` says.
struct Parallel {
  bool IsGiven = false;
  Sharding Sharded = Sharding::Nothing;
  int64_t TensorRanks = 1; ///< ranks that share the work of one batch

  /// "data", "zero1", "zero2", "zero3", "tensor=N", or one of the first four
  /// and the last with a comma between. Nothing if it is none of these.
  static std::optional<Parallel> parse(std::string_view Text);
  /// As `parse` takes it; "" if nothing was given.
  std::string str() const;
};

/// What `Parallel::parse` takes, for messages.
inline constexpr const char *ParallelHelp =
    "data, zero1, zero2 or zero3, or tensor=N, or both with a comma between";

} // namespace remat

#endif // REMAT_SUPPORT_PARALLEL_H
