//===- SqueakyWheel.cpp - Orders that learn from what lies too high -------===//
#include "Packing/Pack.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

using namespace remat::solver;

namespace {

/// A buffer's first priority is the logarithm of its length and a power of its
/// size. Which power is best differs from problem to problem.
constexpr double SizePowers[] = {2, 4, 1};
/// Placements from each start: in most problems the lowest height comes later
/// than after 60.
constexpr int MaxPasses = 200;
/// Of all passes together (`workOfPass`): about half a second where there are
/// few buffers.
constexpr int64_t MaxWork = 150'000'000;
/// Where there are many, what is looked at and moved for a buffer that lives
/// long is most of the work. Of that so much (`Placer::work`), about two
/// seconds.
constexpr int64_t MaxMoves = 1'500'000'000;
/// Where less than this part of the load can be won there are fewer passes.
constexpr double FullGain = 0.02;
/// Buffers below this part of the load go into the gaps of the others.
constexpr int64_t SmallPart = 1000;
/// Blamed is what ends beyond the load and this part of the way from there to
/// the lowest height known.
constexpr double BlamedFrom = 0.25;
/// A blamed buffer's priority rises by this or more, and by less than 1.
constexpr double LeastRise = 0.2;

/// Large buffers first by priority, small ones behind them by size.
class Wheel {
public:
  Wheel(const std::vector<Buffer> &Buffers, int64_t Load, Placement &Best)
      : All(Buffers), Load(Load), Best(Best), OfAll(Buffers) {
    for (size_t I = 0; I < All.size(); ++I)
      if (All[I].Fixed || All[I].Size >= Load / SmallPart) {
        LargeIds.push_back(int32_t(I));
        Large.push_back(All[I]);
      } else {
        SmallIds.push_back(int32_t(I));
      }
    sortLargestFirst(SmallIds, [&](int32_t I) { return All[I].Size; });
    OfLarge.emplace(Large);
  }

  const std::vector<Buffer> &large() const { return Large; }
  int64_t work() const { return OfAll.work() + OfLarge->work(); }

  void start(double SizePower) {
    Priority.clear();
    Order.clear();
    for (const Buffer &B : Large) {
      Order.push_back(int32_t(Order.size()));
      Priority.push_back(SizePower * std::log2(double(B.Size) + 1) +
                         std::log2(double(B.Upper - B.Lower)));
    }
  }

  void pass() {
    sortLargestFirst(Order, [&](int32_t I) { return Priority[I]; });
    Placement P = OfLarge->place(Order, /*Tightest=*/false);
    if (P.Height < Best.Height)
      placeAll();
    double Limit = double(Load) + BlamedFrom * double(Best.Height - Load);
    for (size_t I = 0; I < Large.size(); ++I)
      if (double(P.Offsets[I] + Large[I].Size) > Limit)
        Priority[I] += LeastRise + (1 - LeastRise) * unit();
  }

private:
  const std::vector<Buffer> &All;
  int64_t Load;
  Placement &Best;
  std::vector<Buffer> Large;
  Placer OfAll;
  std::optional<Placer> OfLarge;
  std::vector<int32_t> LargeIds, SmallIds;
  std::vector<double> Priority;
  std::vector<int32_t> Order; ///< positions in `Large`
  /// The standard says what this generator gives, on every machine.
  std::mt19937 Random{1};

  double unit() { return double(Random()) / 4294967296.0; }

  void placeAll() {
    std::vector<int32_t> Ids;
    for (int32_t I : Order)
      Ids.push_back(LargeIds[I]);
    Ids.insert(Ids.end(), SmallIds.begin(), SmallIds.end());
    Placement P = OfAll.place(Ids, /*Tightest=*/false);
    if (P.Height < Best.Height)
      Best = std::move(P);
  }
};

} // namespace

void remat::solver::squeakyWheel(const std::vector<Buffer> &Buffers,
                                 int64_t Load, int64_t Target,
                                 const Deadline &Until, Placement &Best) {
  if (Best.Height <= Target)
    return;
  Wheel W(Buffers, Load, Best);
  int64_t Starts = std::size(SizePowers);
  double Gain = double(Best.Height - Load) / (FullGain * double(Load));
  auto Passes = std::min(int64_t(MaxPasses * std::min(Gain, 1.0)),
                         MaxWork / workOfPass(W.large()) / Starts);
  for (double Power : SizePowers) {
    W.start(Power);
    for (int64_t K = 0; K < Passes; ++K) {
      if (Best.Height <= Target || Until.passed() || W.work() >= MaxMoves)
        return;
      W.pass();
    }
  }
}
