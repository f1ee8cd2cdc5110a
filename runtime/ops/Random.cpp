//===- Random.cpp - blocks of random numbers ------------------------------===//

#include "ops/Random.h"

using namespace remat::runtime;

float remat::runtime::drawUniform(const PhiloxStream &Stream, int64_t Element) {
  return PhiloxStream::toUniform(Stream.getBlock(Element / 4)[Element % 4]);
}

static float drawNormal(const PhiloxStream &Stream, int64_t Element) {
  auto Words = Stream.getBlock(Element / 4);
  unsigned Pair = Element % 4 / 2 * 2;
  return PhiloxStream::toNormal(Words[Pair], Words[Pair + 1])[Element % 2];
}

/// A run of neighbours that begins with a whole block of four.
static int64_t drawFours(const PhiloxStream &Stream, bool Normal,
                         int64_t Element, int64_t Run, float *Out) {
  int64_t Done = 0;
  for (; Done + 4 <= Run; Done += 4) {
    auto Words = Stream.getBlock((Element + Done) / 4);
    for (int J = 0; J < 4; J += 2) {
      std::array<float, 2> Pair =
          Normal ? PhiloxStream::toNormal(Words[J], Words[J + 1])
                 : std::array<float, 2>{PhiloxStream::toUniform(Words[J]),
                                        PhiloxStream::toUniform(Words[J + 1])};
      Out[Done + J] = Pair[0];
      Out[Done + J + 1] = Pair[1];
    }
  }
  return Done;
}

void remat::runtime::drawBlock(const PhiloxStream &Stream, bool Normal,
                               const Walk &W, int64_t First, int64_t Count,
                               float *Out) {
  W.forRuns(First, Count,
            [&](int64_t Element, int64_t Stride, int64_t Done, int64_t Run) {
              int64_t I = 0;
              if (Stride == 1 && Element % 4 == 0)
                I = drawFours(Stream, Normal, Element, Run, Out + Done);
              for (; I < Run; ++I)
                Out[Done + I] = Normal
                                    ? drawNormal(Stream, Element + I * Stride)
                                    : drawUniform(Stream, Element + I * Stride);
            });
}

Status remat::runtime::checkProbability(double P) {
  REMAT_REQUIRE(P >= 0 && P <= 1, "has a probability of " + std::to_string(P) +
                                      ", outside [0, 1]");
  return {};
}
