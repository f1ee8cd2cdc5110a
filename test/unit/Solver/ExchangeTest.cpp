//===- ExchangeTest.cpp - Changes that pay together -----------------------===//
#include "Search/Exchange.h"
#include "GreedyPlans.h"
#include "Search/Attempt.h"
#include "Search/ExchangeTable.h"

#include <gtest/gtest.h>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

using Item = ExchangeTable::Item;

Item item(OpId NumOps, OpId O, double Cost, std::vector<int64_t> Bytes) {
  Item X{Cost, std::move(Bytes), {}, OpSet(NumOps)};
  X.Changed.push_back(O);
  X.Touched.insert(O);
  return X;
}

/// One or two that cost, and what saves and fits into the room that they make;
/// no two with the same op.
double bestGain(const std::vector<Item> &Items,
                const std::vector<int64_t> &Room) {
  double Best = 0;
  for (uint32_t Set = 1; Set < 1u << Items.size(); ++Set) {
    double Gain = 0;
    int Given = 0, Saved = 0;
    std::vector<int64_t> Free = Room, Need(Room.size(), 0);
    bool Apart = true;
    for (size_t I = 0; I < Items.size(); ++I) {
      if (!(Set >> I & 1))
        continue;
      for (size_t J = 0; J < I; ++J)
        Apart &= !(Set >> J & 1) || !Items[J].Touched.meets(Items[I].Changed);
      Gain -= Items[I].Cost;
      bool Saves = Items[I].Cost < 0;
      ++(Saves ? Saved : Given);
      for (size_t P = 0; P < Room.size(); ++P)
        (Saves ? Need : Free)[P] += (Saves ? 1 : -1) * Items[I].Bytes[P];
    }
    bool Fits = Apart && Given >= 1 && Given <= 2 && Saved <= 5;
    for (size_t P = 0; P < Room.size(); ++P)
      Fits &= Need[P] <= std::max<int64_t>(Free[P], 0);
    if (Fits)
      Best = std::max(Best, Gain);
  }
  return Best;
}

TEST(ExchangeTable, FindsTheBestOfAllSubsets) {
  Rng R(11);
  int Found = 0;
  for (int Case = 0; Case < 500; ++Case) {
    constexpr OpId NumOps = 100;
    std::vector<int64_t> Room = {R.below(20), R.below(20), R.below(20)};
    std::vector<Item> Items;
    ExchangeTable T(Room);
    for (int I = 0; I < 11; ++I) {
      bool Saves = I >= 4;
      std::vector<int64_t> Bytes;
      for (size_t P = 0; P < Room.size(); ++P)
        Bytes.push_back((Saves ? 1 : -2) * int64_t(R.below(40)));
      double Cost = double(1 + R.below(30)) * (Saves ? -1 : 2);
      OpId O = R.below(4) ? 70 + I : 3;
      Items.push_back(item(NumOps, O, Cost, Bytes));
      T.add(Items.back());
    }
    double Best = bestGain(Items, Room);
    std::vector<ExchangeTable::Offer> Offers = T.find(3);
    ASSERT_EQ(Offers.empty() ? 0 : Offers[0].Gain, Best) << "case " << Case;
    Found += Best > 0;
  }
  EXPECT_GT(Found, 100);
}

/// x reads a (60 bytes, time 6), b (40, 6) and c (100, 10), and r reads them
/// again after w, which needs 150 bytes for itself. Within 250 bytes 100 must
/// go at w: a and b, for 12, or c, for 10. Nothing on the way is as good: to
/// keep a or b as well does not fit, to drop c as well costs 22.
struct OneForTwo {
  /// So many times, one after the other.
  explicit OneForTwo(int Copies) {
    for (OpId First = 0; Copies > 0; --Copies, First += 6) {
      ValueId A = P.addOutput(P.addOp("a", 6, {}), "a", 60);
      ValueId B = P.addOutput(P.addOp("b", 6, {}), "b", 40);
      ValueId C = P.addOutput(P.addOp("c", 10, {}), "c", 100);
      ValueId X = P.addOutput(P.addOp("x", 1, {A, B, C}), "x", 0);
      ValueId W = P.addOutput(P.addOp("w", 1, {X}, 150), "w", 0);
      P.Results.push_back(P.addOutput(P.addOp("r", 1, {A, B, C, W}), "r", 0));
      for (OpId Op : {0, 1, 2, 3, 4, 0, 1, 5})
        From.Sequence.push_back({First + Op, 0});
    }
  }
  static constexpr int64_t Budget = 250;
  Problem P;
  Plan From;
};

TEST(Exchange, DropsOneInThePlaceOfTwo) {
  OneForTwo X(1);
  Model M(X.P);
  SolveOptions O;
  Watch D(O);
  Schedule S(M, X.From, X.Budget);
  EXPECT_EQ(S.timeline().overflow(), 0);
  EXPECT_EQ(S.time(), M.BaseTime + 12);
  Exchange L(S, 1, D);
  EXPECT_TRUE(L.exchange());
  EXPECT_TRUE(L.sawAll());
  EXPECT_EQ(S.time(), M.BaseTime + 10);
  VerifyResult V = verify(X.P, S.plan(), X.Budget);
  EXPECT_TRUE(V.Ok) << V.Error;
  EXPECT_FALSE(L.exchange());
  EXPECT_EQ(S.time(), M.BaseTime + 10);
}

/// Of eight such, a look with little work sees some, and others the next time.
TEST(Exchange, LooksAtAnotherPartTheNextTime) {
  const int Copies = 8;
  OneForTwo X(Copies);
  Model M(X.P);
  SolveOptions O;
  Watch D(O);
  Schedule S(M, X.From, X.Budget);
  Exchange L(S, 1, D);
  L.WorkLimit = 100;
  for (int Look = 0; Look < 100; ++Look) {
    L.Work = 0;
    L.exchange();
    EXPECT_FALSE(L.sawAll());
  }
  EXPECT_EQ(S.time(), M.BaseTime + 10 * Copies);
}

/// y reads c (108 bytes, time 20) and k (50, 10), then d makes 60 bytes and
/// needs 60 more. g reads c again, r reads k again. Within 180 bytes c must go
/// at d, and k does not fit beside c and d. But g can wait until r has run,
/// with what makes c again, and then k stays. Other ops of each part of the
/// plan need more than g: they stand for their part.
TEST(Exchange, LetsAnOpWaitWithWhatItReads) {
  Problem P;
  ValueId X = P.addOutput(P.addOp("x", 1, {}), "x", 10);
  ValueId K = P.addOutput(P.addOp("k", 10, {}), "k", 50);
  ValueId C = P.addOutput(P.addOp("c", 20, {X}), "c", 108);
  ValueId Y = P.addOutput(P.addOp("y", 1, {C, K}, 11), "y", 0);
  ValueId Z = P.addOutput(P.addOp("d", 1, {Y}, 60), "d", 60);
  ValueId G = P.addOutput(P.addOp("g", 1, {C, Z}), "g", 0);
  ValueId V = P.addOutput(P.addOp("r", 1, {K, Y}), "r", 1);
  for (const char *Name : {"s", "t", "u", "v"})
    V = P.addOutput(P.addOp(Name, 1, {V}), Name, 0);
  P.Results = {G, V};
  Model M(P);
  SolveOptions O;
  Watch D(O);
  Plan From;
  for (OpId Op : {0, 1, 2, 3, 4, 2, 5, 1, 6, 7, 8, 9, 10})
    From.Sequence.push_back({Op, 0});
  for (bool TakeAlong : {false, true}) {
    Schedule At(M, From, 180);
    ASSERT_EQ(At.timeline().overflow(), 0);
    EXPECT_EQ(At.time(), M.BaseTime + 30);
    Exchange L(At, 1, D);
    L.TakeAlong = TakeAlong;
    EXPECT_EQ(L.exchange(), TakeAlong);
    EXPECT_EQ(At.time(), M.BaseTime + (TakeAlong ? 20 : 30));
    VerifyResult Got = verify(P, At.plan(), 180);
    EXPECT_TRUE(Got.Ok) << Got.Error;
  }
}

/// Whatever it does to whatever plan: cheaper by what it says, and valid.
TEST(Exchange, IsValidAndCheaper) {
  int Made = 0;
  auto Look = [&](int Case, const Model &M, const Watch &D, const Plan &From) {
    int64_t Limit = verify(M.P, From, INT64_MAX).Peak;
    Schedule S(M, From, Limit);
    Exchange L(S, Case, D);
    L.TakeAlong = Case % 3 != 0;
    for (double Cost = S.cost(); L.exchange(); Cost = S.cost()) {
      EXPECT_LT(S.cost(), Cost);
      VerifyResult V = verify(M.P, S.plan(), Limit);
      EXPECT_TRUE(V.Ok) << "case " << Case << ": " << V.Error;
      ++Made;
    }
  };
  forGreedyPlans(23, 400, Look);
  EXPECT_GT(Made, 20);
}

} // namespace
