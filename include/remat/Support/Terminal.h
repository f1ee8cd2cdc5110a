//===- Terminal.h - text for people: widths, bars, units --------*- C++ -*-===//
//
// What tools print for people to read, as functions from numbers to text. All
// text is UTF-8; a code point takes one column.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_TERMINAL_H
#define REMAT_SUPPORT_TERMINAL_H

#include <cstdint>
#include <string>
#include <string_view>

namespace remat {

/// What a stream can show.
struct Screen {
  unsigned Width = 80;  ///< columns
  bool Unicode = false; ///< block characters, not only ASCII
  bool Colour = false;
  bool Rewrites = false; ///< a line can be written over: a terminal

  /// What the environment says of an open file: it is a terminal unless TERM is
  /// "dumb" or not set; NO_COLOR forbids colours; COLUMNS is the width, else
  /// the terminal's own, else 80; LC_ALL, LC_CTYPE or LANG, the first that is
  /// set, says whether text is UTF-8.
  static Screen of(int Descriptor);
};

/// "512 bytes", "372.00 KiB", "1.50 GiB".
std::string formatBytes(int64_t Bytes);

/// "0.4 s", "59 s", "2:05", "1:02:05".
std::string formatSeconds(double Seconds);

/// Columns that a text takes.
unsigned countColumns(std::string_view Text);

/// The text without what would move the cursor or end the line: a control
/// character becomes '?', and without `Unicode` so does all that is not ASCII.
std::string makePlain(std::string_view Text, bool Unicode);

/// The text in at most `Width` columns; what is cut off shows as "...".
std::string cutTo(std::string_view Text, unsigned Width);

/// The text and as many blanks behind or before it as fill the width.
std::string padRight(std::string_view Text, unsigned Width);
std::string padLeft(std::string_view Text, unsigned Width);

/// A bar that fills `Part` (0 to 1) of `Width` columns, without blanks behind
/// it; a part above 0 shows.
std::string makeBar(double Part, unsigned Width, bool Unicode);

/// Breaks a text of one line at its blanks, so that no line is longer than
/// `Width` unless a word is. It begins at `Column`, each further line with
/// `Indent` blanks.
std::string wrapText(std::string_view Text, unsigned Width, unsigned Indent,
                     unsigned Column = 0);

} // namespace remat

#endif // REMAT_SUPPORT_TERMINAL_H
