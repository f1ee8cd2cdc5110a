//===- AttentionTest.cpp - attention against the formula ------------------===//

#include "TestProgram.h"
#include "remat/runtime/Philox.h"
#include <cmath>

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

constexpr double Inf = std::numeric_limits<double>::infinity();

/// Attention and its gradients in f64, with every score in memory.
struct Reference {
  int64_t B = 1, T = 1, S = 1, H = 1, D = 1;
  int64_t G = 1; ///< heads of keys and values
  bool Causal = false;
  int64_t Window = 0; ///< keys seen at most; 0: all
  double Scale = 0.5, P = 0;
  std::vector<double> Mask; ///< added to scores, [B, H, T, S]; may be empty
  std::vector<double> Q, K, V, Grad;
  std::vector<double> Out, Lse, DQ, DK, DV;

  /// Where the key lies that head h of the queries reads.
  int64_t locate(int64_t b, int64_t h, int64_t s) const {
    return ((b * S + s) * G + h / (H / G)) * D;
  }
  double score(int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (Causal && (s > t || (Window && s <= t - Window)))
      return -Inf;
    double Sum = 0;
    for (int64_t d = 0; d < D; ++d)
      Sum += Q[((b * T + t) * H + h) * D + d] * K[locate(b, h, s) + d];
    return Scale * Sum +
           (Mask.empty() ? 0 : Mask[((b * H + h) * T + t) * S + s]);
  }
  double factor(int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (P == 0)
      return 1;
    uint64_t I = (b * T + t) * S + s;
    auto Word =
        PhiloxStream(1 + h * 0x5851F42D4C95, 2, 3).getBlock(I / 4)[I % 4];
    return PhiloxStream::toUniform(Word) >= P ? 1 / (1 - P) : 0;
  }
  void runRow(int64_t b, int64_t h, int64_t t);
  void run() {
    Out.assign(B * T * H * D, 0), DQ = Out;
    DK.assign(B * S * G * D, 0), DV = DK;
    Lse.assign(B * H * T, 0);
    for (int64_t b = 0; b < B; ++b)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t t = 0; t < T; ++t)
          runRow(b, h, t);
  }
};

void Reference::runRow(int64_t b, int64_t h, int64_t t) {
  double Max = -Inf, Sum = 0;
  for (int64_t s = 0; s < S; ++s)
    Max = std::max(Max, score(b, h, t, s));
  for (int64_t s = 0; s < S && Max > -Inf; ++s)
    Sum += std::exp(score(b, h, t, s) - Max);
  double L = Max > -Inf ? Max + std::log(Sum) : -Inf;
  Lse[(b * H + h) * T + t] = L;
  if (L == -Inf)
    return;
  const double *G = &Grad[((b * T + t) * H + h) * D];
  std::vector<double> Probability(S), Up(S);
  double Delta = 0;
  for (int64_t s = 0; s < S; ++s) {
    Probability[s] = std::exp(score(b, h, t, s) - L);
    double F = factor(b, h, t, s);
    for (int64_t d = 0; d < D; ++d) {
      int64_t At = locate(b, h, s) + d;
      Out[((b * T + t) * H + h) * D + d] += Probability[s] * F * V[At];
      DV[At] += Probability[s] * F * G[d];
      Up[s] += G[d] * V[At] * F;
    }
    Delta += Probability[s] * Up[s];
  }
  for (int64_t s = 0; s < S; ++s)
    for (int64_t d = 0; d < D; ++d) {
      double DS = Probability[s] * (Up[s] - Delta) * Scale;
      int64_t Kd = locate(b, h, s) + d;
      int64_t Qd = ((b * T + t) * H + h) * D + d;
      DQ[Qd] += DS * K[Kd];
      DK[Kd] += DS * Q[Qd];
    }
}

Reference makeReference(int64_t B, int64_t T, int64_t S, int64_t H, int64_t D,
                        DType Type = DType::F32, int64_t Group = 1) {
  Reference R;
  R.B = B, R.T = T, R.S = S, R.H = H, R.D = D, R.G = H / Group;
  R.Q = randomArray(Type, {B, T, H, D}, 1).Data;
  R.K = randomArray(Type, {B, S, R.G, D}, 2).Data;
  R.V = randomArray(Type, {B, S, R.G, D}, 3).Data;
  R.Grad = randomArray(Type, {B, T, H, D}, 4).Data;
  return R;
}

Attrs getAttrs(const Reference &R) {
  Attrs List = {number("scale", R.Scale), number("dropout_p", R.P),
                ints("id", {2})};
  if (R.Causal)
    List.push_back(flag("causal"));
  if (R.Window)
    List.push_back(ints("window", {R.Window}));
  return List;
}

/// Runs forward and backward and compares; `Mask` is the operand.
void expectMatch(Reference &R, std::optional<Array> Mask = std::nullopt,
                 double Tolerance = 2e-5, DType Type = DType::F32) {
  R.run();
  auto Make = [&](const std::vector<double> &Data) {
    return Array{Type, {R.B, R.T, R.H, R.D}, Data};
  };
  auto MakeKey = [&](const std::vector<double> &Data) {
    return Array{Type, {R.B, R.S, R.G, R.D}, Data};
  };
  std::optional<Array> Seed = i64({}, {1}), Step = i64({}, {3});
  if (R.P == 0)
    Seed = Step = std::nullopt;
  Array Q = Make(R.Q), K = MakeKey(R.K), V = MakeKey(R.V);
  Array Lse = f32({R.B, R.H, R.T});
  auto F = runOp("attention", {Q, K, V, Mask, Seed, Step}, {Make({}), Lse},
                 getAttrs(R));
  ASSERT_EQ(F.size(), 2u);
  expectNear(F[0], R.Out, Tolerance);
  expectNear(F[1], R.Lse, Tolerance);
  auto G = runOp("attention_backward",
                 {Make(R.Grad), Q, K, V, F[0], F[1], Mask, Seed, Step},
                 {Make({}), MakeKey({}), MakeKey({})}, getAttrs(R));
  ASSERT_EQ(G.size(), 3u);
  expectNear(G[0], R.DQ, Tolerance);
  expectNear(G[1], R.DK, Tolerance);
  expectNear(G[2], R.DV, Tolerance);
}

TEST(Attention, ByHand) {
  // Two keys with scores 0 and log 3: weights 1/4 and 3/4.
  auto R = runOp("attention",
                 {f32({1, 1, 1, 1}, {1}), f32({1, 2, 1, 1}, {0, std::log(3.0)}),
                  f32({1, 2, 1, 1}, {4, 8}), std::nullopt, std::nullopt,
                  std::nullopt},
                 {f32({1, 1, 1, 1}), f32({1, 1, 1})}, {number("scale", 1)});
  ASSERT_EQ(R.size(), 2u);
  expectNear(R[0], {7});
  expectNear(R[1], {std::log(4.0)});
}

TEST(Attention, Plain) {
  Reference R = makeReference(2, 5, 7, 3, 4);
  expectMatch(R);
}

TEST(Attention, SeveralBlocks) {
  Reference R = makeReference(1, 70, 200, 2, 8);
  expectMatch(R);
}

TEST(Attention, Causal) {
  Reference R = makeReference(1, 150, 150, 1, 4);
  R.Causal = true;
  expectMatch(R);
}

/// Heads that share keys, each of which draws for itself.
TEST(Attention, Grouped) {
  Reference R = makeReference(2, 40, 150, 6, 4, DType::F32, /*Group=*/3);
  R.P = 0.3;
  expectMatch(R);
}

TEST(Attention, OneHeadOfKeys) {
  Reference R = makeReference(1, 70, 70, 4, 4, DType::F32, /*Group=*/4);
  R.Causal = true;
  expectMatch(R);
}

/// Windows that leave out blocks of keys, the first keys of a block, and all.
TEST(Attention, Window) {
  for (int64_t Window : {1, 40, 200, 1000}) {
    Reference R = makeReference(1, 300, 270, 1, 4);
    R.Causal = true, R.Window = Window;
    expectMatch(R);
  }
}

/// Query 7 sees key 4, the last one; those behind it see none.
TEST(Attention, WindowBehindAllKeys) {
  Reference R = makeReference(1, 12, 5, 2, 4);
  R.Causal = true, R.Window = 4;
  R.run();
  EXPECT_GT(R.Lse[7], -Inf);
  EXPECT_EQ(R.Lse[8], -Inf);
  expectMatch(R);
}

TEST(Attention, FloatMask) {
  Reference R = makeReference(2, 3, 4, 2, 4);
  Array Mask = randomArray(DType::F32, {2, 1, 3, 4}, 9);
  for (int64_t I = 0; I < 2 * 2 * 3 * 4; ++I)
    R.Mask.push_back(Mask.Data[I / 24 * 12 + I % 12]);
  expectMatch(R, Mask);
}

TEST(Attention, BoolMaskWithARowThatSeesNothing) {
  Reference R = makeReference(1, 3, 2, 2, 4);
  Array Mask = i1({3, 2}, {1, 0, 0, 0, 1, 1});
  for (int64_t I = 0; I < 12; ++I)
    R.Mask.push_back(Mask.Data[I % 6] ? 0 : -Inf);
  expectMatch(R, Mask);
}

TEST(Attention, Dropout) {
  Reference R = makeReference(2, 6, 9, 2, 4);
  R.P = 0.4;
  expectMatch(R);
}

TEST(Attention, Narrow) {
  Reference R = makeReference(1, 6, 9, 2, 4, DType::BF16);
  expectMatch(R, std::nullopt, 2e-2, DType::BF16);
}

TEST(Attention, PackedEqualsApart) {
  int64_t B = 2, T = 5, H = 2, D = 3, Width = H * D;
  Reference R = makeReference(B, T, T, H, D);
  R.Causal = true;
  R.run();
  std::vector<double> Packed, Gradients;
  for (int64_t Row = 0; Row < B * T; ++Row) {
    for (auto *From : {&R.Q, &R.K, &R.V})
      Packed.insert(Packed.end(), From->begin() + Row * Width,
                    From->begin() + (Row + 1) * Width);
    for (auto *From : {&R.DQ, &R.DK, &R.DV})
      Gradients.insert(Gradients.end(), From->begin() + Row * Width,
                       From->begin() + (Row + 1) * Width);
  }
  Array Qkv = f32({B, T, 3, H, D}, Packed), Out = f32({B, T, H, D});
  Attrs List = getAttrs(R);
  List.push_back(flag("packed"));
  auto F = runOp("attention", {Qkv, std::nullopt, std::nullopt, std::nullopt},
                 {Out, f32({B, H, T})}, List);
  ASSERT_EQ(F.size(), 2u);
  expectNear(F[0], R.Out, 1e-5);
  auto G = runOp("attention_backward",
                 {f32({B, T, H, D}, R.Grad), Qkv, F[0], F[1], std::nullopt,
                  std::nullopt, std::nullopt},
                 {Qkv}, List);
  ASSERT_EQ(G.size(), 1u);
  expectNear(G[0], Gradients, 2e-5);
}

TEST(Attention, DefaultScale) {
  Reference R = makeReference(1, 3, 3, 1, 16);
  R.Scale = 0.25;
  R.run();
  auto F =
      runOp("attention",
            {f32({1, 3, 1, 16}, R.Q), f32({1, 3, 1, 16}, R.K),
             f32({1, 3, 1, 16}, R.V), std::nullopt, std::nullopt, std::nullopt},
            {f32({1, 3, 1, 16}), f32({1, 1, 3})});
  ASSERT_EQ(F.size(), 2u);
  expectNear(F[0], R.Out, 1e-5);
}

TEST(Attention, Checks) {
  Array Q = f32({1, 2, 1, 4}), Lse = f32({1, 1, 2});
  auto Check = [&](Array K, Array V, std::optional<Array> Mask, Attrs List) {
    return checkOp("attention", {Q, K, V, Mask, std::nullopt, std::nullopt},
                   {Q, Lse}, List);
  };
  EXPECT_EQ(Check(Q, Q, std::nullopt, {}), "");
  EXPECT_NE(Check(f32({1, 2, 2, 4}), Q, std::nullopt, {}), "");
  // Two heads of keys for one of queries; a window of none, or both ways.
  Array Two = f32({1, 2, 2, 4});
  EXPECT_NE(Check(Two, Two, std::nullopt, {}), "");
  EXPECT_EQ(Check(Q, Q, std::nullopt, {flag("causal"), ints("window", {1})}),
            "");
  EXPECT_NE(Check(Q, Q, std::nullopt, {flag("causal"), ints("window", {0})}),
            "");
  EXPECT_NE(Check(Q, Q, std::nullopt, {ints("window", {1})}), "");
  EXPECT_NE(Check(Q, f32({1, 3, 1, 4}), std::nullopt, {}), "");
  EXPECT_NE(Check(Q, Q, f32({3, 2}), {}), "");
  EXPECT_NE(Check(Q, Q, i64({2, 2}), {}), "");
  EXPECT_NE(Check(Q, Q, std::nullopt, {number("dropout_p", 0.5)}), "");
  EXPECT_NE(Check(Q, Q, std::nullopt, {flag("packed")}), "");
  // Keys and values agree, and not with the queries.
  EXPECT_NE(Check(f32({2, 2, 1, 4}), f32({2, 2, 1, 4}), std::nullopt, {}), "");
}

/// Queries of one dimension more, and all else as if that were no matter.
TEST(Attention, ChecksTheRankOfQueries) {
  Array Q = f32({1, 2, 1, 4, 5}), K = f32({1, 2, 1, 4});
  EXPECT_NE(checkOp("attention",
                    {Q, K, K, std::nullopt, std::nullopt, std::nullopt},
                    {Q, f32({1, 1, 2})}),
            "");
}

} // namespace
