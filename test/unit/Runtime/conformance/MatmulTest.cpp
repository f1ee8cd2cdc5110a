//===- MatmulTest.cpp - matrix products -----------------------------------===//

#include "TestProgram.h"

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

const Array A = f32({2, 3}, {1, 2, 3, 4, 5, 6});
const Array B = f32({3, 2}, {1, 0, 2, 1, 0, 3});
const std::vector<double> Product = {5, 11, 14, 23};

TEST(Matmul, ByHand) {
  auto R = runOp("matmul", {A, B, std::nullopt}, {f32({2, 2})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], Product);
}

TEST(Matmul, Bias) {
  auto R = runOp("matmul", {A, B, f32({2}, {100, 200})}, {f32({2, 2})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {105, 211, 114, 223});
  // In 16 bits: small whole numbers are exact.
  R = runOp("matmul",
            {bf16({2, 3}, A.Data), bf16({3, 2}, B.Data), bf16({2}, {16, 32})},
            {bf16({2, 2})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {21, 43, 30, 55});
}

TEST(Matmul, Addend) {
  Array Addend = f32({2, 2}, {1, 20, -3, 0.5});
  auto R = runOp("matmul", {A, B, std::nullopt, Addend}, {f32({2, 2})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {6, 31, 11, 23.5});
  R = runOp("matmul", {A, B, f32({2}, {100, 200}), Addend}, {f32({2, 2})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {106, 231, 111, 223.5});
  // Rounded once: 5 + 251 + 1 = 257 is half-way between 256 and 258 in bf16,
  // and 256 is even; 11 + 246 + 2 = 259 is between 258 and 260, whose half is
  // even.
  R = runOp("matmul",
            {bf16({2, 3}, A.Data), bf16({3, 2}, B.Data), bf16({2}, {1, 2}),
             bf16({2, 2}, {251, 246, 0, 0})},
            {bf16({2, 2})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {256, 260, 15, 25});
}

TEST(Matmul, Transposes) {
  Array At = f32({3, 2}, {1, 4, 2, 5, 3, 6});
  Array Bt = f32({2, 3}, {1, 2, 0, 0, 1, 3});
  for (bool L : {false, true})
    for (bool R : {false, true}) {
      Attrs List;
      if (L)
        List.push_back(flag("transpose_lhs"));
      if (R)
        List.push_back(flag("transpose_rhs"));
      auto Out = runOp("matmul", {L ? At : A, R ? Bt : B, std::nullopt},
                       {f32({2, 2})}, List);
      ASSERT_EQ(Out.size(), 1u);
      expectNear(Out[0], Product);
    }
}

TEST(Matmul, Batches) {
  Array X = f32({2, 1, 2}, {1, 2, 3, 4});
  auto Both = runOp("matmul", {X, f32({2, 2, 1}, {1, 1, 2, 2}), std::nullopt},
                    {f32({2, 1, 1})});
  auto Shared = runOp("matmul", {X, f32({2, 1}, {1, 10}), std::nullopt},
                      {f32({2, 1, 1})});
  auto SharedLhs =
      runOp("matmul",
            {f32({1, 2}, {1, 10}), f32({2, 2, 1}, {1, 2, 3, 4}), std::nullopt},
            {f32({2, 1, 1})});
  ASSERT_EQ(Both.size() + Shared.size() + SharedLhs.size(), 3u);
  expectNear(Both[0], {3, 14});
  expectNear(Shared[0], {21, 43});
  expectNear(SharedLhs[0], {21, 43});
}

/// The product in f64.
std::vector<double> multiply(const Array &X, const Array &Y, int64_t M,
                             int64_t N, int64_t K) {
  std::vector<double> Out(M * N);
  for (int64_t I = 0; I < M; ++I)
    for (int64_t J = 0; J < N; ++J)
      for (int64_t L = 0; L < K; ++L)
        Out[I * N + J] += X.Data[I * K + L] * Y.Data[L * N + J];
  return Out;
}

TEST(Matmul, SeveralTilesAndTypes) {
  // More than a tile in both directions, more than a block of the sum.
  int64_t M = 131, N = 515, K = 1030;
  for (DType Type : {DType::F32, DType::BF16, DType::F16}) {
    Array X = randomArray(Type, {M, K}, 5), Y = randomArray(Type, {K, N}, 6);
    std::vector<double> Exact = multiply(X, Y, M, N, K), First;
    for (unsigned Threads : {1u, 3u}) {
      RunSetup Setup;
      Setup.Threads = Threads;
      auto R = runOp("matmul", {X, Y, std::nullopt}, {f32({M, N})}, {}, Setup);
      ASSERT_EQ(R.size(), 1u);
      if (First.empty()) {
        First = R[0].Data;
        for (size_t I = 0; I < Exact.size(); ++I)
          ASSERT_NEAR(First[I], Exact[I], 2e-3);
      }
      EXPECT_EQ(R[0].Data, First) << "depends on the threads";
    }
  }
}

TEST(Matmul, AddendOfSeveralTiles) {
  int64_t M = 5, N = 515, K = 1030;
  for (DType Type : {DType::F32, DType::BF16}) {
    Array X = randomArray(Type, {M, K}, 5), Y = randomArray(Type, {K, N}, 6);
    Array Z = randomArray(DType::F32, {M, N}, 7);
    std::vector<double> Exact = multiply(X, Y, M, N, K), First;
    for (unsigned Threads : {1u, 3u}) {
      RunSetup Setup;
      Setup.Threads = Threads;
      auto R =
          runOp("matmul", {X, Y, std::nullopt, Z}, {f32({M, N})}, {}, Setup);
      ASSERT_EQ(R.size(), 1u);
      if (First.empty()) {
        First = R[0].Data;
        for (size_t I = 0; I < Exact.size(); ++I)
          ASSERT_NEAR(First[I], Exact[I] + Z.Data[I], 2e-3);
      }
      EXPECT_EQ(R[0].Data, First) << "depends on the threads";
    }
  }
}

TEST(Matmul, RoundsOnce) {
  // 256 + 1 + 1 = 258, which bf16 holds; a sum in bf16 would stay 256.
  auto R = runOp(
      "matmul",
      {bf16({1, 3}, {256, 1, 1}), bf16({3, 1}, {1, 1, 1}), bf16({1}, {0})},
      {bf16({1, 1})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {258});
}

TEST(Matmul, Checks) {
  auto Check = [](Array L, Array R, std::optional<Array> Bias, Array Out) {
    return checkOp("matmul", {L, R, Bias}, {Out});
  };
  EXPECT_EQ(Check(A, B, std::nullopt, f32({2, 2})), "");
  EXPECT_EQ(Check(bf16({2, 3}), bf16({3, 2}), std::nullopt, f32({2, 2})), "");
  EXPECT_NE(Check(A, A, std::nullopt, f32({2, 3})), "");
  EXPECT_NE(Check(A, B, f32({3}), f32({2, 2})), "");
  EXPECT_NE(Check(A, B, std::nullopt, f32({2, 3})), "");
  EXPECT_NE(Check(A, B, std::nullopt, bf16({2, 2})), "");
  EXPECT_NE(Check(A, bf16({3, 2}), std::nullopt, f32({2, 2})), "");
  EXPECT_NE(Check(f32({3}), f32({3, 2}), std::nullopt, f32({2})), "");
  EXPECT_NE(Check(f32({2, 1, 3}), f32({3, 3, 1}), std::nullopt, f32({2, 1, 1})),
            "");
  EXPECT_NE(checkOp("matmul", {A, B}, {f32({2, 2})}), "");
  auto CheckAddend = [](const Array &Addend) {
    return checkOp("matmul", {A, B, std::nullopt, Addend}, {f32({2, 2})});
  };
  EXPECT_EQ(CheckAddend(f32({2, 2})), "");
  EXPECT_NE(CheckAddend(f32({2})), "");
  EXPECT_NE(CheckAddend(bf16({2, 2})), "");
}

} // namespace
