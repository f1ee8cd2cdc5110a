//===- Pack.cpp - Checks, bounds and the order of methods -----------------===//
#include "Pack.h"

#include <algorithm>
#include <numeric>

using namespace remat::solver;

static std::string nameOf(size_t I) { return "buffer " + std::to_string(I); }

static std::string checkBuffers(const std::vector<Buffer> &Buffers) {
  constexpr int64_t Limit = int64_t(1) << 56;
  int64_t Total = 0;
  if (Buffers.size() > size_t(1) << 28)
    return "too many buffers";
  for (size_t I = 0; I < Buffers.size(); ++I) {
    const Buffer &B = Buffers[I];
    if (B.Lower >= B.Upper)
      return nameOf(I) + " lives in [" + std::to_string(B.Lower) + ", " +
             std::to_string(B.Upper) + "), which is empty";
    if (std::min(B.Lower, B.Upper) < -Limit ||
        std::max(B.Lower, B.Upper) > Limit)
      return nameOf(I) + " has a lifetime that is out of range";
    if (B.Alignment <= 0 || B.Alignment > int64_t(1) << 40)
      return nameOf(I) + " has alignment " + std::to_string(B.Alignment);
    if (B.Size < 0 || B.Size > Limit - Total - B.Alignment)
      return nameOf(I) + " has " + std::to_string(B.Size) +
             " bytes: negative, or the total is too large";
    Total += B.Size + B.Alignment;
    if (B.Fixed && (*B.Fixed < 0 || *B.Fixed > Limit))
      return nameOf(I) + " is fixed at " + std::to_string(*B.Fixed);
    if (B.Fixed && *B.Fixed % B.Alignment)
      return nameOf(I) + " is fixed at an offset that is not aligned";
  }
  return "";
}

/// Visits pairs of buffers that live at the same time, in order of start, until
/// the callback returns false.
template <typename Callback>
static void forOverlaps(const std::vector<Buffer> &Buffers, Callback Visit) {
  std::vector<int32_t> Order(Buffers.size());
  std::iota(Order.begin(), Order.end(), 0);
  std::sort(Order.begin(), Order.end(), [&](int32_t A, int32_t B) {
    int64_t X = Buffers[A].Lower, Y = Buffers[B].Lower;
    return X != Y ? X < Y : A < B;
  });
  std::vector<int32_t> Alive;
  for (int32_t I : Order) {
    std::erase_if(
        Alive, [&](int32_t J) { return Buffers[J].Upper <= Buffers[I].Lower; });
    for (int32_t J : Alive)
      if (!Visit(J, I))
        return;
    if (Buffers[I].Size > 0)
      Alive.push_back(I);
  }
}

std::string remat::solver::verifyPacking(const std::vector<Buffer> &Buffers,
                                         const std::vector<int64_t> &Offsets,
                                         std::optional<int64_t> Capacity) {
  if (std::string Bad = checkBuffers(Buffers); !Bad.empty())
    return Bad;
  if (Offsets.size() != Buffers.size())
    return "there are " + std::to_string(Offsets.size()) + " offsets for " +
           std::to_string(Buffers.size()) + " buffers";
  for (size_t I = 0; I < Buffers.size(); ++I) {
    if (Offsets[I] < 0 || Offsets[I] > int64_t(1) << 57)
      return nameOf(I) + " has an offset that is out of range";
    if (Offsets[I] % Buffers[I].Alignment)
      return nameOf(I) + " is not aligned";
    if (Buffers[I].Fixed && *Buffers[I].Fixed != Offsets[I])
      return nameOf(I) + " is not where it is fixed";
    if (Capacity && Offsets[I] + Buffers[I].Size > *Capacity)
      return nameOf(I) + " ends beyond the capacity";
  }
  std::string Bad;
  forOverlaps(Buffers, [&](int32_t A, int32_t B) {
    if (Buffers[B].Size == 0 || Offsets[A] + Buffers[A].Size <= Offsets[B] ||
        Offsets[B] + Buffers[B].Size <= Offsets[A])
      return true;
    Bad = nameOf(A) + " and " + nameOf(B) + " overlap";
    return false;
  });
  return Bad;
}

/// Most bytes alive at one time, and no less than the end of a fixed buffer.
static int64_t lowerBoundOf(const std::vector<Buffer> &Buffers) {
  std::vector<std::pair<int64_t, int64_t>> Events;
  int64_t Bound = 0;
  for (const Buffer &B : Buffers) {
    Events.push_back({B.Lower, B.Size});
    Events.push_back({B.Upper, -B.Size});
    if (B.Fixed)
      Bound = std::max(Bound, *B.Fixed + B.Size);
  }
  std::sort(Events.begin(), Events.end());
  int64_t Live = 0;
  for (auto [Time, Bytes] : Events) {
    Live += Bytes;
    Bound = std::max(Bound, Live);
  }
  return Bound;
}

PackResult remat::solver::pack(const std::vector<Buffer> &Buffers,
                               const PackOptions &Options) {
  PackResult R;
  R.Error = checkBuffers(Buffers);
  if (!R.Error.empty())
    return R;
  R.LowerBound = lowerBoundOf(Buffers);
  std::vector<std::pair<int32_t, int32_t>> Clashes;
  forOverlaps(Buffers, [&](int32_t A, int32_t B) {
    if (Buffers[A].Fixed && Buffers[B].Fixed && Buffers[B].Size > 0 &&
        *Buffers[A].Fixed < *Buffers[B].Fixed + Buffers[B].Size &&
        *Buffers[B].Fixed < *Buffers[A].Fixed + Buffers[A].Size)
      Clashes.push_back({A, B});
    return Clashes.empty();
  });
  if (!Clashes.empty()) {
    R.Conflict = {Clashes[0].first, Clashes[0].second};
    R.Irreducible = R.Proven = true;
    return R;
  }
  Placement Best = bestFit(Buffers, Options.Capacity.value_or(R.LowerBound));
  R.Offsets = std::move(Best.Offsets);
  R.Height = Best.Height;
  R.Feasible = !Options.Capacity || R.Height <= *Options.Capacity;
  if (!R.Feasible)
    R.Proven = R.LowerBound > *Options.Capacity;
  return R;
}
