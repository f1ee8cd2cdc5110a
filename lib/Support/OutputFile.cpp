//===- OutputFile.cpp - files that are whole or not there -----------------===//

#include "Sync.h"
#include "remat/Support/File.h"
#include "remat/Support/Folder.h"
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace remat;

//===----------------------------------------------------------------------===//
// Unfinished files
//===----------------------------------------------------------------------===//

namespace {

/// A name that a signal handler may unlink while `State` is Named.
struct Unfinished {
  enum { Free, Taken, Named };
  std::atomic<int> State{Free};
  char Name[PATH_MAX];
};

} // namespace

static Unfinished UnfinishedFiles[16];

/// Partial files are named so, with the process and a count between.
static constexpr char PartialBegin[] = ".remat-", PartialEnd[] = ".partial";

/// Notes a name before its file exists; -1 if the list is full or the name too
/// long, and the file then stays if the process is killed.
static int noteUnfinished(const std::string &Name) {
  if (Name.size() >= PATH_MAX)
    return -1;
  for (int I = 0; I < int(std::size(UnfinishedFiles)); ++I) {
    Unfinished &U = UnfinishedFiles[I];
    int Expected = Unfinished::Free;
    if (!U.State.compare_exchange_strong(Expected, Unfinished::Taken))
      continue;
    std::memcpy(U.Name, Name.c_str(), Name.size() + 1);
    U.State = Unfinished::Named;
    return I;
  }
  return -1;
}

static void forgetUnfinished(int Slot) {
  if (Slot >= 0)
    UnfinishedFiles[Slot].State = Unfinished::Free;
}

void remat::removeUnfinishedFiles() noexcept {
  for (Unfinished &U : UnfinishedFiles)
    if (U.State == Unfinished::Named)
      ::unlink(U.Name);
}

static bool isUnfinishedHere(std::string_view Name) {
  for (Unfinished &U : UnfinishedFiles)
    if (U.State == Unfinished::Named &&
        std::string_view(U.Name).ends_with(Name))
      return true;
  return false;
}

FileFailure remat::removeLeftovers(const std::string &Folder) {
  std::vector<std::string> Names;
  if (FileFailure Failed = listFolder(Folder, Names))
    return Failed;
  for (const std::string &Name : Names) {
    if (!Name.starts_with(PartialBegin) || !Name.ends_with(PartialEnd) ||
        isUnfinishedHere(Name))
      continue;
    std::string Path = Folder + "/" + Name;
    if (::unlink(Path.c_str()) != 0)
      return "cannot remove '" + Path +
             "': " + std::generic_category().message(errno);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Where a path leads
//===----------------------------------------------------------------------===//

static FileFailure describe(const std::string &Path, int Code) {
  return "cannot write '" + Path +
         "': " + std::generic_category().message(Code);
}

static std::string getFolder(const std::string &Path) {
  size_t Slash = Path.rfind('/');
  if (Slash == std::string::npos)
    return "";
  return Path.substr(0, Slash + 1);
}

/// Whether the system makes this path anew for each process, as it does
/// /dev/stdout: what stands behind it is open already and keeps its name.
static bool isOfProcess(const std::string &Path) {
  return Path.rfind("/proc/", 0) == 0 || Path.rfind("/dev/fd/", 0) == 0;
}

/// The end of a chain of links, which need not exist.
static int followLinks(std::string &Path) {
  for (int Links = 0; Links < 40; ++Links) {
    char To[PATH_MAX];
    ssize_t Length =
        isOfProcess(Path) ? -1 : ::readlink(Path.c_str(), To, sizeof To);
    if (Length < 0)
      return 0;
    // A link that does not begin at the root begins in its own folder.
    Path = Length > 0 && To[0] == '/' ? "" : getFolder(Path);
    Path.append(To, size_t(Length));
  }
  return ELOOP;
}

/// Where `Path` leads, and whether a file there is written directly. Gives the
/// error's number, or 0.
static int resolve(const std::string &Path, std::string &Target, bool &Direct,
                   mode_t &Mode) {
  Target = Path;
  Direct = false;
  Mode = 0;
  if (int Code = followLinks(Target))
    return Code;
  struct stat Status;
  if (::stat(Target.c_str(), &Status) != 0)
    return errno == ENOENT ? 0 : errno;
  if (S_ISDIR(Status.st_mode))
    return EISDIR;
  Direct = !S_ISREG(Status.st_mode) || isOfProcess(Target);
  Mode = Status.st_mode & 07777;
  return ::access(Target.c_str(), W_OK) == 0 ? 0 : errno;
}

//===----------------------------------------------------------------------===//
// OutputFile
//===----------------------------------------------------------------------===//

OutputFile::~OutputFile() {
  if (Descriptor >= 0)
    ::close(Descriptor);
  if (!Partial.empty())
    ::unlink(Partial.c_str());
  forgetUnfinished(Slot);
}

FileFailure OutputFile::fail(int Code) { return describe(Path, Code); }

/// Makes a file of a free name in the target's folder.
FileFailure OutputFile::openBeside(const std::string &Target) {
  static std::atomic<unsigned> Count{0};
  for (int Attempt = 0; Attempt < 100; ++Attempt) {
    std::string Name = getFolder(Target) + PartialBegin +
                       std::to_string(::getpid()) + "-" +
                       std::to_string(Count++) + PartialEnd;
    Slot = noteUnfinished(Name);
    Descriptor =
        ::open(Name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
               S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
    if (Descriptor >= 0) {
      Partial = std::move(Name);
      return std::nullopt;
    }
    int Code = errno;
    forgetUnfinished(Slot);
    Slot = -1;
    if (Code != EEXIST && Code != EINTR)
      return fail(Code);
  }
  return fail(EEXIST);
}

FileFailure OutputFile::open(const std::string &To) {
  Path = To;
  bool Direct = false;
  mode_t Mode = 0;
  if (int Code = resolve(Path, Target, Direct, Mode))
    return fail(Code);
  if (!Direct) {
    if (FileFailure Failed = openBeside(Target))
      return Failed;
    // The file that is replaced keeps its permissions.
    if (Mode != 0 && ::fchmod(Descriptor, Mode) != 0)
      return fail(errno);
    return std::nullopt;
  }
  do
    Descriptor =
        ::open(Target.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
  while (Descriptor < 0 && errno == EINTR);
  return Descriptor < 0 ? fail(errno) : std::nullopt;
}

/// Writes all or gives the error's number.
static int writeAll(int Descriptor, const void *Data, uint64_t Bytes) {
  auto *From = static_cast<const char *>(Data);
  while (Bytes > 0) {
    ssize_t Written =
        ::write(Descriptor, From, std::min<uint64_t>(Bytes, 1 << 30));
    if (Written < 0 && errno == EINTR)
      continue;
    if (Written <= 0)
      return Written < 0 ? errno : EIO;
    From += Written;
    Bytes -= uint64_t(Written);
  }
  return 0;
}

FileFailure OutputFile::write(const void *Data, uint64_t Bytes) {
  int Code = writeAll(Descriptor, Data, Bytes);
  return Code ? fail(Code) : std::nullopt;
}

FileFailure OutputFile::commit() {
  if (!Partial.empty())
    if (int Code = syncFile(Descriptor))
      return fail(Code);
  int Closed = ::close(Descriptor);
  Descriptor = -1;
  if (Closed != 0 && errno != EINTR)
    return fail(errno);
  if (Partial.empty())
    return std::nullopt;
  if (std::rename(Partial.c_str(), Target.c_str()) != 0)
    return fail(errno);
  Partial.clear();
  int Code = syncFolder(getFolder(Target));
  return Code ? fail(Code) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Whole files
//===----------------------------------------------------------------------===//

FileFailure remat::writeWholeFile(const std::string &Path, const void *Data,
                                  uint64_t Bytes) {
  OutputFile File;
  if (FileFailure Failed = File.open(Path))
    return Failed;
  if (FileFailure Failed = File.write(Data, Bytes))
    return Failed;
  return File.commit();
}

FileFailure remat::checkWritable(const std::string &Path) {
  std::string Target;
  bool Direct = false;
  mode_t Mode = 0;
  if (int Code = resolve(Path, Target, Direct, Mode))
    return describe(Path, Code);
  // To open a pipe or a device can be an act of its own.
  if (Direct)
    return std::nullopt;
  return OutputFile().open(Path);
}

FileFailure remat::checkOutputs(
    std::span<const std::pair<const char *, std::string>> Outputs) {
  std::vector<std::pair<const char *, std::string>> Seen;
  for (const auto &[Option, Path] : Outputs) {
    if (Path.empty())
      continue;
    if (FileFailure Failed = checkWritable(Path))
      return std::string(Option) + ": " + *Failed;
    std::string Target;
    bool Direct = false;
    mode_t Mode = 0;
    if (resolve(Path, Target, Direct, Mode) != 0 || Direct)
      continue;
    std::error_code Code; // "a/./b" is "a/b"; on failure it is compared as is
    if (auto Canonical = std::filesystem::weakly_canonical(Target, Code); !Code)
      Target = Canonical.string();
    for (const auto &[Other, Known] : Seen)
      if (Known == Target)
        return std::string(Option) + " and " + Other + " both write '" + Path +
               "'";
    Seen.emplace_back(Option, std::move(Target));
  }
  return std::nullopt;
}

FileFailure remat::writeStandardOutput(const void *Data, uint64_t Bytes) {
  if (int Code = writeAll(STDOUT_FILENO, Data, Bytes))
    return "cannot write to standard output: " +
           std::generic_category().message(Code);
  return std::nullopt;
}
