//===- Ranges.h - steps on a profiler's timeline ----------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_RANGES_H
#define REMAT_RUNTIME_RANGES_H

#include <string>
#include <vector>

namespace remat::runtime {

struct Step;

/// Whether this build can make ranges.
bool hasRanges();

/// Ranges of NVTX (https://nvidia.github.io/NVTX), which NVIDIA's profilers
/// show: the phase of a step, the parts of its scope's path, its op, one in the
/// other. Consecutive steps of one scope share the scope's ranges. Where no
/// profiler listens nothing happens. Ranges belong to the thread.
class ScopeRanges {
public:
  explicit ScopeRanges(bool On) : On(On && hasRanges()) {}
  ~ScopeRanges() { closeTo(0); }
  ScopeRanges(const ScopeRanges &) = delete;
  ScopeRanges &operator=(const ScopeRanges &) = delete;

  /// Ends what the step before has for itself, and opens what this one has.
  void enter(const Step &S);

private:
  void closeTo(size_t Depth);

  bool On;
  std::vector<std::string> Open;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_RANGES_H
