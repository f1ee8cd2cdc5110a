//===- Ranges.cpp - steps on a profiler's timeline ------------------------===//

#include "remat/runtime/Ranges.h"
#include "remat/runtime/Program.h"
#include <algorithm>

#ifdef REMAT_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

using namespace remat::runtime;

#ifdef REMAT_NVTX
bool remat::runtime::hasRanges() { return true; }
static void push(const std::string &Name) { nvtxRangePushA(Name.c_str()); }
static void pop() { nvtxRangePop(); }
#else
bool remat::runtime::hasRanges() { return false; }
static void push(const std::string &) {}
static void pop() {}
#endif

/// The phase, "h.1" and "mlp" of the location "h.1/mlp/matmul", and the op. A
/// location that is a place in a file has no scope.
static std::vector<std::string> getPath(const Step &S) {
  std::vector<std::string> Path = {std::string(S.getPhase())};
  const std::string &Where = S.Location;
  if (Where.find(':') == std::string::npos)
    for (size_t From = 0, To; (To = Where.find('/', From)) != std::string::npos;
         From = To + 1)
      Path.push_back(Where.substr(From, To - From));
  Path.push_back(S.Recomputes < 0 ? S.Op : S.Op + ", recomputed");
  return Path;
}

void ScopeRanges::closeTo(size_t Depth) {
  for (; Open.size() > Depth; Open.pop_back())
    pop();
}

void ScopeRanges::enter(const Step &S) {
  if (!On)
    return;
  std::vector<std::string> Path = getPath(S);
  // The last range is the step's own.
  auto Shared = std::mismatch(Open.begin(), Open.end() - !Open.empty(),
                              Path.begin(), Path.end() - 1);
  closeTo(Shared.first - Open.begin());
  for (auto Name = Shared.second; Name != Path.end(); ++Name) {
    push(*Name);
    Open.push_back(*Name);
  }
}
