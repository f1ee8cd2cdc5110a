//===- Npy.cpp - arrays as NumPy writes them ------------------------------===//
//
// "\x93NUMPY", two bytes of version, the header's size (two bytes in version 1,
// four behind it), the header, the elements. The header is a dict of Python:
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }
//
//===----------------------------------------------------------------------===//

#include "lib/Data/Array.h"
#include "lib/File.h"
#include "ops/Op.h"
#include "remat/Support/Numbers.h"
#include <cstring>

using namespace remat;
using namespace remat::runtime;

static constexpr uint64_t MaxHeader = 1 << 16;

static Error malformed(const std::string &Why) {
  return Error(ErrorCode::InvalidFile, "the .npy header " + Why);
}

namespace {

/// Reads the dict. A key is there once; no other form than NumPy's is taken.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view Text) : Rest(Text) {}
  Status parse();

  std::optional<std::string> Type;
  std::optional<bool> IsFortran;
  std::optional<std::vector<int64_t>> Shape;

private:
  Status parseEntry();
  Status parseShape();
  void skipSpace();
  bool take(char Wanted);
  bool takeWord(std::string_view Word);
  std::optional<std::string> takeString();

  std::string_view Rest;
};

} // namespace

void HeaderParser::skipSpace() {
  while (!Rest.empty() && (Rest.front() == ' ' || Rest.front() == '\n'))
    Rest.remove_prefix(1);
}

bool HeaderParser::take(char Wanted) {
  skipSpace();
  if (Rest.empty() || Rest.front() != Wanted)
    return false;
  Rest.remove_prefix(1);
  return true;
}

bool HeaderParser::takeWord(std::string_view Word) {
  skipSpace();
  if (!Rest.starts_with(Word))
    return false;
  Rest.remove_prefix(Word.size());
  return true;
}

std::optional<std::string> HeaderParser::takeString() {
  for (char Quote : {'\'', '"'})
    if (take(Quote)) {
      size_t End = Rest.find(Quote);
      if (End == std::string_view::npos)
        return std::nullopt;
      std::string Text(Rest.substr(0, End));
      Rest.remove_prefix(End + 1);
      return Text;
    }
  return std::nullopt;
}

Status HeaderParser::parseShape() {
  if (Shape || !take('('))
    return malformed("has no one tuple as its shape");
  Shape.emplace();
  while (!take(')')) {
    skipSpace();
    size_t End = std::min(Rest.find_first_not_of("0123456789"), Rest.size());
    std::optional<int64_t> Size =
        parseInteger<int64_t>(Rest.substr(0, End), 0, INT64_MAX);
    if (!Size)
      return malformed("has a shape that is not of sizes");
    Shape->push_back(*Size);
    Rest.remove_prefix(End);
    if (!take(',') && !Rest.starts_with(")"))
      return malformed("has a shape that does not end");
  }
  return {};
}

Status HeaderParser::parseEntry() {
  std::optional<std::string> Key = takeString();
  if (!Key || !take(':'))
    return malformed("is not a dict of NumPy's form");
  if (*Key == "shape")
    return parseShape();
  if (*Key == "descr" && !Type) {
    Type = takeString();
    if (Type)
      return {};
  }
  if (*Key == "fortran_order" && !IsFortran) {
    if (takeWord("False"))
      IsFortran = false;
    else if (takeWord("True"))
      IsFortran = true;
    if (IsFortran)
      return {};
  }
  return malformed("has no simple value for one '" + printable(*Key) +
                   "'; arrays of records and objects are not read");
}

Status HeaderParser::parse() {
  if (!take('{'))
    return malformed("is not a dict of NumPy's form");
  while (!take('}')) {
    REMAT_TRY(parseEntry());
    if (!take(',') && !Rest.starts_with("}"))
      return malformed("is not a dict of NumPy's form");
  }
  if (!Type || !IsFortran || !Shape)
    return malformed("lacks one of descr, fortran_order and shape");
  return {};
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// The header's text, and where the elements begin behind `Begin`.
static Result<std::pair<std::string, uint64_t>>
readHeader(const InputFile &File, uint64_t Begin, uint64_t Bytes) {
  uint8_t Start[12] = {};
  if (Bytes < sizeof Start)
    return Error(ErrorCode::InvalidFile, "a .npy file of " +
                                             std::to_string(Bytes) +
                                             " bytes has no whole header");
  REMAT_TRY(toStatus(File.read(Begin, Start, sizeof Start)));
  if (std::memcmp(Start, "\x93NUMPY", 6) != 0)
    return Error(ErrorCode::InvalidFile, "no .npy file: it begins otherwise");
  unsigned Version = Start[6];
  if (Version < 1 || Version > 3)
    return malformed("is of version " + std::to_string(Version) +
                     "; versions 1 to 3 are read");
  uint64_t Size = Start[8] | uint64_t(Start[9]) << 8;
  uint64_t TextBegin = 10;
  if (Version > 1) {
    Size |= uint64_t(Start[10]) << 16 | uint64_t(Start[11]) << 24;
    TextBegin = 12;
  }
  if (Size > MaxHeader || Size > Bytes - TextBegin)
    return malformed("of " + std::to_string(Size) +
                     " bytes is longer than the file or than " +
                     std::to_string(MaxHeader));
  std::string Text(Size, 0);
  REMAT_TRY(toStatus(File.read(Begin + TextBegin, Text.data(), Size)));
  return std::pair(std::move(Text), TextBegin + Size);
}

Result<Array> remat::runtime::parseNpy(const InputFile &File, uint64_t Begin,
                                       uint64_t Bytes) {
  auto Read = readHeader(File, Begin, Bytes);
  if (!Read)
    return Read.getError();
  HeaderParser Header(Read->first);
  REMAT_TRY(Header.parse());
  std::optional<ArrayType> Type = findNpyType(*Header.Type);
  if (!Type)
    return Error(ErrorCode::InvalidFile,
                 "elements of type '" + printable(*Header.Type) +
                     "' are not read; numbers must be little-endian, of at "
                     "most 64 bits, and no uint64");
  if (*Header.IsFortran)
    return Error(ErrorCode::InvalidFile,
                 "the array is in Fortran's order; save "
                 "numpy.ascontiguousarray of it");
  Array Made;
  Made.Type = *Type;
  Made.Shape = std::move(*Header.Shape);
  Made.Offset = Begin + Read->second;
  uint64_t Size = getInfo(*Type).Width, Held = Bytes - Read->second;
  bool Overflows = false;
  for (int64_t Dim : Made.Shape)
    Overflows |= __builtin_mul_overflow(Size, uint64_t(Dim), &Size);
  if (Overflows || Size != Held)
    return Error(ErrorCode::InvalidFile,
                 Made.describe() + " does not take the " +
                     std::to_string(Held) + " bytes behind the header");
  return Made;
}
