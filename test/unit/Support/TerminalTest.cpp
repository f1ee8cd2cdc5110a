//===- TerminalTest.cpp - widths, bars and units of text ------------------===//

#include "remat/Support/Terminal.h"
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <optional>
#include <unistd.h>
#include <vector>

using namespace remat;

namespace {

TEST(Terminal, Bytes) {
  EXPECT_EQ(formatBytes(0), "0 bytes");
  EXPECT_EQ(formatBytes(1), "1 byte");
  EXPECT_EQ(formatBytes(1023), "1023 bytes");
  EXPECT_EQ(formatBytes(1024), "1.00 KiB");
  EXPECT_EQ(formatBytes(1536), "1.50 KiB");
  EXPECT_EQ(formatBytes((1 << 20) - 1), "1.00 MiB");
  EXPECT_EQ(formatBytes(int64_t(5) << 30), "5.00 GiB");
  EXPECT_EQ(formatBytes(-2048), "-2.00 KiB");
  EXPECT_EQ(formatBytes(INT64_MAX), "8192.00 PiB");
}

TEST(Terminal, Seconds) {
  EXPECT_EQ(formatSeconds(0), "0.0 s");
  EXPECT_EQ(formatSeconds(9.94), "9.9 s");
  EXPECT_EQ(formatSeconds(9.96), "10 s");
  EXPECT_EQ(formatSeconds(59.6), "1:00");
  EXPECT_EQ(formatSeconds(125), "2:05");
  EXPECT_EQ(formatSeconds(3599.7), "1:00:00");
  EXPECT_EQ(formatSeconds(3661), "1:01:01");
  EXPECT_EQ(formatSeconds(1.0 / 0.0), "?");
}

TEST(Terminal, Columns) {
  EXPECT_EQ(countColumns("plain"), 5u);
  EXPECT_EQ(countColumns("größe █"), 7u);
  EXPECT_EQ(padLeft("ö", 3), "  ö");
  EXPECT_EQ(padRight("ö", 3), "ö  ");
  EXPECT_EQ(padRight("long", 3), "long");
  EXPECT_EQ(cutTo("abcdef", 6), "abcdef");
  EXPECT_EQ(cutTo("abcdefg", 6), "abc...");
  EXPECT_EQ(cutTo("ööööööö", 6), "ööö...");
  EXPECT_EQ(cutTo("abcdefg", 2), "..");
}

TEST(Terminal, NothingMovesTheCursor) {
  EXPECT_EQ(makePlain("a\x1b[2Jb\r\n\tc\x7f", true), "a?[2Jb???c?");
  EXPECT_EQ(makePlain("größe", true), "größe");
  EXPECT_EQ(makePlain("größe", false), "gr??e");
  EXPECT_EQ(makePlain("\xC2\x9B!", true), "?!");      // CSI as one character
  EXPECT_EQ(makePlain("\xE2\x96", true), "?");        // cut off
  EXPECT_EQ(makePlain("\x80\x80x\xFF", true), "?x?"); // no UTF-8
  EXPECT_EQ(makePlain("\xC3(", true), "?(");
}

TEST(Terminal, Bars) {
  EXPECT_EQ(makeBar(0, 10, true), "");
  EXPECT_EQ(makeBar(-1, 10, true), "");
  EXPECT_EQ(makeBar(1, 4, false), "####");
  EXPECT_EQ(makeBar(2, 4, false), "####");
  EXPECT_EQ(makeBar(0.5, 4, false), "##");
  EXPECT_EQ(makeBar(1e-9, 4, false), "#");
  EXPECT_EQ(makeBar(1, 4, true), "████");
  EXPECT_EQ(makeBar(0.5 + 1.0 / 32, 4, true), "██▏");
  EXPECT_EQ(makeBar(1e-9, 4, true), "▏");
  for (unsigned Width = 1; Width < 50; ++Width)
    for (int Part = 0; Part <= 100; ++Part)
      EXPECT_LE(countColumns(makeBar(Part / 100.0, Width, true)), Width);
}

TEST(Terminal, Wrapping) {
  EXPECT_EQ(wrapText("one two three", 80, 2), "one two three");
  EXPECT_EQ(wrapText("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrapText("one two three", 7, 2, 5), "one\n  two\n  three");
  EXPECT_EQ(wrapText("unbreakable word", 4, 0), "unbreakable\nword");
  EXPECT_EQ(wrapText("", 4, 0), "");
}

/// The variables of a screen, put back at the end.
class ScreenTest : public testing::Test {
protected:
  void SetUp() override {
    for (const char *Name : Names) {
      const char *Value = std::getenv(Name);
      Before.push_back(Value ? std::optional<std::string>(Value)
                             : std::nullopt);
      ::unsetenv(Name);
    }
    ASSERT_EQ(::pipe(Pipe), 0);
    Terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(Terminal, 0);
  }
  void TearDown() override {
    for (size_t I = 0; I < Before.size(); ++I)
      if (Before[I])
        ::setenv(Names[I], Before[I]->c_str(), 1);
      else
        ::unsetenv(Names[I]);
    for (int Open : {Pipe[0], Pipe[1], Terminal})
      ::close(Open);
  }
  static void set(const char *Name, const char *Value) {
    ::setenv(Name, Value, 1);
  }

  static constexpr const char *Names[] = {"TERM",   "NO_COLOR", "COLUMNS",
                                          "LC_ALL", "LC_CTYPE", "LANG"};
  std::vector<std::optional<std::string>> Before;
  int Pipe[2] = {-1, -1};
  int Terminal = -1;
};

TEST_F(ScreenTest, APipeIsNoTerminal) {
  set("TERM", "xterm");
  Screen S = Screen::of(Pipe[1]);
  EXPECT_FALSE(S.Rewrites || S.Colour || S.Unicode);
  EXPECT_EQ(S.Width, 80u);
  set("COLUMNS", "120");
  EXPECT_EQ(Screen::of(Pipe[1]).Width, 120u);
  set("COLUMNS", "3");
  EXPECT_EQ(Screen::of(Pipe[1]).Width, 40u);
  for (const char *Wrong : {"-80", "x", "", "99999999999999999999"}) {
    set("COLUMNS", Wrong);
    EXPECT_EQ(Screen::of(Pipe[1]).Width, 80u) << Wrong;
  }
}

TEST_F(ScreenTest, ATerminal) {
  EXPECT_FALSE(Screen::of(Terminal).Rewrites) << "TERM is not set";
  set("TERM", "dumb");
  EXPECT_FALSE(Screen::of(Terminal).Rewrites);
  set("TERM", "xterm");
  EXPECT_TRUE(Screen::of(Terminal).Rewrites);
  EXPECT_TRUE(Screen::of(Terminal).Colour);
  set("NO_COLOR", "1");
  EXPECT_TRUE(Screen::of(Terminal).Rewrites);
  EXPECT_FALSE(Screen::of(Terminal).Colour);
}

TEST_F(ScreenTest, TheFirstVariableThatIsSetIsTheLocale) {
  set("LANG", "en_US.UTF-8");
  EXPECT_TRUE(Screen::of(Pipe[1]).Unicode);
  set("LC_CTYPE", "de_DE.utf8");
  EXPECT_TRUE(Screen::of(Pipe[1]).Unicode);
  set("LC_ALL", "C");
  EXPECT_FALSE(Screen::of(Pipe[1]).Unicode);
  set("LC_ALL", "");
  EXPECT_TRUE(Screen::of(Pipe[1]).Unicode);
}

} // namespace
