//===- Bounds.cpp - Cuts at the moments that bind most --------------------===//
#include "Bounds.h"
#include "Cut.h"

#include <algorithm>
#include <cmath>

using namespace remat::solver;

namespace {

/// Before an op runs for the first time its ancestors have run and its
/// descendants have not. Bytes that cross from the ones to the others, with
/// those of the op itself, are what a bound at this op can work with.
int64_t crossingBytes(const Model &M, OpId At, const std::vector<int8_t> &Side,
                      std::vector<OpId> &Seen) {
  int64_t Bytes = M.leastBytesAt(At);
  Seen.resize(M.numValues(), None);
  for (ValueId V : M.P.Ops[At].Inputs)
    Seen[M.Class[V]] = At;
  for (ValueId V : M.P.Ops[At].Outputs)
    Seen[M.Class[V]] = At;
  for (OpId O = At + 1; O < M.numOps(); ++O) {
    if (Side[O] != MomentCut::After)
      continue;
    for (ValueId V : M.P.Ops[O].Inputs) {
      ValueId C = M.Class[V];
      OpId By = M.P.Values[C].Producer;
      if (By == None || Side[By] != MomentCut::Before || Seen[C] == At)
        continue;
      Seen[C] = At;
      Bytes += M.P.Values[C].Bytes;
    }
  }
  return Bytes;
}

/// The ops with the most crossing bytes: of the whole step, and of each of its
/// parts, so that the moments do not all stand together.
std::vector<OpId> chooseMoments(const Model &M, int64_t Budget) {
  constexpr int32_t MaxTried = 1500, NumParts = 12, MostOfAll = 8;
  int32_t Stride = std::max(1, M.numOps() / MaxTried);
  std::vector<std::pair<int64_t, OpId>> All;
  std::vector<OpId> Seen;
  auto look = [&](OpId At) {
    std::vector<int8_t> Side = MomentCut::sides(M, At, nullptr);
    int64_t Bytes = crossingBytes(M, At, Side, Seen);
    if (Bytes > Budget || At == M.Turn)
      All.push_back({-Bytes, At});
  };
  for (OpId At = 0; At < M.numOps(); At += Stride)
    look(At);
  if (M.Turn % Stride)
    look(M.Turn);
  std::sort(All.begin(), All.end());
  std::vector<OpId> Chosen = {M.Turn};
  std::vector<bool> PartTaken(NumParts, false);
  for (size_t I = 0; I < All.size(); ++I) {
    OpId At = All[I].second;
    size_t Part = size_t(int64_t(At) * NumParts / M.numOps());
    if (I >= MostOfAll && PartTaken[Part])
      continue;
    PartTaken[Part] = true;
    if (At != M.Turn)
      Chosen.push_back(At);
  }
  return Chosen;
}

} // namespace

Bounds remat::solver::momentBounds(const Model &M, int64_t Budget,
                                   const Deadline &D, bool Exact) {
  Bounds R;
  for (OpId O = 0; O < M.numOps(); ++O)
    R.LeastBudget = std::max(R.LeastBudget, M.leastBytesAt(O));
  R.LeastBudget = std::max(R.LeastBudget, M.Resident);
  if (M.Turn == None)
    return R;
  OpId Best = M.Turn;
  for (OpId At : chooseMoments(M, Budget)) {
    if (D.passed())
      break;
    MomentCut Cut(M, At);
    Cut.findLeast();
    R.LeastBudget = std::max(R.LeastBudget, Cut.leastBudget());
    double Extra = Cut.rootBound(Budget);
    if (std::isfinite(Extra) && Extra > R.Extra) {
      R.Extra = Extra;
      Best = At;
    }
  }
  if (!Exact || D.passed() || R.LeastBudget > Budget)
    return R;
  // Cuts take longer on large problems, where whole values matter less.
  MomentCut Cut(M, Best);
  Cut.findLeast();
  double Extra = Cut.exactBound(Budget, 600'000 / (M.numOps() + 200));
  if (std::isfinite(Extra))
    R.Extra = std::max(R.Extra, Extra);
  return R;
}
