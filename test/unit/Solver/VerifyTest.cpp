//===- VerifyTest.cpp - Plans and problems broken on purpose --------------===//
#include "remat/Solver/Recompute.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace remat::solver;

namespace {

/// w -> a -> b -> loss -> db(a) -> da(w), and an update that runs once.
///   bytes: w 8 resident, x 10, y 20, s 4, l 2, g 20 (reuses y), d 10, v: alias
///   of x.
struct Net {
  Problem P;
  ValueId W, X, V, Y, S, L, G, D;
  OpId A, View, B, Loss, Back, Down, Update;

  Net() {
    W = P.addResident("w", 8);
    A = P.addOp("a", 5, {W});
    X = P.addOutput(A, "x", 10);
    View = P.addOp("view", 0, {X});
    V = P.addOutput(View, "v", 0);
    P.Values[V].Alias = X;
    B = P.addOp("b", 7, {V}, /*Workspace=*/6);
    Y = P.addOutput(B, "y", 20);
    S = P.addOutput(B, "s", 4);
    Loss = P.addOp("loss", 1, {Y});
    L = P.addOutput(Loss, "l", 2);
    Back = P.addOp("back", 9, {Y, S, L});
    P.Ops[Back].Choices = {{"fast", 9, 30}, {"lean", 12, 0}};
    G = P.addOutput(Back, "g", 20);
    P.Values[G].Reuses = Y;
    Down = P.addOp("down", 4, {G, X});
    D = P.addOutput(Down, "d", 10);
    Update = P.addOp("update", 1, {D, W});
    P.Ops[Update].Once = true;
    P.Results = {L};
  }
  Plan plan(std::vector<Step> S) { return {std::move(S)}; }
  Plan base() {
    return plan({{A, 0},
                 {View, 0},
                 {B, 0},
                 {Loss, 0},
                 {Back, 1},
                 {Down, 0},
                 {Update, 0}});
  }
};

TEST(Verify, CountsEveryByteOfABasePlan) {
  Net N;
  VerifyResult R = verify(N.P, N.base(), 100);
  ASSERT_TRUE(R.Ok) << R.Error;
  // a: w+x; view: the same; b: w+x+y+s+workspace; loss: w+x+y+s+l;
  // back: w+x+y+s+l, g in place of y; down: w+x+l+g+d; update: w+l+d.
  EXPECT_EQ(R.Memory, (std::vector<int64_t>{18, 18, 48, 44, 44, 50, 20}));
  EXPECT_EQ(R.Peak, 50);
  EXPECT_EQ(R.PeakStep, 5);
  EXPECT_EQ(R.LiveAtPeak, (std::vector<ValueId>{N.G, N.X, N.D, N.W, N.L}));
  EXPECT_DOUBLE_EQ(R.Time, 30);
}

TEST(Verify, RecomputationShortensTheFirstLife) {
  Net N;
  // x is not held from b to down: a runs again.
  Plan S = N.plan({{N.A, 0},
                   {N.View, 0},
                   {N.B, 0},
                   {N.Loss, 0},
                   {N.Back, 1},
                   {N.A, 0},
                   {N.Down, 0},
                   {N.Update, 0}});
  VerifyResult R = verify(N.P, S, 100);
  ASSERT_TRUE(R.Ok) << R.Error;
  EXPECT_EQ(R.Memory, (std::vector<int64_t>{18, 18, 48, 34, 34, 40, 50, 20}));
  EXPECT_EQ(releasesOf(N.P, S),
            (std::vector<std::vector<ValueId>>{
                {}, {}, {N.X}, {}, {N.S}, {}, {N.G, N.X}, {N.D}}));
}

TEST(Verify, AnAliasHoldsItsStorage) {
  Net N;
  // v is read again at the end: x's bytes stay, although x itself is not read.
  OpId Late = N.P.addOp("late", 1, {N.V});
  N.P.addOutput(Late, "z", 1);
  Plan S = N.base();
  S.Sequence.push_back({Late, 0});
  VerifyResult R = verify(N.P, S, 100);
  ASSERT_TRUE(R.Ok) << R.Error;
  EXPECT_EQ(R.Memory.back(), 8 + 2 + 10 + 1);
}

TEST(Verify, AnUpdateInPlaceOfAResidentIsFree) {
  Problem P;
  ValueId W = P.addResident("w", 8);
  OpId Use = P.addOp("use", 1, {W});
  ValueId G = P.addOutput(Use, "g", 5);
  OpId Update = P.addOp("update", 1, {W, G});
  ValueId New = P.addOutput(Update, "w.new", 8);
  P.Values[New].Reuses = W;
  P.Results = {New};
  EXPECT_EQ(verify(P, basePlan(P), 100).Peak, 13);
  // Read once more after the update: the update must not overwrite it.
  P.addOp("late", 1, {W});
  EXPECT_EQ(verify(P, basePlan(P), 100).Peak, 8 + 5 + 8);
}

/// Each breaks a plan or its problem in one way and names the words that the
/// error must hold.
struct Broken {
  const char *Name;
  void (*Break)(Net &, Plan &, int64_t &Budget);
  const char *Says;
};

const Broken Cases[] = {
    {"op left out", [](Net &, Plan &S, int64_t &) { S.Sequence.pop_back(); },
     "'update' never runs"},
    {"empty", [](Net &, Plan &S, int64_t &) { S.Sequence.clear(); },
     "never runs"},
    {"unknown op", [](Net &, Plan &S, int64_t &) { S.Sequence[2].Op = 99; },
     "step 2 names an unknown op"},
    {"negative op", [](Net &, Plan &S, int64_t &) { S.Sequence[2].Op = -1; },
     "step 2 names an unknown op"},
    {"unknown choice",
     [](Net &, Plan &S, int64_t &) { S.Sequence[4].Choice = 2; },
     "names choice 2 of 2"},
    {"choice of an op without",
     [](Net &, Plan &S, int64_t &) { S.Sequence[0].Choice = 1; },
     "names choice 1 of 1"},
    {"negative choice",
     [](Net &, Plan &S, int64_t &) { S.Sequence[0].Choice = -1; },
     "names choice -1"},
    {"read before made",
     [](Net &, Plan &S, int64_t &) { std::swap(S.Sequence[2], S.Sequence[3]); },
     "step 2 ('loss') reads 'y'"},
    {"alias before its storage",
     [](Net &, Plan &S, int64_t &) { std::swap(S.Sequence[0], S.Sequence[1]); },
     "step 0 ('view') reads 'x'"},
    {"reversed",
     [](Net &, Plan &S, int64_t &) {
       std::reverse(S.Sequence.begin(), S.Sequence.end());
     },
     "not made before"},
    {"once twice",
     [](Net &N, Plan &S, int64_t &) { S.Sequence.push_back({N.Update, 0}); },
     "may run only once"},
    {"must be kept",
     [](Net &N, Plan &S, int64_t &) {
       N.P.Values[N.X].Policy = Keep::Must;
       S.Sequence.insert(S.Sequence.begin() + 5, {N.A, 0});
     },
     "recomputes a value that must be kept"},
    {"kept beyond the turn",
     [](Net &N, Plan &, int64_t &) {
       N.P.Values[N.X].Policy = Keep::Never;
       N.P.Values[N.S].Bytes = 40;
     },
     "reads 'x', which must not be kept"},
    {"runs again after what runs after it",
     [](Net &N, Plan &S, int64_t &) {
       N.P.addAfter(N.Back, N.A);
       S.Sequence.insert(S.Sequence.begin() + 5, {N.A, 0});
     },
     "step 4 ('back') runs before step 5 ('a'), but must run after every "
     "instance of 'a'"},
    {"runs before what it runs after",
     [](Net &N, Plan &S, int64_t &) {
       N.P.addAfter(N.Down, N.Loss);
       N.P.Ops[N.Loss].Inputs = {};
       N.P.Ops[N.Back].Inputs = {N.Y, N.S};
       std::rotate(S.Sequence.begin() + 3, S.Sequence.begin() + 4,
                   S.Sequence.begin() + 6);
     },
     "step 4 ('down') runs before step 5 ('loss'), but must run after every "
     "instance of 'loss'"},
    {"over budget by one byte",
     [](Net &, Plan &, int64_t &Budget) { Budget = 49; },
     "needs 50 bytes at step 5 ('down'), the budget is 49"},
    {"fast kernel's workspace",
     [](Net &, Plan &S, int64_t &Budget) {
       S.Sequence[4].Choice = 0;
       Budget = 73;
     },
     "needs 74 bytes"},
    {"workspace counts",
     [](Net &N, Plan &, int64_t &Budget) {
       N.P.Ops[N.B].Workspace = 60;
       Budget = 101;
     },
     "needs 102 bytes"},
    {"storage not free to take",
     [](Net &N, Plan &S, int64_t &Budget) {
       // y is read after back: g cannot take its place.
       OpId Late = N.P.addOp("late", 1, {N.Y});
       S.Sequence.push_back({Late, 0});
       Budget = 63;
     },
     "needs 70 bytes"},
    {"resident counts",
     [](Net &N, Plan &, int64_t &Budget) {
       N.P.addResident("m", 1);
       Budget = 50;
     },
     "needs 51 bytes"},
    {"result lives to the end",
     [](Net &N, Plan &, int64_t &Budget) {
       N.P.Results.push_back(N.S);
       Budget = 53;
     },
     "needs 54 bytes"},
    {"recomputed without its input",
     [](Net &N, Plan &S, int64_t &) {
       S.Sequence.insert(S.Sequence.begin(), {N.View, 0});
     },
     "step 0 ('view') reads 'x'"},
    {"negative budget", [](Net &, Plan &, int64_t &Budget) { Budget = -1; },
     "the budget is -1"},
    {"malformed problem",
     [](Net &N, Plan &, int64_t &) { N.P.Values[N.X].Bytes = -1; },
     "the problem is malformed"},
    {"bytes overflow",
     [](Net &N, Plan &, int64_t &) { N.P.Values[N.X].Bytes = INT64_MAX; },
     "the total exceeds"},
};

TEST(Verify, RefusesEveryBrokenPlan) {
  for (const Broken &C : Cases) {
    SCOPED_TRACE(C.Name);
    Net N;
    Plan S = N.base();
    int64_t Budget = 100;
    ASSERT_TRUE(verify(N.P, S, Budget).Ok);
    C.Break(N, S, Budget);
    VerifyResult R = verify(N.P, S, Budget);
    EXPECT_FALSE(R.Ok);
    EXPECT_NE(R.Error.find(C.Says), std::string::npos) << R.Error;
  }
  EXPECT_GE(std::size(Cases), 20u);
}

TEST(Check, NamesWhatIsWrong) {
  auto says = [](void (*Break)(Net &), const char *Words) {
    Net N;
    ASSERT_FALSE(check(N.P));
    Break(N);
    std::optional<std::string> Bad = check(N.P);
    ASSERT_TRUE(Bad) << Words;
    EXPECT_NE(Bad->find(Words), std::string::npos) << *Bad;
  };
  says([](Net &N) { N.P.Ops[N.A].Inputs = {N.D}; }, "the ops form a cycle");
  says([](Net &N) { std::swap(N.P.Ops[N.A].Inputs, N.P.Ops[N.B].Inputs); },
       "op 'a' reads 'v'");
  says([](Net &N) { N.P.Ops[N.A].Inputs = {77}; }, "reads an unknown value");
  says([](Net &N) { N.P.Ops[N.A].Outputs.push_back(N.Y); }, "two producers");
  says([](Net &N) { N.P.Ops[N.A].Name = "b"; }, "two ops are named 'b'");
  says([](Net &N) { N.P.Values[N.X].Name = "y"; }, "two values are named 'y'");
  says([](Net &N) { N.P.Ops[N.A].Time = -1; }, "op 'a' has a time");
  says([](Net &N) { N.P.Ops[N.A].Time = 1e300; }, "op 'a' has a time");
  says([](Net &N) { N.P.Ops[N.A].Workspace = -5; }, "workspace of -5");
  says([](Net &N) { N.P.Values[N.G].Reuses = N.X; }, "no input of op 'back'");
  says([](Net &N) { N.P.Values[N.V].Reuses = N.X; }, "reuses and aliases");
  says([](Net &N) { N.P.Results = {N.L, N.L}; }, "name 'l' twice");
  says([](Net &N) { N.P.Values[N.L].Policy = Keep::Never; }, "result 'l'");
  says([](Net &N) { N.P.Ops[N.B].After = {7}; }, "'b' runs after an unknown");
  says([](Net &N) { N.P.Ops[N.B].After = {-1}; }, "'b' runs after an unknown");
  says([](Net &N) { N.P.addAfter(N.B, N.B); }, "'b' must run after itself");
  says([](Net &N) { N.P.addAfter(N.A, N.Down); },
       "op 'a' must run after op 'down', which depends on it: the ops form a "
       "cycle");
  says(
      [](Net &N) {
        N.P.Ops[N.Loss].Inputs = {};
        N.P.addAfter(N.B, N.Loss);
      },
      "op 'b' must run after op 'loss', which stands later: the order is not "
      "valid");
  // A circle of reads and entries.
  says(
      [](Net &N) {
        N.P.Ops[N.Loss].Inputs = {};
        N.P.addAfter(N.Loss, N.View);
        N.P.addAfter(N.A, N.Loss);
      },
      "op 'a' must run after op 'loss', which depends on it");
  says(
      [](Net &N) {
        N.P.Values[N.X].Policy = Keep::Never;
        N.P.addAfter(N.B, N.A);
      },
      "value 'x' must never be kept, but op 'a' may not run again after op "
      "'b', which comes no later than the turn, op 'down'");
}

} // namespace
