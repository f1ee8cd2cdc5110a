//===- Checkpoint.cpp - a training that can go on later -------------------===//

#include "remat/runtime/Checkpoint.h"
#include "lib/File.h"
#include "lib/Guard.h"
#include "lib/SafetensorsHeader.h"
#include "lib/StoredTensor.h"
#include "ops/Op.h"
#include "remat/Support/Numbers.h"
#include "remat/runtime/Safetensors.h"
#include "remat/runtime/Sha256.h"
#include <algorithm>
#include <cerrno>
#include <system_error>
#include <unistd.h>

using namespace remat;
using namespace remat::runtime;

/// What the metadata says of a checkpoint; its facts are named "run.seed".
static constexpr char FormatKey[] = "format", Format[] = "remat.checkpoint",
                      VersionKey[] = "version", Version[] = "1",
                      StepsKey[] = "steps", FactBegin[] = "run.";

/// The last tensor of a file: the SHA-256 of its header and of all tensors
/// before, as 64 hexadecimal digits. Safetensors has no other place for what is
/// known at the end.
static constexpr char ChecksumName[] = "remat.sha256";
static constexpr uint64_t ChecksumBytes = 64;

static TensorEntry getChecksumEntry() {
  return {ChecksumName, DType::I64, {ChecksumBytes / 8}, 0, ChecksumBytes};
}

static bool isKept(const Argument &A) { return A.Role != Role::Input; }

//===----------------------------------------------------------------------===//
// Names of files
//===----------------------------------------------------------------------===//

static constexpr std::string_view NameBegin = "step-", NameEnd = ".safetensors";

static std::string getPath(const std::string &Folder, uint64_t Steps) {
  std::string Number = std::to_string(Steps);
  Number.insert(0, Number.size() < 10 ? 10 - Number.size() : 0, '0');
  return Folder + "/" + std::string(NameBegin) + Number + std::string(NameEnd);
}

/// The steps that a name says; nothing if it is no name of a checkpoint.
static std::optional<uint64_t> readName(std::string_view Name) {
  if (!Name.starts_with(NameBegin) || !Name.ends_with(NameEnd))
    return std::nullopt;
  Name.remove_prefix(NameBegin.size());
  Name.remove_suffix(std::min(NameEnd.size(), Name.size()));
  return parseInteger<uint64_t>(Name, 0, UINT64_MAX);
}

namespace {
struct Named {
  uint64_t Steps;
  std::string Path;
};
} // namespace

/// The files of a folder by their names, the newest first.
static Result<std::vector<Named>> list(const std::string &Folder) {
  std::vector<Named> Files;
  std::vector<std::string> Names;
  REMAT_TRY(toStatus(listFolder(Folder, Names)));
  for (const std::string &Name : Names)
    if (auto Steps = readName(Name))
      Files.push_back({*Steps, Folder + "/" + Name});
  std::sort(Files.begin(), Files.end(), [](const Named &A, const Named &B) {
    return std::tie(A.Steps, A.Path) > std::tie(B.Steps, B.Path);
  });
  return Files;
}

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

/// Whether the bytes of the file are those that were written.
static Status checkBytes(const TensorReader &File, const std::string &Path) {
  const SafetensorsHeader &Header = File.getHeader();
  if (Header.Tensors.empty() || Header.Tensors.back().Name != ChecksumName ||
      Header.Tensors.back().Bytes != ChecksumBytes)
    return refuse(Path, "has no checksum at its end");
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
  std::string Stored(ChecksumBytes, '\0');
  REMAT_TRY(File.read(Header.Tensors.back(), 0, Stored.data(), ChecksumBytes));
  if (Digest.finish() != Stored)
    return refuse(Path, "is not as it was written: its checksum is another");
  return {};
}

/// Reads a file whole, and says what it is.
static Result<Checkpoint> inspect(const Named &Name) {
  Result<TensorReader> File = TensorReader::open(Name.Path);
  if (!File)
    return File.getError();
  const SafetensorsHeader &Header = File->getHeader();
  if (find(Header, FormatKey) != Format)
    return refuse(Name.Path, "is no checkpoint");
  if (std::string Is = find(Header, VersionKey); Is != Version)
    return refuse(Name.Path, "is of version " + Is +
                                 " of the format; version " + Version +
                                 " is read");
  auto Steps = parseInteger<uint64_t>(find(Header, StepsKey), 0, UINT64_MAX);
  if (!Steps)
    return refuse(Name.Path, "does not say how many steps are done");
  if (Steps != Name.Steps)
    return refuse(Name.Path, "is of " + std::to_string(*Steps) +
                                 " steps; its name says another number");
  REMAT_TRY(checkBytes(*File, Name.Path));
  Checkpoint Found{Name.Path, *Steps, {}};
  for (const auto &[Key, Text] : Header.Metadata)
    if (Key.starts_with(FactBegin))
      Found.Facts[Key.substr(sizeof FactBegin - 1)] = Text;
  return Found;
}

Result<CheckpointSearch> runtime::findCheckpoint(const std::string &Folder) {
  return guard([&]() -> Result<CheckpointSearch> {
    CheckpointSearch Search;
    auto Files = list(Folder);
    if (!Files)
      return Files.getError();
    for (const Named &Name : *Files) {
      Result<Checkpoint> Found = inspect(Name);
      if (Found) {
        Search.Newest = std::move(*Found);
        return Search;
      }
      if (Found.getError().getCode() == ErrorCode::OutOfMemory)
        return Found.getError();
      Search.Skipped.push_back(Found.getError().getMessage());
    }
    if (Files->empty())
      return Search;
    return Error(ErrorCode::InvalidFile,
                 "no checkpoint in '" + Folder +
                     "' is whole: " + Search.Skipped.front());
  });
}

/// The tensor of the file for each argument, null for inputs.
static Result<std::vector<const TensorEntry *>>
findStored(const Program &P, const SafetensorsHeader &Header,
           const std::string &Path) {
  std::vector<const TensorEntry *> Entries(P.Arguments.size());
  for (size_t I = 0; I < Entries.size(); ++I) {
    const Argument &A = P.Arguments[I];
    if (!isKept(A))
      continue;
    Entries[I] = Header.find(A.Name);
    if (!Entries[I])
      return Error(ErrorCode::InvalidArgument, "the program has '" + A.Name +
                                                   "', which '" + Path +
                                                   "' has not");
    REMAT_TRY(checkStored(describeStored(P, A), Entries[I]->Type,
                          Entries[I]->Shape, Path));
  }
  for (const TensorEntry &T : Header.Tensors) {
    std::optional<uint32_t> Number = P.findArgument(T.Name);
    if (T.Name != ChecksumName && (!Number || !Entries[*Number]))
      return Error(ErrorCode::InvalidArgument,
                   "'" + Path + "' has '" + T.Name +
                       "', which the program has not");
  }
  return Entries;
}

Status runtime::loadCheckpoint(Session &S, const Checkpoint &From) {
  return guard([&]() -> Status {
    Result<TensorReader> File = TensorReader::open(From.Path);
    if (!File)
      return File.getError();
    const Program &P = S.getProgram();
    auto Entries = findStored(P, File->getHeader(), From.Path);
    if (!Entries)
      return Entries.getError();
    for (size_t I = 0; I < Entries->size(); ++I)
      if (const TensorEntry *Stored = (*Entries)[I])
        REMAT_TRY(
            S.loadArgument(P.Arguments[I].Name,
                           [&](uint64_t Offset, void *Data, uint64_t Bytes) {
                             return File->read(*Stored, Offset, Data, Bytes);
                           }));
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Result<CheckpointFolder> CheckpointFolder::open(const std::string &Path) {
  return guard([&]() -> Result<CheckpointFolder> {
    CheckpointFolder Folder;
    Folder.Path = Path;
    REMAT_TRY(toStatus(Folder.Lock.take(Path)));
    REMAT_TRY(toStatus(removeLeftovers(Path)));
    REMAT_TRY(toStatus(checkWritable(getPath(Path, UINT64_MAX))));
    auto Files = list(Path);
    if (!Files)
      return Files.getError();
    Folder.WasEmpty = Files->empty();
    return Folder;
  });
}

static SafetensorsHeader makeHeader(const Program &P, uint64_t Steps,
                                    const RunFacts &Facts) {
  SafetensorsHeader Header = describeAll(P, P.Arguments, isKept);
  Header.Tensors.push_back(getChecksumEntry());
  Header.Metadata = {{FormatKey, Format},
                     {VersionKey, Version},
                     {StepsKey, std::to_string(Steps)}};
  for (const auto &[Name, Text] : Facts)
    Header.Metadata[FactBegin + Name] = Text;
  return Header;
}

static Status write(Session &S, const std::string &Path,
                    const SafetensorsHeader &Header) {
  Result<std::string> Text = formatSafetensorsHeader(Header);
  if (!Text)
    return Text.getError();
  Sha256 Digest;
  Digest.update(Text->data(), Text->size());
  Result<TensorWriter> File = TensorWriter::create(Path, Header);
  if (!File)
    return File.getError();
  for (const Argument &A : S.getProgram().Arguments)
    if (isKept(A))
      REMAT_TRY(S.storeArgument(A.Name, [&](const void *Data, uint64_t Bytes) {
        Digest.update(Data, Bytes);
        return File->write(Data, Bytes);
      }));
  std::string Checksum = Digest.finish();
  if (Checksum.size() != ChecksumBytes)
    return Error(ErrorCode::DeviceFailure, "libcrypto computes no SHA-256");
  REMAT_TRY(File->write(Checksum.data(), ChecksumBytes));
  return File->finish();
}

/// Of the files of `Steps` steps and fewer all but the newest `Keep`.
static Status removeOlder(const std::string &Folder, uint64_t Steps,
                          uint64_t Keep) {
  auto Files = list(Folder);
  if (!Files)
    return Files.getError();
  uint64_t Kept = 0;
  for (const Named &Name : *Files) {
    if (Name.Steps > Steps || Kept++ < Keep)
      continue;
    if (::unlink(Name.Path.c_str()) != 0)
      return Error(ErrorCode::IO, "cannot remove '" + Name.Path + "': " +
                                      std::generic_category().message(errno));
  }
  return {};
}

Status CheckpointFolder::keepFolder() {
  if (Lock.isOf(Path))
    return {};
  FolderLock Other;
  REMAT_TRY(toStatus(Other.take(Path)));
  auto Files = list(Path);
  if (!Files)
    return Files.getError();
  if (!Files->empty())
    return Error(ErrorCode::IO, "'" + Path +
                                    "' is another folder than before, with "
                                    "checkpoints of another run");
  Lock = std::move(Other);
  return {};
}

Result<std::string> CheckpointFolder::save(Session &S, uint64_t Steps,
                                           const RunFacts &Facts,
                                           uint64_t Keep) {
  return guard([&]() -> Result<std::string> {
    if (Keep == 0)
      return Error(ErrorCode::InvalidArgument,
                   "0 checkpoints are to be kept; it must be at least 1");
    REMAT_TRY(keepFolder());
    std::string File = getPath(Path, Steps);
    REMAT_TRY(write(S, File, makeHeader(S.getProgram(), Steps, Facts)));
    REMAT_TRY(removeOlder(Path, Steps, Keep));
    return File;
  });
}
