//===- Pack.cpp - Checks, bounds and the order of methods -----------------===//
#include "Packing/Exact.h"

#include <algorithm>
#include <map>
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

/// Two of the buffers that live at the same time and share bytes, if any. A
/// sweep over time: while what lives is apart, only neighbours can clash with
/// what comes.
static std::vector<int32_t> clash(const std::vector<Buffer> &Buffers,
                                  const std::vector<int64_t> &Offsets,
                                  const std::vector<int32_t> &Ids) {
  struct Event {
    int64_t Time;
    bool Starts; // what ends comes before what starts
    int32_t Id;
    auto operator<=>(const Event &) const = default;
  };
  std::vector<Event> Events;
  for (int32_t I : Ids)
    if (Buffers[I].Size > 0) {
      Events.push_back({Buffers[I].Lower, true, I});
      Events.push_back({Buffers[I].Upper, false, I});
    }
  std::sort(Events.begin(), Events.end());
  std::map<int64_t, int32_t> Alive; // by offset
  for (const Event &E : Events) {
    int64_t Offset = Offsets[E.Id];
    if (!E.Starts) {
      Alive.erase(Offset);
      continue;
    }
    auto Above = Alive.lower_bound(Offset);
    if (Above != Alive.end() && Above->first < Offset + Buffers[E.Id].Size)
      return {Above->second, E.Id};
    if (Above != Alive.begin()) {
      auto Below = std::prev(Above);
      if (Below->first + Buffers[Below->second].Size > Offset)
        return {Below->second, E.Id};
    }
    Alive.emplace(Offset, E.Id);
  }
  return {};
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
  std::vector<int32_t> All(Buffers.size());
  std::iota(All.begin(), All.end(), 0);
  std::vector<int32_t> Two = clash(Buffers, Offsets, All);
  if (!Two.empty())
    return nameOf(Two[0]) + " and " + nameOf(Two[1]) + " overlap";
  return "";
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

/// Two fixed buffers on top of each other, if any.
static std::vector<int32_t> fixedClash(const std::vector<Buffer> &Buffers) {
  std::vector<int32_t> Ids;
  std::vector<int64_t> Offsets(Buffers.size(), 0);
  for (size_t I = 0; I < Buffers.size(); ++I)
    if (Buffers[I].Fixed) {
      Ids.push_back(int32_t(I));
      Offsets[I] = *Buffers[I].Fixed;
    }
  return clash(Buffers, Offsets, Ids);
}

static std::vector<Buffer> subset(const std::vector<Buffer> &Buffers,
                                  const std::vector<int32_t> &Ids) {
  std::vector<Buffer> Out;
  for (int32_t I : Ids)
    Out.push_back(Buffers[I]);
  return Out;
}

/// Buffers alive at the moment with the most bytes.
static std::vector<int32_t> fullestMoment(const std::vector<Buffer> &Buffers) {
  std::vector<std::pair<int64_t, int64_t>> Events;
  for (const Buffer &B : Buffers) {
    Events.push_back({B.Lower, B.Size});
    Events.push_back({B.Upper, -B.Size});
  }
  std::sort(Events.begin(), Events.end());
  int64_t Live = 0, Most = -1, When = 0;
  for (auto [Time, Bytes] : Events) {
    Live += Bytes;
    if (Live > Most) {
      Most = Live;
      When = Time;
    }
  }
  std::vector<int32_t> Out;
  for (size_t I = 0; I < Buffers.size(); ++I)
    if (Buffers[I].Size > 0 && Buffers[I].Lower <= When &&
        When < Buffers[I].Upper)
      Out.push_back(int32_t(I));
  return Out;
}

static bool knownNotToFit(const std::vector<Buffer> &Part, int64_t Capacity,
                          const PackOptions &Options, const Deadline &Until,
                          bool &Unknown) {
  if (bestFit(Part, Capacity, Until).Height <= Capacity)
    return false;
  ExactPacker Search(Part, Capacity, Until);
  Verdict V = Search.solve(std::max<int64_t>(1000, Options.NodeLimit / 20));
  Unknown = V == Verdict::Unknown;
  return V == Verdict::CannotFit;
}

/// Takes buffers away one by one, small ones first, while the rest is still
/// proven not to fit.
static void explain(const std::vector<Buffer> &Buffers, int64_t Capacity,
                    const PackOptions &Options, const Deadline &Until,
                    PackResult &R) {
  constexpr size_t MaxTried = 500;
  bool ByLoad = R.LowerBound > Capacity;
  for (size_t I = 0; I < Buffers.size(); ++I)
    if (Buffers[I].Fixed && *Buffers[I].Fixed + Buffers[I].Size > Capacity) {
      R.Conflict = {int32_t(I)};
      R.Irreducible = true;
      return;
    }
  std::vector<int32_t> Set(Buffers.size());
  std::iota(Set.begin(), Set.end(), 0);
  if (ByLoad)
    Set = fullestMoment(Buffers);
  std::vector<int32_t> Order = Set;
  sortLargestFirst(Order, [&](int32_t I) { return -Buffers[I].Size; });
  // The load falls by what is taken away: no search while it is too much.
  int64_t Load = 0;
  for (int32_t I : Set)
    Load += Buffers[I].Size;
  if (ByLoad)
    for (int32_t I : Order)
      if (Load - Buffers[I].Size > Capacity) {
        Load -= Buffers[I].Size;
        std::erase(Set, I);
      }
  R.Conflict = Set;
  bool Simple = ByLoad && std::all_of(Set.begin(), Set.end(), [&](int32_t I) {
                  return Buffers[I].Alignment == 1 && !Buffers[I].Fixed;
                });
  if (Simple || Set.size() > MaxTried) {
    R.Irreducible = Simple;
    return;
  }
  R.Irreducible = true;
  for (int32_t I : Order) {
    std::vector<int32_t> Fewer = Set;
    if (!std::erase(Fewer, I))
      continue;
    bool Unknown = false;
    if (knownNotToFit(subset(Buffers, Fewer), Capacity, Options, Until,
                      Unknown))
      Set = Fewer;
    R.Irreducible &= !Unknown;
  }
  R.Conflict = Set;
}

static void take(const std::vector<Buffer> &Buffers, const ExactPacker &From,
                 PackResult &R) {
  R.Offsets = From.offsets();
  R.Height = 0;
  for (size_t I = 0; I < Buffers.size(); ++I)
    R.Height = std::max(R.Height, R.Offsets[I] + Buffers[I].Size);
}

/// Without a capacity: the load first, then halfway to the best known.
static void lower(const std::vector<Buffer> &Buffers,
                  const PackOptions &Options, const Deadline &Until,
                  PackResult &R) {
  // Nobody waits for the last byte.
  constexpr int64_t EnoughNodes = 240'000;
  constexpr int NumGoals = 3;
  int64_t Nodes = std::min(Options.NodeLimit, EnoughNodes);
  int64_t Bound = R.LowerBound, Goal = Bound;
  for (int K = 0; K < NumGoals && R.Height > Bound && !Until.passed(); ++K) {
    ExactPacker Search(Buffers, Goal, Until);
    Verdict V = Search.solve(K == 0 ? Nodes / 3 * 2 : Nodes / 6);
    if (V == Verdict::Fits)
      take(Buffers, Search, R);
    else if (V == Verdict::CannotFit)
      R.LowerBound = Goal + 1;
    if (V != Verdict::Fits)
      Bound = Goal + 1;
    Goal = Bound + (R.Height - Bound) / 2;
    if (R.Height - Bound <= R.Height / 4096)
      break;
  }
}

PackResult remat::solver::pack(const std::vector<Buffer> &Buffers,
                               const PackOptions &Options) {
  PackResult R;
  R.Error = checkBuffers(Buffers);
  if (R.Error.empty() && Options.Capacity && *Options.Capacity < 0)
    R.Error = "the capacity is negative: " + std::to_string(*Options.Capacity);
  if (!R.Error.empty())
    return R;
  Deadline Until(Options.TimeLimit, Options.Interrupt);
  R.LowerBound = lowerBoundOf(Buffers);
  R.Conflict = fixedClash(Buffers);
  if (!R.Conflict.empty()) {
    R.Irreducible = R.Proven = true;
    return R;
  }
  Placement Best =
      bestFit(Buffers, Options.Capacity.value_or(R.LowerBound), Until);
  auto Take = [&] {
    R.Offsets = Best.Offsets;
    R.Height = Best.Height;
  };
  auto Improve = [&](int64_t Target) {
    if (Options.NodeLimit > 0)
      squeakyWheel(Buffers, R.LowerBound, Target, Until, Best);
    Take();
  };
  Take();
  if (!Options.Capacity) {
    R.Feasible = true;
    Improve(R.LowerBound);
    if (R.Height > R.LowerBound && Options.NodeLimit > 0 &&
        Buffers.size() <= ExactPacker::MaxItems)
      lower(Buffers, Options, Until, R);
    return R;
  }
  int64_t Capacity = *Options.Capacity;
  R.Feasible = R.Height <= Capacity;
  if (R.Feasible)
    return R;
  R.Proven = R.LowerBound > Capacity;
  bool Search = !R.Proven && Options.NodeLimit > 0 &&
                Buffers.size() <= ExactPacker::MaxItems;
  if (Search) {
    ExactPacker Exact(Buffers, Capacity, Until);
    Verdict V = Exact.solve(Options.NodeLimit);
    R.Proven = V == Verdict::CannotFit;
    if (V == Verdict::Fits) {
      take(Buffers, Exact, R);
      R.Feasible = true;
      return R;
    }
  }
  // What the exact search decides it decides sooner.
  if (!R.Proven)
    Improve(Capacity);
  R.Feasible = R.Height <= Capacity;
  if (R.Proven && Options.Explain)
    explain(Buffers, Capacity, Options, Until, R);
  return R;
}
