//===- Packing.h - Offsets for buffers with known lifetimes ---------------===//
#ifndef REMAT_SOLVER_PACKING_H
#define REMAT_SOLVER_PACKING_H

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remat::solver {

/// A buffer lives in [Lower, Upper) and takes Size bytes, at a multiple of
/// Alignment, at Fixed when that is given.
struct Buffer {
  int64_t Lower = 0;
  int64_t Upper = 0;
  int64_t Size = 0;
  int64_t Alignment = 1;
  std::optional<int64_t> Fixed;
};

struct PackOptions {
  /// Bytes; without it the height is made as small as the effort allows.
  std::optional<int64_t> Capacity;
  /// Seconds; 0 is no limit. With a limit the result may depend on the machine.
  double TimeLimit = 0;
  /// Nodes of the exact search, fewer on large problems, where a node is more
  /// work; 0 is best-fit only.
  int64_t NodeLimit = 1'000'000;
  /// On failure, look for an irreducible set of buffers that cannot fit.
  bool Explain = true;
  const std::atomic<bool> *Interrupt = nullptr;
};

struct PackResult {
  /// All buffers are placed, within the capacity where there is one.
  bool Feasible = false;
  /// One offset a buffer, in the order given; the best found when infeasible.
  std::vector<int64_t> Offsets;
  /// max(offset + size).
  int64_t Height = 0;
  /// Most bytes alive at one time (aligned, and no less than a fixed buffer's
  /// end): no packing is lower.
  int64_t LowerBound = 0;
  /// Infeasible: buffers that do not fit the capacity together. `Irreducible`:
  /// each of their proper subsets was shown to fit.
  std::vector<int32_t> Conflict;
  bool Irreducible = false;
  /// Infeasible: true when no packing exists, false when none was found.
  bool Proven = false;
  /// Malformed input: names the buffer.
  std::string Error;
};

PackResult pack(const std::vector<Buffer> &Buffers,
                const PackOptions &Options = {});

/// Independent check of offsets: empty when they are right, else the reason.
std::string verifyPacking(const std::vector<Buffer> &Buffers,
                          const std::vector<int64_t> &Offsets,
                          std::optional<int64_t> Capacity);

} // namespace remat::solver

#endif // REMAT_SOLVER_PACKING_H
