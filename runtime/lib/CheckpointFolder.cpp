//===- CheckpointFolder.cpp - checkpoints are written ---------------------===//

#include "lib/CheckpointFormat.h"
#include "lib/CheckpointParts.h"
#include "lib/File.h"
#include "lib/Guard.h"
#include "lib/SafetensorsHeader.h"
#include "ops/Op.h"
#include "remat/runtime/Checkpoint.h"
#include "remat/runtime/Sha256.h"
#include "remat/runtime/Together.h"
#include <algorithm>
#include <cerrno>
#include <system_error>
#include <unistd.h>

using namespace remat;
using namespace remat::runtime;

static TensorEntry getChecksumEntry(uint32_t Count) {
  uint64_t Bytes = ChecksumBytes * Count;
  return {
      ChecksumName, DType::I64, {static_cast<int64_t>(Bytes / 8)}, 0, Bytes};
}

/// Of the files of `Steps` steps and fewer all but the newest `Keep`; and files
/// of ranks whose checkpoint is gone or was never made.
static Status removeOlder(const std::string &Folder, uint64_t Steps,
                          uint64_t Keep) {
  auto Remove = [](const std::string &Path) -> Status {
    if (::unlink(Path.c_str()) == 0)
      return {};
    return Error(ErrorCode::IO, "cannot remove '" + Path + "': " +
                                    std::generic_category().message(errno));
  };
  auto Files = listCheckpoints(Folder);
  if (!Files)
    return Files.getError();
  uint64_t Kept = 0;
  std::vector<std::string> Left;
  for (const NamedCheckpoint &Name : *Files) {
    if (Name.Steps > Steps || Kept++ < Keep)
      Left.push_back(Name.Path);
    else
      REMAT_TRY(Remove(Name.Path));
  }
  std::vector<std::string> Names;
  REMAT_TRY(toStatus(listFolder(Folder, Names)));
  for (const std::string &Name : Names) {
    std::string Main = getMainName(Name);
    if (readName(Main) && !std::ranges::count(Left, Folder + "/" + Main))
      REMAT_TRY(Remove(Folder + "/" + Name));
  }
  return {};
}

/// Takes a folder for rank 0.
Status CheckpointFolder::take() {
  REMAT_TRY(toStatus(Lock.take(Path)));
  REMAT_TRY(toStatus(removeLeftovers(Path)));
  REMAT_TRY(removeOlder(Path, 0, UINT64_MAX));
  REMAT_TRY(toStatus(checkWritable(getPath(Path, UINT64_MAX))));
  auto Files = listCheckpoints(Path);
  if (!Files)
    return Files.getError();
  WasEmpty = Files->empty();
  return {};
}

Result<CheckpointFolder> CheckpointFolder::open(const std::string &Path,
                                                Ranks *TheRanks) {
  return guard([&]() -> Result<CheckpointFolder> {
    CheckpointFolder Folder;
    Folder.Path = Path;
    bool IsFirst = !TheRanks || TheRanks->getRank() == 0;
    REMAT_TRY(agree(TheRanks, IsFirst ? Folder.take() : Status()));
    if (TheRanks)
      REMAT_TRY(
          broadcast(*TheRanks, 0, &Folder.WasEmpty, sizeof Folder.WasEmpty));
    return Folder;
  });
}

/// The file of a rank: the parts that none of a lower number holds. Rank 0's
/// says what the checkpoint is.
static SafetensorsHeader makeHeader(const Program &P, uint32_t Rank,
                                    uint64_t Steps, const RunFacts &Facts) {
  SafetensorsHeader Header;
  for (const Argument &A : P.Arguments)
    if (isKept(A) && Part::of(P, A, Rank).isFirst()) {
      const Tensor &T = P.Tensors[A.Tensor];
      Header.Tensors.push_back({A.Name, T.Type, T.Shape, 0, T.Bytes});
    }
  uint32_t Count = P.getNumRanks();
  bool HasParts =
      Count > 1 || std::ranges::any_of(P.Arguments, [](const Argument &A) {
        return !A.Cuts.empty();
      });
  Header.Metadata[StepsKey] = std::to_string(Steps);
  Header.Metadata[FormatKey] = Rank == 0 ? Format : PartFormat;
  Header.Metadata[VersionKey] = HasParts ? RankedVersion : Version;
  if (HasParts && Rank == 0)
    describeParts(P, Header);
  for (const auto &[Name, Text] : Facts)
    if (Rank == 0)
      Header.Metadata[FactBegin + Name] = Text;
  Header.Tensors.push_back(getChecksumEntry(Rank == 0 ? Count : 1));
  return Header;
}

namespace {

/// Writes a rank's file.
class RankFile {
public:
  /// All but the checksums.
  Status write(Session &S, const std::string &Path,
               const SafetensorsHeader &Header);
  const std::string &getChecksum() const { return Checksum; }
  Status finish(const std::string &Checksums) {
    REMAT_TRY(File->write(Checksums.data(), Checksums.size()));
    return File->finish();
  }

private:
  std::optional<TensorWriter> File;
  std::string Checksum;
};

} // namespace

Status RankFile::write(Session &S, const std::string &Path,
                       const SafetensorsHeader &Header) {
  Result<std::string> Text = formatSafetensorsHeader(Header);
  if (!Text)
    return Text.getError();
  Sha256 Digest;
  Digest.update(Text->data(), Text->size());
  Result<TensorWriter> Made = TensorWriter::create(Path, Header);
  if (!Made)
    return Made.getError();
  File = std::move(*Made);
  for (const TensorEntry &T : Header.Tensors)
    if (T.Name != ChecksumName)
      REMAT_TRY(S.storeArgument(T.Name, [&](const void *Data, uint64_t Bytes) {
        Digest.update(Data, Bytes);
        return File->write(Data, Bytes);
      }));
  Checksum = Digest.finish();
  if (Checksum.size() != ChecksumBytes)
    return Error(ErrorCode::DeviceFailure, "libcrypto computes no SHA-256");
  return {};
}

Status CheckpointFolder::keepFolder() {
  if (Lock.isOf(Path))
    return {};
  FolderLock Other;
  REMAT_TRY(toStatus(Other.take(Path)));
  auto Files = listCheckpoints(Path);
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
    Ranks *Others = S.getDevice().getRanks();
    uint32_t Rank = S.getRank();
    REMAT_TRY(agree(Others, Rank == 0 ? keepFolder() : Status()));
    std::string Main = getPath(Path, Steps);
    const Program &P = S.getProgram();
    RankFile Own;
    REMAT_TRY(workTogether(Others, [&]() -> Status {
      REMAT_TRY(Own.write(S, getPartPath(Main, Rank, P.getNumRanks()),
                          makeHeader(P, Rank, Steps, Facts)));
      return Rank == 0 ? Status() : Own.finish(Own.getChecksum());
    }));
    std::string Checksums = Own.getChecksum();
    if (Others) {
      auto All = allGather(*Others, Own.getChecksum());
      if (!All)
        return All.getError();
      Checksums.clear();
      for (const std::string &Checksum : *All)
        Checksums += Checksum;
    }
    // The others' files are on the disk.
    REMAT_TRY(workTogether(Others, [&]() -> Status {
      if (Rank != 0)
        return {};
      REMAT_TRY(Own.finish(Checksums));
      return removeOlder(Path, Steps, Keep);
    }));
    return Main;
  });
}
