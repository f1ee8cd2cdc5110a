//===- SafetensorsHeader.cpp - what a weight file holds -------------------===//

#include "lib/SafetensorsHeader.h"
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

using namespace remat::runtime;

static constexpr std::string_view TypeNames[] = {"F32", "BF16", "F16",    "I32",
                                                 "I64", "BOOL", "F8_E4M3"};
static_assert(std::size(TypeNames) == NumElementTypes);
static constexpr std::string_view MetadataName = "__metadata__";

/// Bytes of a tensor, or nothing if 64 bits do not hold them.
static std::optional<uint64_t> getBytes(DType Type,
                                        const std::vector<int64_t> &Shape) {
  auto Bytes = static_cast<int64_t>(getByteWidth(Type));
  for (int64_t Dim : Shape)
    if (Dim < 0 || __builtin_mul_overflow(Bytes, Dim, &Bytes))
      return std::nullopt;
  return static_cast<uint64_t>(Bytes);
}

//===----------------------------------------------------------------------===//
// The JSON
//===----------------------------------------------------------------------===//

namespace {

struct Entry {
  std::string Name;
  std::optional<DType> Type;
  std::optional<std::vector<uint64_t>> Shape, Offsets;
};

/// Reads the header's JSON as a stream of events: it never builds a document,
/// so that deep nesting costs nothing and repeated keys are seen.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
public:
  std::vector<Entry> Entries;
  std::map<std::string, std::string> Metadata;
  std::string Problem;

  bool start_object(std::size_t) override {
    if (Depth == 2 || (Depth == 1 && Key.empty() && !HasKey))
      return fail("nests deeper than a tensor's description");
    if (InArray)
      return fail("has an object within an array");
    if (Depth++ == 0)
      return true;
    InMetadata = Key == MetadataName;
    if (InMetadata)
      return true;
    if (!Names.insert(Key).second)
      return fail("names '" + Key + "' twice");
    Entries.emplace_back();
    Entries.back().Name = Key;
    return true;
  }
  bool end_object() override {
    if (Depth-- == 2 && !InMetadata) {
      const Entry &E = Entries.back();
      if (!E.Type || !E.Shape || !E.Offsets)
        return fail("'" + E.Name + "' lacks dtype, shape or data_offsets");
    }
    InMetadata = false;
    return true;
  }
  bool key(std::string &Name) override {
    if (Depth == 2 && InMetadata && Metadata.count(Name))
      return fail("has the metadata '" + Name + "' twice");
    Key = Name;
    HasKey = true;
    return true;
  }
  bool start_array(std::size_t) override {
    if (Depth != 2 || InMetadata || InArray)
      return fail("has an array where none belongs");
    Entry &E = Entries.back();
    auto &List = Key == "shape" ? E.Shape : E.Offsets;
    if ((Key != "shape" && Key != "data_offsets") || List)
      return fail("has the unknown or repeated array '" + Key + "'");
    List.emplace();
    Numbers = &*List;
    InArray = true;
    return true;
  }
  bool end_array() override {
    InArray = false;
    return true;
  }
  bool number_unsigned(number_unsigned_t Number) override {
    if (!InArray)
      return fail("has a number where none belongs");
    if (Numbers->size() == MaxRank)
      return fail("has an array of more than " + std::to_string(MaxRank) +
                  " numbers");
    Numbers->push_back(Number);
    return true;
  }
  bool string(string_t &Text) override {
    if (Depth == 2 && InMetadata) {
      Metadata[Key] = Text;
      return true;
    }
    if (Depth != 2 || InArray || Key != "dtype" || Entries.back().Type)
      return fail("has text where none belongs");
    for (unsigned I = 0; I < std::size(TypeNames); ++I)
      if (TypeNames[I] == Text)
        Entries.back().Type = static_cast<DType>(I);
    return Entries.back().Type ||
           fail("'" + Entries.back().Name + "' has the unknown dtype '" + Text +
                "'");
  }

  bool null() override { return fail("has a null"); }
  bool boolean(bool) override { return fail("has a boolean"); }
  bool number_integer(number_integer_t) override {
    return fail("has a negative number");
  }
  bool number_float(number_float_t, const string_t &) override {
    return fail("has a fraction");
  }
  bool binary(binary_t &) override { return fail("has binary data"); }
  bool parse_error(std::size_t Position, const std::string &,
                   const nlohmann::detail::exception &) override {
    return fail("is no JSON at byte " + std::to_string(Position));
  }

private:
  bool fail(const std::string &Why) {
    Problem = Why;
    return false;
  }

  unsigned Depth = 0; ///< of objects
  bool InMetadata = false, InArray = false, HasKey = false;
  std::string Key;
  std::set<std::string> Names;
  std::vector<uint64_t> *Numbers = nullptr;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Error fail(const std::string &Why) {
  return Error(ErrorCode::InvalidFile, Why);
}

/// The tensor of an entry, of a file with `DataBytes` bytes behind the header;
/// its bytes must begin at `Next`, which is moved on.
static Result<TensorEntry> readEntry(const Entry &E, uint64_t DataBytes,
                                     uint64_t &Next) {
  TensorEntry T;
  T.Name = E.Name;
  T.Type = *E.Type;
  for (uint64_t Dim : *E.Shape) {
    if (Dim > INT64_MAX)
      return fail("has a dimension of " + std::to_string(Dim));
    T.Shape.push_back(static_cast<int64_t>(Dim));
  }
  std::optional<uint64_t> Bytes = getBytes(T.Type, T.Shape);
  if (!Bytes)
    return fail("has more bytes than 64 bits count");
  if (E.Offsets->size() != 2)
    return fail("has " + std::to_string(E.Offsets->size()) +
                " data_offsets; two are needed");
  uint64_t Begin = (*E.Offsets)[0], End = (*E.Offsets)[1];
  if (Begin > End || End > DataBytes || End - Begin != *Bytes)
    return fail("takes bytes " + std::to_string(Begin) + " to " +
                std::to_string(End) + " of " + std::to_string(DataBytes) +
                "; its shape and type need " + std::to_string(*Bytes));
  if (Begin != Next)
    return fail("begins at byte " + std::to_string(Begin) +
                ", the one before ends at " + std::to_string(Next));
  Next = End;
  T.Offset = Begin;
  T.Bytes = *Bytes;
  return T;
}

Result<uint64_t>
remat::runtime::readSafetensorsHeaderSize(std::span<const uint8_t> Start,
                                          uint64_t FileBytes) {
  uint64_t Size = 0;
  if (Start.size() < sizeof Size)
    return fail("a safetensors file of " + std::to_string(FileBytes) +
                " bytes has no header size");
  std::memcpy(&Size, Start.data(), sizeof Size);
  if (Size > FileBytes - sizeof Size || Size > MaxSafetensorsHeader)
    return fail("a header of " + std::to_string(Size) +
                " bytes is longer than the file or than " +
                std::to_string(MaxSafetensorsHeader));
  return Size;
}

Result<SafetensorsHeader>
remat::runtime::parseSafetensorsHeader(std::span<const uint8_t> Text,
                                       uint64_t DataBytes) {
  HeaderReader Reader;
  if (!nlohmann::json::sax_parse(Text.begin(), Text.end(), &Reader))
    return fail("the header " + (Reader.Problem.empty() ? "is no JSON object"
                                                        : Reader.Problem));
  std::sort(Reader.Entries.begin(), Reader.Entries.end(),
            [](const Entry &A, const Entry &B) {
              return std::tie(*A.Offsets, A.Name) <
                     std::tie(*B.Offsets, B.Name);
            });
  SafetensorsHeader Header;
  Header.Metadata = std::move(Reader.Metadata);
  uint64_t Next = 0;
  for (const Entry &E : Reader.Entries) {
    Result<TensorEntry> T = readEntry(E, DataBytes, Next);
    if (!T)
      return T.getError().within("tensor '" + E.Name + "'");
    Header.Tensors.push_back(std::move(*T));
  }
  if (Next != DataBytes)
    return fail("the tensors end at byte " + std::to_string(Next) + " of " +
                std::to_string(DataBytes));
  return Header;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// A text of JSON; throws nlohmann::json::exception if it is not UTF-8.
static std::string quote(std::string_view Text) {
  return nlohmann::json(Text).dump();
}

static std::string describe(const TensorEntry &T, uint64_t Begin) {
  std::string Shape;
  for (int64_t Size : T.Shape)
    Shape += (Shape.empty() ? "" : ",") + std::to_string(Size);
  return "{\"dtype\":" + quote(TypeNames[static_cast<unsigned>(T.Type)]) +
         ",\"shape\":[" + Shape + "],\"data_offsets\":[" +
         std::to_string(Begin) + "," + std::to_string(Begin + T.Bytes) + "]}";
}

/// The members of the header's object, or why there can be none. Written here:
/// the library's documents leak where memory ends.
static Result<std::string> formatMembers(const SafetensorsHeader &From) {
  auto Refuse = [](const std::string &Why) {
    return Error(ErrorCode::InvalidArgument, Why);
  };
  std::string Members;
  auto Add = [&](std::string_view Key, const std::string &Value) {
    Members += (Members.empty() ? "" : ",") + quote(Key) + ":" + Value;
  };
  if (!From.Metadata.empty()) {
    std::string Texts;
    for (const auto &[Key, Text] : From.Metadata)
      Texts += (Texts.empty() ? "" : ",") + quote(Key) + ":" + quote(Text);
    Add(MetadataName, "{" + Texts + "}");
  }
  std::set<std::string_view> Names = {MetadataName};
  uint64_t Next = 0;
  for (const TensorEntry &T : From.Tensors) {
    if (getBytes(T.Type, T.Shape) != T.Bytes)
      return Refuse("tensor '" + T.Name + "' has " + std::to_string(T.Bytes) +
                    " bytes, which are not those of its shape and type");
    if (!Names.insert(T.Name).second)
      return Refuse("tensor '" + T.Name +
                    "' is there twice or has a reserved name");
    Add(T.Name, describe(T, Next));
    Next += T.Bytes;
  }
  return Members;
}

Result<std::string>
remat::runtime::formatSafetensorsHeader(const SafetensorsHeader &From) {
  std::string Text;
  try {
    Result<std::string> Members = formatMembers(From);
    if (!Members)
      return Members;
    Text = "{" + *Members + "}";
  } catch (const nlohmann::json::exception &) {
    return Error(ErrorCode::InvalidArgument,
                 "a name or text of the file is not UTF-8");
  }
  // The tensors begin at a multiple of eight bytes.
  Text.append((8 - Text.size() % 8) % 8, ' ');
  uint64_t Size = Text.size();
  Text.insert(0, reinterpret_cast<const char *>(&Size), sizeof Size);
  return Text;
}
