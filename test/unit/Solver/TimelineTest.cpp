//===- TimelineTest.cpp - A timeline against a plain list -----------------===//
#include "Search/Timeline.h"
#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

/// What a timeline says, told from a list of nodes and their bytes.
struct Plain {
  std::vector<int32_t> Nodes;
  std::vector<int64_t> Bytes;

  /// The place of the first node with the most bytes from a place to before
  /// another one.
  size_t fullest(size_t Begin, size_t End) const {
    return std::max_element(Bytes.begin() + Begin, Bytes.begin() + End) -
           Bytes.begin();
  }
  /// The node with the fewest bytes of those that are looked at, outwards.
  int32_t quietest(int At, int Step, int Reach) const {
    int Best = -1;
    for (int I = At + Step; Reach-- > 0 && I > 0 && I + 1 < int(Nodes.size());
         I += Step)
      if (Best < 0 || Bytes[I] < Bytes[Best])
        Best = I;
    return Best < 0 ? -1 : Nodes[Best];
  }
};

void expectSame(const Timeline &T, const Plain &X, int64_t Limit, Rng &R) {
  size_t N = X.Nodes.size();
  ASSERT_EQ(T.nodes(), X.Nodes);
  ASSERT_EQ(size_t(T.size()), N);
  EXPECT_EQ(T.area(), std::accumulate(X.Bytes.begin(), X.Bytes.end(), 0.0));
  for (size_t I = 0; I < N; ++I) {
    ASSERT_EQ(T.bytesAt(X.Nodes[I]), X.Bytes[I]);
    EXPECT_EQ(T.next(X.Nodes[I]), I + 1 < N ? X.Nodes[I + 1] : -1);
    EXPECT_EQ(T.prev(X.Nodes[I]), I > 0 ? X.Nodes[I - 1] : -1);
  }
  size_t Peak = X.fullest(0, N);
  EXPECT_EQ(T.peak(), X.Bytes[Peak]);
  EXPECT_EQ(T.peakNode(), X.Nodes[Peak]);
  EXPECT_EQ(T.overflow() > 0, X.Bytes[Peak] > Limit);
  int32_t Over = T.overNode(uint32_t(R.below(8)));
  EXPECT_EQ(Over >= 0, X.Bytes[Peak] > Limit);
  if (Over >= 0)
    EXPECT_GT(T.bytesAt(Over), Limit);
  size_t A = R.below(int(N)), B = A + R.below(int(N - A));
  size_t Most = X.fullest(A, B + 1);
  EXPECT_EQ(T.fullestBetween(X.Nodes[A], X.Nodes[B]), X.Nodes[Most]);
  EXPECT_EQ(T.maxBetween(X.Nodes[A], X.Nodes[B]), X.Bytes[Most]);
  EXPECT_EQ(T.before(X.Nodes[A], X.Nodes[B]), A < B);
  int Reach = R.below(2 * int(N)), At = int(A);
  EXPECT_EQ(T.quietest(X.Nodes[A], true, Reach), X.quietest(At, 1, Reach));
  EXPECT_EQ(T.quietest(X.Nodes[A], false, Reach), X.quietest(At, -1, Reach));
  Timeline Less = T;
  int64_t Bytes = R.below(60);
  Less.add(X.Nodes[A], X.Nodes[B], -Bytes);
  EXPECT_LE(T.overflow() - Less.overflow(),
            T.overWithin(X.Nodes[A], X.Nodes[B], Bytes));
}

/// Inserts, erases and adds at random, up to about so many nodes: for the most
/// part inserts at first and erases at last, so that blocks come and go.
void changeAtRandom(int Size, uint64_t Seed) {
  constexpr int64_t Limit = 60;
  Rng R(Seed);
  Timeline T(Size / 4, Limit);
  Plain X;
  std::vector<int32_t> Free(Size);
  std::iota(Free.rbegin(), Free.rend(), 0);
  auto Insert = [&] {
    size_t At = R.below(int(X.Nodes.size()) + 1);
    int32_t Node = Free.back();
    int64_t Bytes = R.below(50);
    Free.pop_back();
    if (At == X.Nodes.size())
      T.pushBack(Node, Bytes);
    else
      T.insertBefore(Node, X.Nodes[At], Bytes);
    X.Nodes.insert(X.Nodes.begin() + At, Node);
    X.Bytes.insert(X.Bytes.begin() + At, Bytes);
  };
  auto Erase = [&] {
    size_t At = R.below(int(X.Nodes.size()));
    T.erase(X.Nodes[At]);
    Free.push_back(X.Nodes[At]);
    X.Nodes.erase(X.Nodes.begin() + At);
    X.Bytes.erase(X.Bytes.begin() + At);
  };
  auto Add = [&] {
    size_t A = R.below(int(X.Nodes.size()));
    size_t B = A + R.below(int(X.Nodes.size() - A));
    int64_t Bytes = R.below(21) - 10;
    T.add(X.Nodes[A], X.Nodes[B], Bytes);
    for (size_t I = A; I <= B; ++I)
      X.Bytes[I] += Bytes;
  };
  Insert();
  for (int Step = 0, E = 8 * Size; Step < E; ++Step) {
    bool Grows = R.below(E) > Step;
    if (R.below(2) == 0)
      Add();
    else if (Grows && !Free.empty())
      Insert();
    else if (X.Nodes.size() > 1)
      Erase();
    if (Step % 16 == 0)
      ASSERT_NO_FATAL_FAILURE(expectSame(T, X, Limit, R)) << "step " << Step;
  }
}

} // namespace

TEST(Timeline, SaysWhatAListSays) {
  for (uint64_t Seed = 0; Seed < 20; ++Seed)
    changeAtRandom(40, Seed);
  // Sixteen nodes a block, or more.
  changeAtRandom(1500, 1);
}

TEST(Timeline, IsEmptyBelowTheLargestLimit) {
  Timeline T(4, INT64_MAX);
  T.pushBack(0, 1);
  T.erase(0);
  EXPECT_EQ(T.overflow(), 0);
  EXPECT_EQ(T.peakNode(), -1);
  T.pushBack(0, 2);
  EXPECT_EQ(T.peak(), 2);
}

/// The overflow of a block is that of its peak: one block here.
TEST(Timeline, CountsWhatIsOverTheLimit) {
  Timeline T(4, 10);
  for (int32_t N = 0; N < 3; ++N)
    T.pushBack(N, 4);
  EXPECT_EQ(T.overflow(), 0);
  T.add(1, 2, 8); // 4, 12, 12
  EXPECT_EQ(T.overflow(), 2);
  EXPECT_EQ(T.overNode(0), 1);
  T.setLimit(7);
  EXPECT_EQ(T.overflow(), 5);
  EXPECT_EQ(T.overWithin(1, 2, 3), 3);
  EXPECT_EQ(T.overWithin(1, 2, 30), 5);
  T.add(1, 1, -20); // 4, -8, 12
  EXPECT_EQ(T.overNode(0), 2);
  T.erase(2);
  EXPECT_EQ(T.overflow(), 0);
  EXPECT_EQ(T.overNode(0), -1);
}
