//===- MachineTest.cpp - what ranks of one machine share ------------------===//

#include "remat/runtime/Machine.h"
#include "RankPrograms.h"
#include <algorithm>

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

TEST(Machine, IsSharedByItsRanks) {
  auto Alone = shareMachine(nullptr);
  ASSERT_TRUE(Alone);
  EXPECT_EQ(Alone->NumRanks, 1u);
  for (uint32_t Count : {1u, 2u, 5u}) {
    auto All = createThreadRanks(Count);
    onThreads(Count, [&](uint32_t Rank) {
      auto Share = shareMachine(All[Rank].get());
      ASSERT_TRUE(Share);
      EXPECT_EQ(Share->NumRanks, Count);
      EXPECT_EQ(Share->NumProcessors,
                std::max(1u, Alone->NumProcessors / Count));
    });
  }
}

std::string only(std::initializer_list<int> Numbers) {
  std::string List;
  for (int Number : Numbers) {
    List.resize(std::max<size_t>(List.size(), Number + 1));
    List[Number] = 1;
  }
  return List;
}

TEST(Machine, ProcessorsAreDivided) {
  const std::string Four = only({0, 1, 2, 3}), Half = only({2, 3}),
                    One = only({3});
  auto Share = [](const std::string &Own, std::vector<std::string> Others) {
    Others.push_back(Own);
    return shareProcessors(Own, Others);
  };
  EXPECT_EQ(Share(Four, {}), 4u);
  EXPECT_EQ(Share(Four, {Four}), 2u);
  EXPECT_EQ(Share(Four, {Four, Four, Four, Four}), 1u); // not none
  EXPECT_EQ(Share(Four, {Half}), 3u);                   // 1 + 1 + 1/2 + 1/2
  EXPECT_EQ(Share(Half, {Four}), 1u);
  EXPECT_EQ(Share(Half, {One}), 1u);          // 1 + 1/2
  EXPECT_EQ(Share(Half, {only({0, 1})}), 2u); // mpirun bound each to its own
}

} // namespace
