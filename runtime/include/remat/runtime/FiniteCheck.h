//===- FiniteCheck.h - where NaN and infinity come from ---------*- C++ -*-===//

#ifndef REMAT_RUNTIME_FINITECHECK_H
#define REMAT_RUNTIME_FINITECHECK_H

#include "remat/runtime/Device.h"
#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <optional>
#include <string>
#include <vector>

namespace remat::runtime {

/// What a value's elements that are not finite are.
struct NonfiniteCount {
  uint64_t NaNs = 0, Infinities = 0;

  bool any() const { return NaNs != 0 || Infinities != 0; }
};

/// Looks at every value of one run of a program: at the arguments before it,
/// and at what each step writes right behind it, when its bytes are sure to be
/// there. It reads them from the device, so a run takes much longer.
class FiniteCheck {
public:
  /// The arena holds the program's tensors on the device; nothing is owned.
  FiniteCheck(const Program &P, Device &D, const char *Arena)
      : P(P), D(D), Arena(Arena) {}

  /// Looks at all arguments.
  Status checkArguments();
  /// Looks at the results of step `Step`, which has just run.
  Status checkStep(size_t Step);

  /// Looks at what the run leaves: the loss, gradients, parameters and states.
  Status checkResults();

  /// If one of these is not finite: which, and where the first NaN comes from,
  /// or the first infinity if nothing is NaN. Infinities within a step may be
  /// meant, as in a mask, so they alone are nothing to tell.
  std::optional<std::string> describe() const;

private:
  Result<NonfiniteCount> count(const Tensor &T);
  std::string describe(const std::string &Where, const Tensor &T,
                       const NonfiniteCount &Count) const;

  const Program &P;
  Device &D;
  const char *Arena;
  std::vector<char> Buffer;
  std::optional<std::string> FirstNaN, FirstInfinity, Left;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_FINITECHECK_H
