//===- ExchangeTable.cpp - Changes that pay together ----------------------===//
#include "Search/ExchangeTable.h"

#include "Model/SearchParameters.h"

#include <algorithm>

using namespace remat::solver;

bool ExchangeTable::fits(const Saving &X, const std::vector<int64_t> &Free) {
  Work += 1 + int64_t(Free.size()) / 64;
  // Nearly all that do not fit do not fit at this place.
  if (X.Bytes > Free[X.Place])
    return false;
  // That one place is short shows in the sign of all, without a branch for
  // each.
  const std::vector<int64_t> &Bytes = Items[X.Item].Bytes;
  int64_t Short = 0;
  for (size_t P = 0; P < Free.size(); ++P)
    Short |= Free[P] - Bytes[P];
  return Short >= 0;
}

bool ExchangeTable::apart(int32_t I, const std::vector<int32_t> &Others) const {
  const Item &X = Items[I];
  for (int32_t J : Others)
    if (Items[J].Touched.meets(X.Changed) || X.Touched.meets(Items[J].Changed))
      return false;
  return true;
}

/// Chooses savings, from the `First` on, that fit into what is free.
void ExchangeTable::fillFrom(Filling &F, size_t First, double Saved,
                             const std::vector<int64_t> &Free) {
  if (Saved > F.Most) {
    F.Most = Saved;
    F.Best = F.Now;
  }
  if (F.Now.size() == Tuned.Exchange.Savings)
    return;
  double Rest = 0;
  for (size_t K = First; K < F.From.size(); ++K)
    Rest -= Items[F.From[K].Item].Cost;
  for (size_t K = First; K < F.From.size() && --F.Left > 0; ++K) {
    if (Saved + Rest <= F.Most)
      return;
    int32_t I = F.From[K].Item;
    const Item &X = Items[I];
    Rest += X.Cost;
    if (!fits(F.From[K], Free) || !apart(I, F.Now))
      continue;
    std::vector<int64_t> Less = Free;
    for (size_t P = 0; P < Less.size(); ++P)
      Less[P] -= X.Bytes[P];
    F.Now.push_back(I);
    fillFrom(F, K + 1, Saved - X.Cost, Less);
    F.Now.pop_back();
  }
}

/// Finds what saves most in the room that some changes make, if more than they
/// cost.
void ExchangeTable::fill(const std::vector<int32_t> &Given) {
  std::vector<int64_t> Free = Room;
  Filling F;
  for (int32_t I : Given) {
    F.Most += Items[I].Cost;
    for (size_t P = 0; P < Free.size(); ++P)
      Free[P] -= Items[I].Bytes[P];
  }
  // Given changes that need room themselves may still fit together.
  for (int64_t &Bytes : Free)
    Bytes = std::max<int64_t>(Bytes, 0);
  double Cost = F.Most, Sum = 0;
  for (const Saving &X : Savings) {
    if (!fits(X, Free) || !apart(X.Item, Given))
      continue;
    F.From.push_back(X);
    Sum -= Items[X.Item].Cost;
  }
  if (Sum <= Cost)
    return;
  F.Left = Tuned.Exchange.Tried;
  fillFrom(F, 0, 0, Free);
  if (F.Best.empty())
    return;
  Offers.push_back({F.Most - Cost, Given});
  std::vector<int32_t> &Made = Offers.back().Items;
  Made.insert(Made.end(), F.Best.begin(), F.Best.end());
}

/// Those that relieve most for their time, and those that cost none.
std::vector<int32_t> ExchangeTable::worthPairing() const {
  std::vector<std::pair<double, int32_t>> Dear, Free;
  for (size_t I = 0; I < Items.size(); ++I) {
    const Item &X = Items[I];
    if (X.Cost < 0)
      continue;
    double Relief = 0;
    for (int64_t Bytes : X.Bytes)
      Relief = std::max(Relief, double(-Bytes));
    if (X.Cost > 0)
      Dear.push_back({X.Cost / (Relief + 1), int32_t(I)});
    else if (Relief > 0)
      Free.push_back({-Relief, int32_t(I)});
  }
  std::vector<int32_t> Out;
  auto Take = [&](std::vector<std::pair<double, int32_t>> &From, size_t Most) {
    std::sort(From.begin(), From.end());
    From.resize(std::min(From.size(), Most));
    for (auto [Key, I] : From)
      Out.push_back(I);
  };
  Take(Dear, Tuned.Exchange.Dear);
  Take(Free, Tuned.Exchange.FreeOfCost);
  return Out;
}

void ExchangeTable::findSavings() {
  for (size_t I = 0; I < Items.size(); ++I) {
    const std::vector<int64_t> &Bytes = Items[I].Bytes;
    if (Items[I].Cost >= 0)
      continue;
    size_t Place = 0;
    for (size_t P = 1; P < Bytes.size(); ++P)
      if (Bytes[P] - Room[P] > Bytes[Place] - Room[Place])
        Place = P;
    Savings.push_back({int32_t(I), int32_t(Place), Bytes[Place]});
  }
  std::sort(Savings.begin(), Savings.end(),
            [&](const Saving &A, const Saving &B) {
              double OfA = Items[A.Item].Cost, OfB = Items[B.Item].Cost;
              return OfA != OfB ? OfA < OfB : A.Item < B.Item;
            });
}

std::vector<ExchangeTable::Offer> ExchangeTable::find(size_t Most) {
  findSavings();
  for (size_t I = 0; I < Items.size(); ++I)
    if (Items[I].Cost >= 0)
      fill({int32_t(I)});
  std::vector<int32_t> Pairing = worthPairing();
  for (size_t A = 0; A < Pairing.size(); ++A)
    for (size_t B = A + 1; B < Pairing.size(); ++B)
      if (apart(Pairing[A], {Pairing[B]}))
        fill({Pairing[A], Pairing[B]});
  auto Better = [](const Offer &A, const Offer &B) {
    return A.Gain != B.Gain ? A.Gain > B.Gain : A.Items < B.Items;
  };
  std::sort(Offers.begin(), Offers.end(), Better);
  Offers.resize(std::min(Offers.size(), Most));
  return std::move(Offers);
}
