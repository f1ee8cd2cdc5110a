//===- InputFile.cpp - files that are read --------------------------------===//

#include "remat/Support/File.h"
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace remat;

static std::string describe(const std::string &Path, const std::string &Why) {
  return "cannot read '" + Path + "': " + Why;
}

static std::string describe(const std::string &Path, int Code) {
  return describe(Path, std::generic_category().message(Code));
}

static int openRetrying(const std::string &Path) {
  int Descriptor;
  do
    Descriptor = ::open(Path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  while (Descriptor < 0 && errno == EINTR);
  return Descriptor;
}

//===----------------------------------------------------------------------===//
// InputFile
//===----------------------------------------------------------------------===//

InputFile::~InputFile() {
  if (Descriptor >= 0)
    ::close(Descriptor);
}

InputFile::InputFile(InputFile &&From) noexcept
    : Path(std::move(From.Path)),
      Descriptor(std::exchange(From.Descriptor, -1)), Size(From.Size) {}

InputFile &InputFile::operator=(InputFile &&From) noexcept {
  std::swap(Path, From.Path);
  std::swap(Descriptor, From.Descriptor);
  std::swap(Size, From.Size);
  return *this;
}

FileFailure InputFile::open(const std::string &From) {
  Path = From;
  // Asked before it is opened: to open a pipe waits for a writer.
  struct stat Status;
  if (::stat(Path.c_str(), &Status) != 0)
    return describe(Path, errno);
  if (!S_ISREG(Status.st_mode))
    return describe(Path, "it is no regular file");
  Descriptor = openRetrying(Path);
  if (Descriptor < 0 || ::fstat(Descriptor, &Status) != 0)
    return describe(Path, errno);
  Size = uint64_t(Status.st_size);
  return std::nullopt;
}

FileFailure InputFile::read(uint64_t Offset, void *Data, uint64_t Bytes) const {
  auto *To = static_cast<char *>(Data);
  while (Bytes > 0) {
    ssize_t Got = ::pread(Descriptor, To, std::min<uint64_t>(Bytes, 1 << 30),
                          off_t(Offset));
    if (Got < 0 && errno == EINTR)
      continue;
    if (Got < 0)
      return describe(Path, errno);
    if (Got == 0)
      return describe(Path, "it ends at byte " + std::to_string(Offset));
    To += Got;
    Offset += uint64_t(Got);
    Bytes -= uint64_t(Got);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Whole files
//===----------------------------------------------------------------------===//

/// Appends all that `Descriptor` gives.
static FileFailure readAll(int Descriptor, const std::string &Path,
                           uint64_t MaxBytes, std::string &Bytes) {
  constexpr uint64_t Piece = 1 << 16;
  while (true) {
    uint64_t Known = Bytes.size();
    uint64_t Wanted = std::min(Piece, MaxBytes - Known + 1);
    Bytes.resize(Known + Wanted);
    ssize_t Got = ::read(Descriptor, Bytes.data() + Known, Wanted);
    int Code = errno;
    Bytes.resize(Known + uint64_t(std::max<ssize_t>(Got, 0)));
    if (Got < 0 && Code == EINTR)
      continue;
    if (Got < 0)
      return describe(Path, Code);
    if (Bytes.size() > MaxBytes)
      return describe(Path, "it has more than " + std::to_string(MaxBytes) +
                                " bytes");
    if (Got == 0)
      return std::nullopt;
  }
}

FileFailure remat::readWholeFile(const std::string &Path, uint64_t MaxBytes,
                                 std::string &Bytes) {
  Bytes.clear();
  bool Standard = Path == "-";
  struct stat Status;
  if ((Standard ? ::fstat(STDIN_FILENO, &Status)
                : ::stat(Path.c_str(), &Status)) != 0)
    return describe(Path, errno);
  bool Regular = S_ISREG(Status.st_mode);
  if (!Standard && !Regular && !S_ISFIFO(Status.st_mode))
    return describe(Path, "it is neither a file nor a pipe");
  if (Regular && uint64_t(Status.st_size) > MaxBytes)
    return describe(Path, "it has " + std::to_string(Status.st_size) +
                              " bytes, more than the " +
                              std::to_string(MaxBytes) + " that are read");
  int Descriptor = Standard ? STDIN_FILENO : openRetrying(Path);
  if (Descriptor < 0)
    return describe(Path, errno);
  FileFailure Failed;
  try {
    if (Regular)
      Bytes.reserve(uint64_t(Status.st_size) + 1);
    Failed = readAll(Descriptor, Path, MaxBytes, Bytes);
  } catch (const std::bad_alloc &) {
    Bytes = std::string();
    Failed = describe(Path, "there is no host memory for it");
  }
  if (!Standard)
    ::close(Descriptor);
  return Failed;
}
