//===- BudgetTest.cpp - budgets as people write them ----------------------===//

#include "remat/Support/Budget.h"
#include <gtest/gtest.h>

using namespace remat;

namespace {

TEST(Budget, Bytes) {
  constexpr int64_t Ki = 1024;
  const std::pair<const char *, int64_t> Texts[] = {
      {"0", 0},
      {"123", 123},
      {"7B", 7},
      {"4K", 4 * Ki},
      {"4KiB", 4 * Ki},
      {"4KB", 4000},
      {"3M", 3 * Ki * Ki},
      {"3MB", 3000000},
      {"4G", 4 * Ki * Ki * Ki},
      {"4GiB", 4 * Ki * Ki * Ki},
      {"4GB", 4000000000},
      {"1.5G", 3 * Ki * Ki * Ki / 2},
      {"2T", 2 * Ki * Ki * Ki * Ki},
      {"2TB", 2000000000000},
  };
  for (auto [Text, Bytes] : Texts) {
    std::optional<Budget> Parsed = Budget::parse(Text);
    ASSERT_TRUE(Parsed && Parsed->Kind == Budget::Kind::Bytes) << Text;
    EXPECT_EQ(Parsed->Bytes, Bytes) << Text;
    EXPECT_EQ(Budget::parse(Parsed->str())->Bytes, Bytes) << Text;
  }
}

TEST(Budget, Words) {
  const std::pair<const char *, enum Budget::Kind> Texts[] = {
      {"unlimited", Budget::Kind::Unlimited},
      {"smallest", Budget::Kind::Smallest},
      {"max", Budget::Kind::Max},
      {"50%", Budget::Kind::PercentOfUnplanned}};
  for (auto [Text, Kind] : Texts) {
    std::optional<Budget> Parsed = Budget::parse(Text);
    ASSERT_TRUE(Parsed) << Text;
    EXPECT_EQ(Parsed->Kind, Kind);
    EXPECT_EQ(Parsed->str(), Text);
  }
}

TEST(Budget, Refused) {
  for (const char *Text :
       {"", "4g", "4 G", "G", "-4G", "1.5", "1.5B", "0%", "-1%", "%", "4GIB",
        "4Gi", "9223372036854775808", "9000000000G", "Max", "max ", "1e3"})
    EXPECT_FALSE(Budget::parse(Text)) << Text;
}

} // namespace
