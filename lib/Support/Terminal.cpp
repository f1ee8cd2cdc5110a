//===- Terminal.cpp - text for people: widths, bars, units ----------------===//

#include "remat/Support/Terminal.h"
#include "remat/Support/Numbers.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace remat;

//===----------------------------------------------------------------------===//
// The screen
//===----------------------------------------------------------------------===//

/// Narrower is not believed, wider not used.
static constexpr unsigned MinWidth = 40, MaxWidth = 400;

static std::string_view getVariable(const char *Name) {
  const char *Value = std::getenv(Name);
  return Value ? Value : "";
}

static bool isUnicodeLocale() {
  for (const char *Name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string Value(getVariable(Name));
    if (Value.empty())
      continue;
    std::transform(Value.begin(), Value.end(), Value.begin(),
                   [](unsigned char C) { return std::tolower(C); });
    return Value.find("utf-8") != std::string::npos ||
           Value.find("utf8") != std::string::npos;
  }
  return false;
}

static unsigned getWidth(int Descriptor) {
  unsigned Width = 80;
  std::string Columns(getVariable("COLUMNS"));
  winsize Size = {};
  if (auto Said = parseInteger<unsigned>(Columns, 1, 1'000'000))
    Width = *Said;
  else if (::ioctl(Descriptor, TIOCGWINSZ, &Size) == 0 && Size.ws_col > 0)
    Width = Size.ws_col;
  return std::clamp(Width, MinWidth, MaxWidth);
}

Screen Screen::of(int Descriptor) {
  Screen S;
  std::string_view Kind = getVariable("TERM");
  S.Width = getWidth(Descriptor);
  S.Unicode = isUnicodeLocale();
  S.Rewrites = ::isatty(Descriptor) && !Kind.empty() && Kind != "dumb";
  S.Colour = S.Rewrites && getVariable("NO_COLOR").empty();
  return S;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static std::string print(const char *Format, double Value, const char *Unit) {
  char Text[64];
  std::snprintf(Text, sizeof Text, Format, Value, Unit);
  return Text;
}

std::string remat::formatBytes(int64_t Bytes) {
  static constexpr const char *Units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  auto Value = static_cast<double>(Bytes);
  if (std::abs(Value) < 1024)
    return std::to_string(Bytes) + (Bytes == 1 ? " byte" : " bytes");
  const char *const *Unit = Units;
  // What would be printed as 1024.00 is one of the next unit.
  for (Value /= 1024; std::abs(Value) >= 1023.995 && Unit + 1 < std::end(Units);
       ++Unit)
    Value /= 1024;
  return print("%.2f %s", Value, *Unit);
}

std::string remat::formatSeconds(double Seconds) {
  if (!std::isfinite(Seconds) || Seconds < 0 || Seconds > 1e9)
    return "?";
  if (Seconds < 9.95)
    return print("%.1f %s", Seconds, "s");
  if (Seconds < 59.5)
    return print("%.0f %s", Seconds, "s");
  auto Whole = static_cast<int64_t>(std::llround(Seconds));
  char Text[64];
  int Minutes = static_cast<int>(Whole / 60 % 60), Rest = Whole % 60;
  if (Whole < 3600)
    std::snprintf(Text, sizeof Text, "%d:%02d", Minutes, Rest);
  else
    std::snprintf(Text, sizeof Text, "%lld:%02d:%02d",
                  static_cast<long long>(Whole / 3600), Minutes, Rest);
  return Text;
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Whether the byte begins a code point.
static bool isFirst(char C) {
  return (static_cast<unsigned char>(C) & 0xC0) != 0x80;
}

unsigned remat::countColumns(std::string_view Text) {
  return std::count_if(Text.begin(), Text.end(), isFirst);
}

/// The bytes of the code point that `Text` begins with; 0 where it is none that
/// may be shown.
static size_t getPrintable(std::string_view Text, bool Unicode) {
  auto Byte = [&](size_t I) { return static_cast<unsigned char>(Text[I]); };
  if (Byte(0) < 0x80)
    return Byte(0) >= 0x20 && Byte(0) != 0x7F ? 1 : 0;
  size_t Size = Byte(0) >= 0xF0 ? 4 : Byte(0) >= 0xE0 ? 3 : 2;
  if (!Unicode || Byte(0) < 0xC2 || Byte(0) > 0xF4 || Text.size() < Size)
    return 0;
  for (size_t I = 1; I < Size; ++I)
    if (isFirst(Text[I]))
      return 0;
  // U+0080 to U+009F are control characters.
  return Byte(0) == 0xC2 && Byte(1) < 0xA0 ? 0 : Size;
}

std::string remat::makePlain(std::string_view Text, bool Unicode) {
  std::string Plain;
  while (!Text.empty()) {
    size_t Size = getPrintable(Text, Unicode);
    if (Size)
      Plain += Text.substr(0, Size);
    else
      Plain += '?';
    Text.remove_prefix(std::max<size_t>(Size, 1));
    while (!Size && !Text.empty() && !isFirst(Text[0]))
      Text.remove_prefix(1);
  }
  return Plain;
}

std::string remat::cutTo(std::string_view Text, unsigned Width) {
  if (countColumns(Text) <= Width)
    return std::string(Text);
  unsigned Dots = std::min(Width, 3u), Columns = 0;
  size_t End = 0;
  for (; End < Text.size(); ++End)
    if (isFirst(Text[End]) && Columns++ == Width - Dots)
      break;
  return std::string(Text.substr(0, End)) + std::string(Dots, '.');
}

static std::string getBlanks(std::string_view Text, unsigned Width) {
  unsigned Columns = countColumns(Text);
  return std::string(Width > Columns ? Width - Columns : 0, ' ');
}

std::string remat::padRight(std::string_view Text, unsigned Width) {
  return std::string(Text) + getBlanks(Text, Width);
}

std::string remat::padLeft(std::string_view Text, unsigned Width) {
  return getBlanks(Text, Width) + std::string(Text);
}

std::string remat::makeBar(double Part, unsigned Width, bool Unicode) {
  static constexpr const char *Eighths[] = {"",  "▏", "▎", "▍",
                                            "▌", "▋", "▊", "▉"};
  if (!(Part > 0))
    return "";
  Part = std::min(Part, 1.0);
  unsigned PerColumn = Unicode ? 8 : 1;
  auto Units = static_cast<unsigned>(std::lround(Part * Width * PerColumn));
  Units = std::max(Units, 1u);
  std::string Bar;
  for (unsigned I = 0; I < Units / PerColumn; ++I)
    Bar += Unicode ? "█" : "#";
  if (Unicode)
    Bar += Eighths[Units % 8];
  return Bar;
}

std::string remat::wrapText(std::string_view Text, unsigned Width,
                            unsigned Indent, unsigned Column) {
  std::string Wrapped;
  for (bool BeginsLine = true; !Text.empty(); BeginsLine = false) {
    size_t End = std::min(Text.find(' '), Text.size());
    std::string_view Word = Text.substr(0, End);
    Text.remove_prefix(std::min(End + 1, Text.size()));
    unsigned Columns = countColumns(Word);
    if (!BeginsLine && Column + 1 + Columns > Width) {
      Wrapped += "\n" + std::string(Indent, ' ');
      Column = Indent;
    } else if (!BeginsLine) {
      Wrapped += ' ';
      ++Column;
    }
    Wrapped += Word;
    Column += Columns;
  }
  return Wrapped;
}
