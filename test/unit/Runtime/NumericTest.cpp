//===- NumericTest.cpp - conversions of element types ---------------------===//

#include "ops/Numeric.h"
#include "ops/Scalar.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace remat::runtime;

namespace {

/// The value of a 16-bit float with that many mantissa bits, by definition.
double valueOf(uint16_t Bits, int MantissaBits) {
  int ExponentBits = 15 - MantissaBits, Bias = (1 << (ExponentBits - 1)) - 1;
  int Exponent = (Bits & 0x7fff) >> MantissaBits;
  int Mantissa = Bits & ((1 << MantissaBits) - 1);
  double Sign = Bits & 0x8000 ? -1 : 1;
  if (Exponent == (1 << ExponentBits) - 1)
    return Mantissa ? NAN : Sign * INFINITY;
  double Fraction = std::ldexp(Mantissa, -MantissaBits);
  return Sign * (Exponent ? std::ldexp(1 + Fraction, Exponent - Bias)
                          : std::ldexp(Fraction, 1 - Bias));
}

template <typename T> void testAllBits(int MantissaBits) {
  for (uint32_t Bits = 0; Bits < 0x10000; ++Bits) {
    double Expected = valueOf(static_cast<uint16_t>(Bits), MantissaBits);
    float Wide = widen(T{static_cast<uint16_t>(Bits)});
    if (std::isnan(Expected)) {
      EXPECT_TRUE(std::isnan(Wide));
      EXPECT_TRUE(std::isnan(widen(narrow<T>(Wide))));
      continue;
    }
    ASSERT_EQ(Wide, Expected) << Bits;
    ASSERT_EQ(narrow<T>(Wide).Bits, Bits);
  }
}

/// Halfway between neighbours goes to the even one; a little more or less to
/// the nearer one.
template <typename T> void testRounding(uint16_t Largest) {
  for (uint16_t Bits = 0; Bits < Largest; ++Bits) {
    double Low = widen(T{Bits}), High = widen(T{uint16_t(Bits + 1)});
    auto Half = static_cast<float>((Low + High) / 2);
    ASSERT_EQ(narrow<T>(Half).Bits, Bits % 2 ? Bits + 1 : Bits);
    ASSERT_EQ(narrow<T>(std::nextafter(Half, -1.0f)).Bits, Bits);
    ASSERT_EQ(narrow<T>(std::nextafter(Half, INFINITY)).Bits, Bits + 1);
    ASSERT_EQ(narrow<T>(-Half).Bits, narrow<T>(Half).Bits | 0x8000);
  }
}

/// All 256 codes: 1.mmm * 2^(e - 7), 0.mmm * 2^-6 where e is 0; all ones is the
/// only NaN, and there is no infinity.
TEST(Numeric, Float8E4M3FN) {
  for (uint32_t Code = 0; Code < 0x100; ++Code) {
    int Exponent = (Code >> 3) & 15, Mantissa = Code & 7;
    float Wide = widen(Float8E4M3FN{static_cast<uint8_t>(Code)});
    if ((Code & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(Wide));
      EXPECT_EQ(narrow<Float8E4M3FN>(Wide).Bits, Code);
      continue;
    }
    double Value = Exponent ? std::ldexp(8 + Mantissa, Exponent - 10)
                            : std::ldexp(Mantissa, -9);
    ASSERT_EQ(Wide, Code & 0x80 ? -Value : Value) << Code;
    ASSERT_EQ(std::signbit(Wide), Code >= 0x80);
    ASSERT_EQ(narrow<Float8E4M3FN>(Wide).Bits, Code);
  }
  for (uint8_t Code = 0; Code < 0x7e; ++Code) {
    float Low = widen(Float8E4M3FN{Code});
    float High = widen(Float8E4M3FN{uint8_t(Code + 1)}),
          Half = (Low + High) / 2;
    ASSERT_EQ(narrow<Float8E4M3FN>(Half).Bits, Code % 2 ? Code + 1 : Code);
    ASSERT_EQ(narrow<Float8E4M3FN>(std::nextafter(Half, -1.0f)).Bits, Code);
    ASSERT_EQ(narrow<Float8E4M3FN>(std::nextafter(Half, 1e9f)).Bits, Code + 1);
  }
  for (float Large :
       {std::nextafter(448.0f, 500.0f), 464.0f, 480.0f, 1e30f, INFINITY}) {
    EXPECT_EQ(narrow<Float8E4M3FN>(Large).Bits, 0x7e);
    EXPECT_EQ(narrow<Float8E4M3FN>(-Large).Bits, 0xfe);
  }
}

TEST(Numeric, BFloat16) {
  testAllBits<BFloat16>(7);
  testRounding<BFloat16>(0x7f7f);
  EXPECT_EQ(narrow<BFloat16>(3.4e38f).Bits, 0x7f80) << "to infinity";
}

TEST(Numeric, Float16) {
  testAllBits<Float16>(10);
  testRounding<Float16>(0x7bff);
  EXPECT_EQ(narrow<Float16>(65519.0f).Bits, 0x7bff);
  EXPECT_EQ(narrow<Float16>(65520.0f).Bits, 0x7c00);
  EXPECT_EQ(narrow<Float16>(1e30f).Bits, 0x7c00);
}

TEST(Numeric, SumsByChunksAreTheSameAsAtOnce) {
  std::mt19937 Generator(1);
  std::vector<double> X(3 * SumChunk + 77);
  for (double &V : X)
    V = double(Generator()) - 2e9;
  double Parts = 0;
  for (int64_t First = 0; First < int64_t(X.size()); First += SumChunk)
    Parts += sumChunk(std::min<int64_t>(SumChunk, X.size() - First),
                      [&](int64_t I) { return X[First + I]; });
  EXPECT_EQ(sum(X.size(), [&](int64_t I) { return X[I]; }), Parts);
}

TEST(Walk, BroadcastFindsEveryElement) {
  std::mt19937 Generator(2);
  for (int Round = 0; Round < 200; ++Round) {
    std::vector<int64_t> Space, Shape;
    for (unsigned I = 0, Rank = Generator() % 5; I < Rank; ++I)
      Space.push_back(1 + Generator() % 4);
    size_t Drop = Generator() % (Space.size() + 1);
    for (size_t I = Drop; I < Space.size(); ++I)
      Shape.push_back(Generator() % 2 ? Space[I] : 1);
    Walk W = Walk::broadcast(Shape, Space);
    int64_t Total = 1;
    for (int64_t Dim : Space)
      Total *= Dim;
    std::vector<int64_t> Expected(Total), Found(Total, -1);
    for (int64_t I = 0; I < Total; ++I) {
      int64_t Rest = I, Stride = 1;
      for (size_t D = Space.size(); D-- > 0; Rest /= Space[D])
        if (D >= Drop) {
          int64_t Dim = Shape[D - Drop];
          Expected[I] += Dim == 1 ? 0 : Rest % Space[D] * Stride;
          Stride *= Dim;
        }
      EXPECT_EQ(W.locate(I), Expected[I]);
    }
    int64_t First = Generator() % Total,
            Count = 1 + Generator() % (Total - First);
    W.forRuns(First, Count,
              [&](int64_t Element, int64_t Step, int64_t Done, int64_t Run) {
                for (int64_t I = 0; I < Run; ++I)
                  Found[First + Done + I] = Element + I * Step;
              });
    for (int64_t I = First; I < First + Count; ++I)
      EXPECT_EQ(Found[I], Expected[I]);
  }
}

} // namespace
