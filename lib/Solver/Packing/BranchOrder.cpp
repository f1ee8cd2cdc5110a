//===- BranchOrder.cpp - Orders of branching in the exact search
//-----------===//
#include "Packing/Exact.h"

#include <algorithm>
#include <numeric>

using namespace remat::solver;

namespace {

enum OrderKey { Width, Area, Total, Size, Upper, Lower };
constexpr int NumKeys = 6;

double valueOf(const Skyline &State, const Skyline::Item &X, int Which) {
  double W = X.To - X.From;
  int64_t Most = 0;
  switch (Which) {
  case Width:
    return W;
  case Area:
    return W * double(X.Size);
  case Size:
    return double(X.Size);
  case Upper:
    return X.To;
  case Lower:
    return -double(X.From);
  default:
    for (int32_t S = X.From; S < X.To; ++S)
      Most = std::max(Most, State.left(S));
    return double(Most);
  }
}

struct Order {
  int First, Second;
};

constexpr Order Orders[] = {{Width, Area}, {Area, Size},   {Size, Width},
                            {Area, Total}, {Lower, Width}, {Total, Width},
                            {Total, Area}, {Upper, Width}};

} // namespace

double ExactPacker::random() {
  Seed ^= Seed << 13;
  Seed ^= Seed >> 7;
  Seed ^= Seed << 17;
  return double(Seed >> 11) * 0x1p-53;
}

/// Which of several items to try first at a floor: the larger key. A good order
/// finishes in a moment, a bad one never, so there are many, tried in turn;
/// after the first few, random keys with random noise.
void ExactPacker::rank(int Attempt) {
  size_t N = State.items().size();
  Order O{};
  double Noise = 0;
  if (Attempt < int(std::size(Orders))) {
    O = Orders[Attempt];
  } else {
    O.First = int(random() * NumKeys);
    O.Second = int(random() * NumKeys);
    Noise = random();
  }
  std::vector<std::pair<double, double>> Keys(N);
  for (size_t I = 0; I < N; ++I) {
    const Skyline::Item &X = State.items()[I];
    Keys[I] = {valueOf(State, X, O.First) * (1 + Noise * random()),
               valueOf(State, X, O.Second)};
  }
  std::vector<int32_t> Ids(N);
  std::iota(Ids.begin(), Ids.end(), 0);
  sortLargestFirst(Ids, [&](int32_t I) { return Keys[I]; });
  Rank.assign(N, 0);
  for (size_t K = 0; K < N; ++K)
    Rank[Ids[K]] = int32_t(K);
}
