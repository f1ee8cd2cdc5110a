//===- LocalSearchTest.cpp - What a repair can do -------------------------===//
#include "LocalSearch.h"

#include <gtest/gtest.h>

using namespace remat::solver;

namespace {

/// The peak that a repair reaches without random choices before it gives up.
int64_t repaired(const Model &M, int64_t Limit) {
  SolveOptions O;
  Watch D(O);
  Schedule S(M, emitKept(M, baseOrder(M)), Limit);
  LocalSearch L(S, 1, D);
  L.WorkLimit = 1'000;
  L.repair(10);
  VerifyResult V = verify(M.P, S.plan(), INT64_MAX);
  EXPECT_TRUE(V.Ok) << V.Error;
  return V.Peak;
}

/// m (50) -> c (100), m -> s (100); p (100) from c and s may take over c, which
/// q reads once more, after p. In the base order all three stand together: 300.
/// With m kept, p in the place of c and c made again after: 50 + 100 + 100.
TEST(LocalSearch, AnOutputTakesOverWhatIsReadLaterAndMadeAgain) {
  for (bool InPlace : {true, false}) {
    Problem P;
    ValueId MV = P.addOutput(P.addOp("m", 1, {}), "m", 50);
    ValueId C = P.addOutput(P.addOp("c", 1, {MV}), "c", 100);
    ValueId SV = P.addOutput(P.addOp("s", 1, {MV}), "s", 100);
    ValueId PV = P.addOutput(P.addOp("p", 1, {C, SV}), "p", 100);
    if (InPlace)
      P.Values[PV].Reuses = C;
    ValueId T = P.addOutput(P.addOp("t", 1, {PV}), "t", 0);
    ValueId Q = P.addOutput(P.addOp("q", 1, {C, T}), "q", 0);
    P.Results = {Q};
    Model M(P);
    EXPECT_EQ(measure(M, emitKept(M, baseOrder(M))).Peak, 300);
    EXPECT_EQ(repaired(M, 250), InPlace ? 250 : 300);
  }
}

} // namespace
