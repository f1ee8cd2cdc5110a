//===- ModulesTest.cpp - which binaries a process is made of --------------===//

#include "remat/Support/Modules.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace remat;

namespace {

const char Here = 0;

TEST(Modules, OneText) {
  std::string Own = describeModuleOf(&Here);
  EXPECT_FALSE(Own.empty());
  EXPECT_EQ(Own, describeModuleOf(&Here));
  // The C library is another module; what is on the stack is in none.
  std::string Other = describeModuleOf(reinterpret_cast<const void *>(&abort));
  EXPECT_FALSE(Other.empty());
  EXPECT_NE(Own, Other);
  int Local = 0;
  EXPECT_EQ(describeModuleOf(&Local), "");
}

TEST(Modules, ByName) {
  static constexpr std::string_view Libraries[] = {"libc.", "libm."};
  std::string Text = describeModules(Libraries);
  EXPECT_EQ(Text.find("libc."), 0u) << Text;
  static constexpr std::string_view None[] = {"no such library"};
  EXPECT_EQ(describeModules(None), "");
}

} // namespace
