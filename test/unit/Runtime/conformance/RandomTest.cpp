//===- RandomTest.cpp - random numbers and dropout ------------------------===//

#include "TestProgram.h"
#include "remat/runtime/Philox.h"
#include <cmath>

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  // From the authors' test vectors (Random123, kat_vectors).
  EXPECT_EQ(runPhilox({0, 0, 0, 0}, 0, 0),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t F = 0xffffffff;
  EXPECT_EQ(runPhilox({F, F, F, F}, F, F),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(runPhilox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                      0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, CounterOfAStream) {
  uint64_t Seed = 0x1122334455667788, Id = 0x99aabbccddeeff00, Step = 5;
  uint64_t Block = 0x300000007;
  EXPECT_EQ(
      PhiloxStream(Seed, Id, Step).getBlock(Block),
      runPhilox({7, 3 ^ 0x99aabbcc, 0xddeeff00, 5}, 0x55667788, 0x11223344));
}

std::vector<double> draw(const std::string &Kind, int64_t Count, int64_t Id,
                         int64_t Seed = 3, int64_t Step = 9) {
  auto R =
      runOp("random", {i64({}, {double(Seed)}), i64({}, {double(Step)})},
            {f32({Count})}, {text("distribution", Kind), ints("id", {Id})});
  return R.empty() ? std::vector<double>() : R[0].Data;
}

TEST(Random, UniformIsTheDocumentedWord) {
  std::vector<double> U = draw("uniform", 4099, 17);
  ASSERT_EQ(U.size(), 4099u);
  for (uint64_t I : {0, 1, 2, 3, 4, 1023, 1024, 4098})
    EXPECT_EQ(U[I], (PhiloxStream(3, 17, 9).getBlock(I / 4)[I % 4] >> 8) *
                        std::pow(2.0, -24));
}

TEST(Random, NormalPairs) {
  std::vector<double> N = draw("normal", 6, 17);
  ASSERT_EQ(N.size(), 6u);
  for (uint64_t I = 0; I < 6; ++I) {
    auto W = PhiloxStream(3, 17, 9).getBlock(I / 4);
    double U0 = (W[I % 4 / 2 * 2] >> 8) * std::pow(2.0, -24);
    double U1 = (W[I % 4 / 2 * 2 + 1] >> 8) * std::pow(2.0, -24);
    double R = std::sqrt(-2 * std::log(1 - U0)), Angle = 2 * M_PI * U1;
    EXPECT_NEAR(N[I], I % 2 ? R * std::sin(Angle) : R * std::cos(Angle), 1e-5);
  }
}

TEST(Random, Moments) {
  double Mean = 0, Square = 0;
  std::vector<double> N = draw("normal", 100000, 1);
  ASSERT_EQ(N.size(), 100000u);
  for (double X : N)
    Mean += X / 1e5, Square += X * X / 1e5;
  EXPECT_NEAR(Mean, 0, 0.015);
  EXPECT_NEAR(Square, 1, 0.02);
}

TEST(Random, StreamsDiffer) {
  auto Base = draw("uniform", 64, 1);
  EXPECT_EQ(Base, draw("uniform", 64, 1));
  EXPECT_NE(Base, draw("uniform", 64, 2));
  EXPECT_NE(Base, draw("uniform", 64, 1, 4));
  EXPECT_NE(Base, draw("uniform", 64, 1, 3, 10));
}

TEST(Dropout, KeepsWhatIsAtLeastP) {
  int64_t Count = 20000;
  std::vector<double> U = draw("uniform", Count, 5), Ones(Count, 3.0);
  RunSetup InPlace;
  InPlace.InPlace = {0, 0};
  for (const RunSetup &Setup : {RunSetup(), InPlace}) {
    auto R = runOp("dropout", {f32({Count}, Ones), i64({}, {3}), i64({}, {9})},
                   {f32({Count})}, {number("p", 0.25), ints("id", {5})}, Setup);
    ASSERT_EQ(R.size(), 1u);
    int64_t Kept = 0;
    for (int64_t I = 0; I < Count; ++I) {
      EXPECT_EQ(R[0].Data[I], U[I] >= 0.25 ? 4.0 : 0.0);
      Kept += R[0].Data[I] != 0;
    }
    EXPECT_NEAR(double(Kept) / double(Count), 0.75, 0.01);
  }
}

TEST(Dropout, Limits) {
  for (double P : {0.0, 1.0}) {
    auto R = runOp("dropout", {f32({2}, {1, 2}), i64({}, {0}), i64({}, {0})},
                   {f32({2})}, {number("p", P)});
    ASSERT_EQ(R.size(), 1u);
    expectNear(R[0],
               P == 0 ? std::vector<double>{1, 2} : std::vector<double>{0, 0});
  }
  for (double P : {-0.1, 1.1, double(NAN)})
    EXPECT_NE(checkOp("dropout", {f32({2}), i64({}), i64({})}, {f32({2})},
                      {number("p", P)}),
              "");
}

} // namespace
