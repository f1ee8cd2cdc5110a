//===- File.h - whole files, read and written safely ------------*- C++ -*-===//
//
// What every tool and the runtime use to read and write files. A function
// returns nothing on success, else why not, with the path.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_FILE_H
#define REMAT_SUPPORT_FILE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remat {

using FileFailure = std::optional<std::string>;

/// A file being written. A regular file is written under another name beside
/// its place and renamed at the end: no reader ever sees half of it, and what
/// was there stays if writing fails. Links are followed. Devices, pipes and
/// sockets are written directly and stay what they are.
class OutputFile {
public:
  OutputFile() = default;
  ~OutputFile(); ///< what was not committed is removed
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  FileFailure open(const std::string &Path);
  FileFailure write(const void *Data, uint64_t Bytes);
  /// Brings all to the disk, gives the file its name, and brings that to the
  /// disk.
  FileFailure commit();

private:
  FileFailure fail(int Code);
  FileFailure openBeside(const std::string &Target);

  std::string Path, Target, Partial; ///< no Partial: written directly
  int Descriptor = -1;
  int Slot = -1; ///< in the list of unfinished files
};

/// Opens, writes and commits. `Path` "-" is no special name here.
FileFailure writeWholeFile(const std::string &Path, const void *Data,
                           uint64_t Bytes);

/// Whether a file could be written at `Path` now. Leaves nothing behind: it is
/// for asking before long work whose result goes there.
FileFailure checkWritable(const std::string &Path);

/// `checkWritable` for each option and path that is not empty, naming the
/// option; two options must not name one regular file.
FileFailure
checkOutputs(std::span<const std::pair<const char *, std::string>> Outputs);

/// Writes to standard output and checks it.
FileFailure writeStandardOutput(const void *Data, uint64_t Bytes);

/// A file being read.
class InputFile {
public:
  InputFile() = default;
  ~InputFile();
  InputFile(InputFile &&From) noexcept;
  InputFile &operator=(InputFile &&From) noexcept;

  /// Opens a regular file; anything else has no size.
  FileFailure open(const std::string &Path);
  uint64_t getSize() const { return Size; }
  /// Reads exactly these bytes; a file that has become shorter is an error.
  FileFailure read(uint64_t Offset, void *Data, uint64_t Bytes) const;

private:
  std::string Path;
  int Descriptor = -1;
  uint64_t Size = 0;
};

/// Reads a regular file or a pipe, "-": standard input, into `Bytes`. Devices
/// such as /dev/zero that standard input does not name are refused, and no more
/// than `MaxBytes` are read of anything.
FileFailure readWholeFile(const std::string &Path, uint64_t MaxBytes,
                          std::string &Bytes);

/// Removes the partial files of this process. Safe in a signal handler.
void removeUnfinishedFiles() noexcept;

/// Removes the partial files that killed processes left in `Folder`. Nobody
/// else may write there now; what this process is writing stays.
FileFailure removeLeftovers(const std::string &Folder);

} // namespace remat

#endif // REMAT_SUPPORT_FILE_H
