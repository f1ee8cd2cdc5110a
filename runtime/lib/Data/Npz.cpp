//===- Npz.cpp - archives of arrays ---------------------------------------===//
//
// A ZIP archive (PKWARE's APPNOTE 6.3) whose members are .npy files, stored and
// not compressed. NumPy writes ZIP64 fields into each member's own header, and
// into the directory where sizes need them.
//
//===----------------------------------------------------------------------===//

#include "lib/Data/Array.h"
#include "lib/File.h"
#include "ops/Op.h"
#include <algorithm>
#include <set>

using namespace remat;
using namespace remat::runtime;

static constexpr uint64_t EndBytes = 22, EntryBytes = 46, LocalBytes = 30;
static constexpr uint64_t MaxComment = 0xffff;
static constexpr uint64_t MaxDirectory = uint64_t(1) << 24;

static Error malformed(const std::string &Why) {
  return Error(ErrorCode::InvalidFile, "the archive " + Why);
}

namespace {

/// Bytes of the archive; a number beyond their end is 0.
class Fields {
public:
  explicit Fields(std::span<const uint8_t> Data) : Data(Data) {}
  uint64_t get(uint64_t At, unsigned Bytes) const {
    uint64_t Number = 0;
    for (unsigned I = 0; I < Bytes && At + I < Data.size(); ++I)
      Number |= uint64_t(Data[At + I]) << (8 * I);
    return Number;
  }
  uint64_t size() const { return Data.size(); }

private:
  std::span<const uint8_t> Data;
};

struct Directory {
  uint64_t Begin = 0, Bytes = 0, Entries = 0;
};

struct Member {
  std::string Name;
  uint64_t Method = 0, Flags = 0, Packed = 0, Bytes = 0, Header = 0;
};

} // namespace

/// Where the directory lies, by the record at the file's end.
static Result<Directory> findDirectory(const InputFile &File) {
  uint64_t Size = File.getSize();
  std::vector<uint8_t> Tail(std::min(Size, EndBytes + MaxComment));
  uint64_t TailBegin = Size - Tail.size();
  REMAT_TRY(toStatus(File.read(TailBegin, Tail.data(), Tail.size())));
  Fields F(Tail);
  uint64_t At = Tail.size() < EndBytes ? 0 : Tail.size() - EndBytes + 1;
  while (At > 0 && (F.get(At - 1, 4) != 0x06054b50 ||
                    At - 1 + EndBytes + F.get(At + 19, 2) != Tail.size()))
    --At;
  if (At-- == 0)
    return malformed("has no end record: it is cut off, or no .npz file");
  Directory D{F.get(At + 16, 4), F.get(At + 12, 4), F.get(At + 10, 2)};
  bool IsLarge =
      D.Begin == 0xffffffff || D.Bytes == 0xffffffff || D.Entries == 0xffff;
  if (IsLarge && TailBegin + At >= 20) {
    uint8_t Locator[20], Record[56];
    REMAT_TRY(toStatus(File.read(TailBegin + At - 20, Locator, 20)));
    uint64_t Where = Fields(Locator).get(8, 8);
    if (Fields(Locator).get(0, 4) != 0x07064b50 || Where > Size ||
        Size - Where < sizeof Record)
      return malformed("has no ZIP64 end record");
    REMAT_TRY(toStatus(File.read(Where, Record, sizeof Record)));
    Fields R(Record);
    D = {R.get(48, 8), R.get(40, 8), R.get(32, 8)};
  }
  if (D.Begin > Size || D.Bytes > Size - D.Begin || D.Bytes > MaxDirectory)
    return malformed("has a directory of " + std::to_string(D.Bytes) +
                     " bytes at byte " + std::to_string(D.Begin) +
                     ", which lies outside of it or is too large");
  return D;
}

/// Takes the sizes and the place that did not fit 32 bits from the ZIP64 field
/// among the extra fields at [At, End).
static void readLargeSizes(const Fields &F, uint64_t At, uint64_t End,
                           Member &M) {
  while (At + 4 <= End) {
    uint64_t Id = F.get(At, 2), Bytes = F.get(At + 2, 2);
    uint64_t Field = At + 4;
    for (uint64_t *Number : {&M.Bytes, &M.Packed, &M.Header})
      if (Id == 1 && *Number == 0xffffffff && Field + 8 <= At + 4 + Bytes) {
        *Number = F.get(Field, 8);
        Field += 8;
      }
    At += 4 + Bytes;
  }
}

static Result<std::vector<Member>> readDirectory(const InputFile &File) {
  Result<Directory> D = findDirectory(File);
  if (!D)
    return D.getError();
  std::vector<uint8_t> Bytes(D->Bytes);
  REMAT_TRY(toStatus(File.read(D->Begin, Bytes.data(), Bytes.size())));
  Fields F(Bytes);
  std::vector<Member> Members;
  for (uint64_t At = 0; At < F.size();) {
    uint64_t NameBytes = F.get(At + 28, 2), Extra = F.get(At + 30, 2);
    uint64_t NameBegin = At + EntryBytes, NameEnd = NameBegin + NameBytes;
    uint64_t End = NameEnd + Extra + F.get(At + 32, 2);
    if (F.get(At, 4) != 0x02014b50 || End > F.size())
      return malformed("has a directory that breaks off at byte " +
                       std::to_string(D->Begin + At));
    Member &M = Members.emplace_back();
    M.Name.assign(Bytes.begin() + static_cast<ptrdiff_t>(NameBegin),
                  Bytes.begin() + static_cast<ptrdiff_t>(NameEnd));
    M.Flags = F.get(At + 8, 2);
    M.Method = F.get(At + 10, 2);
    M.Packed = F.get(At + 20, 4);
    M.Bytes = F.get(At + 24, 4);
    M.Header = F.get(At + 42, 4);
    readLargeSizes(F, NameEnd, NameEnd + Extra, M);
    At = End;
  }
  if (Members.size() != D->Entries)
    return malformed("names " + std::to_string(D->Entries) +
                     " members and has " + std::to_string(Members.size()));
  return Members;
}

/// Where a member's bytes begin, behind its own header.
static Result<uint64_t> findBytes(const InputFile &File, const Member &M) {
  auto Fail = [&] {
    return malformed("has no '" + printable(M.Name) + "' where it says");
  };
  uint64_t Size = File.getSize();
  if (M.Header > Size || Size - M.Header < LocalBytes)
    return Fail();
  uint8_t Local[LocalBytes];
  REMAT_TRY(toStatus(File.read(M.Header, Local, sizeof Local)));
  Fields F(Local);
  uint64_t Begin = M.Header + LocalBytes + F.get(26, 2) + F.get(28, 2);
  if (F.get(0, 4) != 0x04034b50 || Begin > Size || M.Bytes > Size - Begin ||
      M.Packed != M.Bytes)
    return Fail();
  return Begin;
}

Result<std::vector<Array>> remat::runtime::parseNpz(const InputFile &File) {
  Result<std::vector<Member>> Members = readDirectory(File);
  if (!Members)
    return Members.getError();
  std::vector<Array> Arrays;
  std::set<std::string> Names;
  for (const Member &M : *Members) {
    if (!M.Name.ends_with(".npy"))
      continue;
    if (M.Method != 0 || M.Flags & 1)
      return malformed("holds '" + printable(M.Name) +
                       "' compressed or encrypted; save it with numpy.savez, "
                       "which does not compress");
    Result<uint64_t> Begin = findBytes(File, M);
    if (!Begin)
      return Begin.getError();
    Result<Array> One = parseNpy(File, *Begin, M.Bytes);
    if (!One)
      return One.getError().within(printable(M.Name));
    One->Name = M.Name.substr(0, M.Name.size() - 4);
    if (!Names.insert(One->Name).second)
      return malformed("holds '" + printable(M.Name) + "' twice");
    Arrays.push_back(std::move(*One));
  }
  return Arrays;
}
