//===- Checkpoint.cpp - a training that can go on later -------------------===//

#include "remat/runtime/Checkpoint.h"
#include "lib/CheckpointFormat.h"
#include "lib/CheckpointParts.h"
#include "lib/File.h"
#include "lib/Guard.h"
#include "lib/SafetensorsHeader.h"
#include "lib/StoredTensor.h"
#include "ops/Op.h"
#include "remat/Support/Numbers.h"
#include "remat/runtime/Safetensors.h"
#include "remat/runtime/Sha256.h"
#include "remat/runtime/Together.h"
#include <algorithm>
#include <cerrno>
#include <system_error>
#include <unistd.h>

using namespace remat;
using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Error refuse(const std::string &Path, const std::string &Why) {
  return Error(ErrorCode::InvalidFile, "'" + Path + "' " + Why);
}

static std::string find(const SafetensorsHeader &Header, const char *Key) {
  auto Known = Header.Metadata.find(Key);
  return Known == Header.Metadata.end() ? "" : Known->second;
}

/// The checksums at the end of a file, of itself and of those beside it.
static Result<std::string> readChecksums(const TensorReader &File,
                                         uint32_t Count,
                                         const std::string &Path) {
  const SafetensorsHeader &Header = File.getHeader();
  if (Header.Tensors.empty() || Header.Tensors.back().Name != ChecksumName ||
      Header.Tensors.back().Bytes != ChecksumBytes * Count)
    return refuse(Path, Count == 1
                            ? "has no checksum at its end"
                            : "has no checksums of " + std::to_string(Count) +
                                  " files at its end");
  std::string Stored(ChecksumBytes * Count, '\0');
  REMAT_TRY(File.read(Header.Tensors.back(), 0, Stored.data(), Stored.size()));
  return Stored;
}

/// Whether the bytes of the file are those that were written.
static Status checkBytes(const TensorReader &File, const std::string &Path,
                         std::string_view Checksum) {
  const SafetensorsHeader &Header = File.getHeader();
  Result<std::string> Text = formatSafetensorsHeader(Header);
  if (!Text)
    return Text.getError();
  Sha256 Digest;
  Digest.update(Text->data(), Text->size());
  std::vector<char> Buffer(StreamBytes);
  for (const TensorEntry &T : Header.Tensors) {
    if (&T == &Header.Tensors.back())
      break;
    for (uint64_t At = 0; At < T.Bytes; At += Buffer.size()) {
      uint64_t Count = std::min<uint64_t>(Buffer.size(), T.Bytes - At);
      REMAT_TRY(File.read(T, At, Buffer.data(), Count));
      Digest.update(Buffer.data(), Count);
    }
  }
  if (Digest.finish() != Checksum)
    return refuse(Path, "is not as it was written: its checksum is another");
  return {};
}

/// Checks the bytes of all files of a checkpoint.
static Status checkFiles(const TensorReader &Main, uint32_t Count,
                         const std::string &Path) {
  Result<std::string> Checksums = readChecksums(Main, Count, Path);
  if (!Checksums)
    return Checksums.getError();
  auto GetChecksum = [&](uint32_t Rank) {
    return std::string_view(*Checksums)
        .substr(Rank * ChecksumBytes, ChecksumBytes);
  };
  REMAT_TRY(checkBytes(Main, Path, GetChecksum(0)));
  for (uint32_t Rank = 1; Rank < Count; ++Rank) {
    std::string Beside = getPartPath(Path, Rank, Count);
    Result<TensorReader> File = TensorReader::open(Beside);
    if (!File)
      return File.getError();
    Result<std::string> Own = readChecksums(*File, 1, Beside);
    if (!Own)
      return Own.getError();
    REMAT_TRY(checkBytes(*File, Beside, GetChecksum(Rank)));
  }
  return {};
}

/// Reads a checkpoint and says what it is; `IsWhole`: its bytes were looked at
/// already.
static Result<Checkpoint> inspect(const NamedCheckpoint &Name,
                                  bool IsWhole = false) {
  Result<TensorReader> File = TensorReader::open(Name.Path);
  if (!File)
    return File.getError();
  const SafetensorsHeader &Header = File->getHeader();
  if (find(Header, FormatKey) != Format)
    return refuse(Name.Path, "is no checkpoint");
  std::string Is = find(Header, VersionKey);
  if (Is != Version && Is != RankedVersion)
    return refuse(Name.Path, "is of version " + Is +
                                 " of the format; versions " + Version +
                                 " and " + RankedVersion + " are read");
  auto Steps = parseInteger<uint64_t>(find(Header, StepsKey), 0, UINT64_MAX);
  if (!Steps)
    return refuse(Name.Path, "does not say how many steps are done");
  if (Steps != Name.Steps)
    return refuse(Name.Path, "is of " + std::to_string(*Steps) +
                                 " steps; its name says another number");
  if (!IsWhole) {
    uint32_t Count = 1;
    if (Is == RankedVersion) {
      Result<Program> Parts = readParts(Header, Name.Path);
      if (!Parts)
        return Parts.getError();
      Count = Parts->getNumRanks();
    }
    REMAT_TRY(checkFiles(*File, Count, Name.Path));
  }
  Checkpoint Found{Name.Path, *Steps, {}};
  for (const auto &[Key, Text] : Header.Metadata)
    if (Key.starts_with(FactBegin))
      Found.Facts[Key.substr(sizeof FactBegin - 1)] = Text;
  return Found;
}

static Status search(const std::string &Folder, CheckpointSearch &To) {
  auto Files = listCheckpoints(Folder);
  if (!Files)
    return Files.getError();
  for (const NamedCheckpoint &Name : *Files) {
    Result<Checkpoint> Found = inspect(Name);
    if (Found) {
      To.Newest = std::move(*Found);
      return {};
    }
    if (Found.getError().getCode() == ErrorCode::OutOfMemory)
      return Found.getError();
    To.Skipped.push_back(Found.getError().getMessage());
  }
  if (Files->empty())
    return {};
  return Error(ErrorCode::InvalidFile, "no checkpoint in '" + Folder +
                                           "' is whole: " + To.Skipped.front());
}

Result<CheckpointSearch> runtime::findCheckpoint(const std::string &Folder,
                                                 Ranks *TheRanks) {
  return guard([&]() -> Result<CheckpointSearch> {
    CheckpointSearch Search;
    bool IsFirst = !TheRanks || TheRanks->getRank() == 0;
    REMAT_TRY(workTogether(TheRanks, [&]() -> Status {
      return IsFirst ? search(Folder, Search) : Status();
    }));
    if (!TheRanks)
      return Search;
    // The others take the one that rank 0 found.
    std::string Own;
    if (Search.Newest)
      Own = std::to_string(Search.Newest->Steps) + " " + Search.Newest->Path;
    Result<std::string> Found = broadcast(*TheRanks, 0, Own);
    if (!Found)
      return Found.getError();
    Status Opened;
    if (size_t At = Found->find(' '); !IsFirst && At != std::string::npos) {
      NamedCheckpoint Name{
          parseNumber<uint64_t>(Found->substr(0, At)).value_or(0),
          Found->substr(At + 1)};
      if (Result<Checkpoint> Known = inspect(Name, /*IsWhole=*/true))
        Search.Newest = std::move(*Known);
      else
        Opened = Known.getError();
    }
    REMAT_TRY(agree(TheRanks, Opened));
    return Search;
  });
}

/// Whether the program has the tensors of a checkpoint, and no others.
static Status checkArguments(const Program &P, const Program &Stored,
                             const std::string &Path) {
  for (const Argument &A : P.Arguments) {
    if (!isKept(A))
      continue;
    std::optional<uint32_t> Number = Stored.findArgument(A.Name);
    if (!Number)
      return Error(ErrorCode::InvalidArgument, "the program has '" + A.Name +
                                                   "', which '" + Path +
                                                   "' has not");
    TensorEntry Entry = describeStored(Stored, Stored.Arguments[*Number]);
    REMAT_TRY(checkStored(describeStored(P, A), Entry.Type, Entry.Shape, Path));
  }
  for (const Argument &A : Stored.Arguments) {
    std::optional<uint32_t> Number = P.findArgument(A.Name);
    if (!Number || !isKept(P.Arguments[*Number]))
      return Error(ErrorCode::InvalidArgument,
                   "'" + Path + "' has '" + A.Name +
                       "', which the program has not");
  }
  return {};
}

Status runtime::loadCheckpoint(Session &S, const Checkpoint &From) {
  return guard([&]() -> Status {
    return workTogether(S.getDevice().getRanks(), [&]() -> Status {
      Result<StoredParts> Files = StoredParts::open(From.Path);
      if (!Files)
        return Files.getError();
      const Program &P = S.getProgram();
      REMAT_TRY(checkArguments(P, Files->getProgram(), From.Path));
      for (const Argument &A : P.Arguments)
        if (isKept(A))
          REMAT_TRY(Files->load(S, A));
      return {};
    });
  });
}
