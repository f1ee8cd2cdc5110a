//===- LtSearch.cpp - the fastest algorithm of a matrix product -----------===//

#include "cuda/LtMeasure.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

static constexpr double Forever = std::numeric_limits<double>::infinity();

namespace {

struct Timed {
  Algorithm Value;
  double Ms;
};

class Search {
public:
  Search(const Lt &L, LtMatmul &Product, LtMeasure &Measure)
      : L(L), Product(Product), Measure(Measure) {}

  /// Times what the library suggests, and each tile of these algorithms.
  void searchTiles(const std::vector<LtHeuristic> &Suggested);
  /// Times the best tiles with other clusters and custom options.
  void searchShapes(size_t MostTiles);
  /// The best of each good tile, at most `Most`, whose results agree with
  /// `Expected`.
  std::vector<Algorithm> chooseRunners(size_t Most,
                                       const std::vector<float> &Expected);
  /// The fastest of them where they run in turn, each for long.
  Result<Algorithm> race(const std::vector<Algorithm> &Runners);

private:
  template <typename T = uint32_t>
  T get(const Algorithm &Value, int Number) const {
    T Out = 0;
    size_t Written = 0;
    L.ConfigGet(&Value, Number, &Out, sizeof Out, &Written);
    return Out;
  }
  template <typename T = uint32_t>
  void set(Algorithm &Value, int Number, T To) const {
    L.ConfigSet(&Value, Number, &To, sizeof To);
  }
  uint32_t getMostCustom(const Algorithm &Value) const;
  void searchTiles(const Algorithm &Base);
  bool addSplits(Algorithm Value);
  bool add(const Algorithm &Value);
  /// The best of each tile among what `Accepts` takes, best first, at
  /// most `Most`.
  std::vector<Algorithm>
  chooseBest(size_t Most, const std::function<bool(const Timed &)> &Accepts);
  /// What is the same in all algorithms that differ by cluster and custom
  /// option alone.
  std::array<uint32_t, 3> getTile(const Algorithm &Value) const {
    return {get(Value, ConfigId), get(Value, ConfigTile),
            get(Value, ConfigSplit)};
  }

  const Lt &L;
  LtMatmul &Product;
  LtMeasure &Measure;
  std::vector<Timed> Tried;
  std::map<Algorithm, bool> Runs; ///< whether what was tried can run
  double BestMs = Forever;
  /// Algorithms of more waves have tiles that are too small.
  float MostWaves = Forever;
  /// How many partial sums the suggestions cut the inner dimension into.
  std::set<uint32_t> Splits = {1};
};

} // namespace

/// cublasLtClusterShape_t: 1, 2 or 4 thread blocks, along either dimension or
/// both.
static constexpr uint16_t Clusters[] = {2, 3, 4, 5, 6, 8};
/// Clusters of two: along either dimension.
static constexpr uint16_t PairsOfBlocks[] = {3, 5};

/// Times `Value`, once, unless its tiles are too small; whether it can run.
bool Search::add(const Algorithm &Value) {
  constexpr double AtLeastMs = 0.5, Hopeless = 1.15;
  auto [At, IsNew] = Runs.try_emplace(Value, false);
  if (!IsNew)
    return At->second;
  std::optional<LtHeuristic> Checked = Product.check(Value);
  if (!Checked)
    return false;
  if (Checked->Waves > MostWaves)
    return At->second = true;
  Result<double> Ms = Measure.time(Value, AtLeastMs, BestMs * Hopeless);
  if (!Ms)
    return false;
  Tried.push_back({Value, *Ms});
  BestMs = std::min(BestMs, *Ms);
  At->second = true;
  return true;
}

std::vector<Algorithm>
Search::chooseBest(size_t Most,
                   const std::function<bool(const Timed &)> &Accepts) {
  std::ranges::stable_sort(Tried, {}, &Timed::Ms);
  std::set<std::array<uint32_t, 3>> Seen;
  std::vector<Algorithm> Best;
  for (const Timed &One : Tried) {
    auto Tile = getTile(One.Value);
    if (Best.size() < Most && !Seen.contains(Tile) && Accepts(One)) {
      Seen.insert(Tile);
      Best.push_back(One.Value);
    }
  }
  return Best;
}

void Search::searchTiles(const std::vector<LtHeuristic> &Suggested) {
  float Fewest = MostWaves;
  for (const LtHeuristic &One : Suggested) {
    Splits.insert(get(One.Value, ConfigSplit));
    if (add(One.Value))
      Fewest = std::min(Fewest, One.Waves);
  }
  // Tiles of a quarter of the largest, or so many as there is room for at once.
  MostWaves = std::max(4 * Fewest, 2.0f);
  std::set<uint32_t> Seen;
  for (const LtHeuristic &One : Suggested)
    if (Seen.insert(get(One.Value, ConfigId)).second)
      searchTiles(One.Value);
}

uint32_t Search::getMostCustom(const Algorithm &Value) const {
  uint32_t Most = 0;
  size_t Bytes = 0;
  L.CapGet(&Value, CapCustomMax, &Most, sizeof Most, &Bytes);
  return std::min(Most, 15u);
}

/// Times `Value` with each number of partial sums; whether it runs with one.
bool Search::addSplits(Algorithm Value) {
  for (uint32_t Split : Splits) {
    set(Value, ConfigSplit, Split);
    set(Value, ConfigReduction, Split > 1 ? ReduceInComputeType : 0);
    if (!add(Value))
      return Split > 1;
  }
  return true;
}

/// Times each tile that the algorithm of `Base` has, with the first custom
/// option that the tile takes.
void Search::searchTiles(const Algorithm &Base) {
  std::vector<uint32_t> Tiles(1024);
  size_t Bytes = 0;
  L.CapGet(&Base, CapTiles, Tiles.data(), Tiles.size() * sizeof(uint32_t),
           &Bytes);
  Tiles.resize(std::min(Tiles.size(), Bytes / sizeof(uint32_t)));
  uint32_t Most = getMostCustom(Base);
  for (uint32_t Tile : Tiles) {
    bool Ran = false;
    for (uint32_t Custom = 0; Custom <= Most && !Ran; ++Custom)
      for (uint16_t Cluster : PairsOfBlocks) {
        Algorithm Value = Base;
        set(Value, ConfigTile, Tile);
        set(Value, ConfigCluster, Cluster);
        set(Value, ConfigCustom, Custom);
        Ran |= addSplits(Value);
      }
  }
}

void Search::searchShapes(size_t MostTiles) {
  std::vector<Algorithm> Best =
      chooseBest(MostTiles, [](const Timed &) { return true; });
  for (Algorithm Value : Best)
    for (uint16_t Cluster : Clusters)
      for (uint32_t Custom = 0; Custom <= getMostCustom(Value); ++Custom) {
        set(Value, ConfigCluster, Cluster);
        set(Value, ConfigCustom, Custom);
        add(Value);
      }
}

/// Whether two products of the same matrices differ by rounding alone.
static bool agree(const std::vector<float> &A, const std::vector<float> &B) {
  float Largest = 0;
  for (float X : A)
    Largest = std::max(Largest, std::fabs(X));
  // bf16, the narrowest type of a result, is off by 2^-9 at most; two results,
  // whose sums have other orders, by less than four times that. A NaN is off.
  float Most = Largest * 0x1p-7f;
  for (size_t I = 0; I < A.size(); ++I)
    if (!(std::fabs(A[I] - B[I]) <= Most))
      return false;
  return true;
}

std::vector<Algorithm>
Search::chooseRunners(size_t Most, const std::vector<float> &Expected) {
  constexpr double Good = 1.1;
  return chooseBest(Most, [&](const Timed &One) {
    if (One.Ms > BestMs * Good)
      return false;
    Result<std::vector<float>> Found = Measure.sample(One.Value);
    return Found && agree(Expected, *Found);
  });
}

Result<Algorithm> Search::race(const std::vector<Algorithm> &Runners) {
  constexpr double RunMs = 150;
  constexpr size_t Finalists = 3;
  std::vector<Timed> Left;
  for (const Algorithm &Runner : Runners)
    Left.push_back({Runner, 0});
  for (int Round = 0; Round < 3; ++Round) {
    for (Timed &One : Left) {
      Result<double> Ms = Measure.timeLong(One.Value, RunMs);
      if (!Ms)
        return Ms.getError();
      One.Ms += *Ms;
    }
    std::ranges::stable_sort(Left, {}, &Timed::Ms);
    Left.resize(std::min(Left.size(), Finalists));
  }
  return Left.front().Value;
}

Status LtMatmul::measure(const Driver &D, Stream S) {
  constexpr size_t MostTiles = 8, MostRunners = 6;
  std::vector<LtHeuristic> Suggested;
  if (Status Asked = suggest(32, Suggested); !Asked)
    return Asked;
  LtMeasure Measure(*this, P, D, S);
  if (Status Made = Measure.allocate(); !Made)
    return Made;
  const Algorithm &First = Suggested.front().Value;
  auto Expected = Measure.sample(First);
  if (!Expected)
    return Expected.getError();
  Search From(L, *this, Measure);
  From.searchTiles(Suggested);
  From.searchShapes(MostTiles);
  std::vector<Algorithm> Runners = From.chooseRunners(MostRunners, *Expected);
  if (Runners.empty()) {
    use(First);
    return {};
  }
  auto Fastest = From.race(Runners);
  if (!Fastest)
    return Fastest.getError();
  use(*Fastest);
  return {};
}
