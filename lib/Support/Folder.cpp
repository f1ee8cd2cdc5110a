//===- Folder.cpp - folders and their locks -------------------------------===//

#include "remat/Support/Folder.h"
#include "Sync.h"
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace remat;

//===----------------------------------------------------------------------===//
// On the disk
//===----------------------------------------------------------------------===//

int remat::syncFile(int Descriptor) {
  bool Done = ::fsync(Descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
  return Done ? 0 : errno;
}

static int openFolder(const std::string &Path) {
  return ::open(Path.empty() ? "." : Path.c_str(),
                O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int remat::syncFolder(const std::string &Folder) {
  int Descriptor = openFolder(Folder);
  // A folder that one may write to but not read cannot be asked.
  if (Descriptor < 0)
    return errno == EACCES ? 0 : errno;
  int Code = syncFile(Descriptor);
  ::close(Descriptor);
  return Code;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

// Not by std::filesystem, whose iterators end the process where memory ends.
FileFailure remat::listFolder(const std::string &Path,
                              std::vector<std::string> &Names) {
  auto Fail = [&](int Code) {
    return "cannot read the folder '" + Path +
           "': " + std::generic_category().message(Code);
  };
  struct Closer {
    void operator()(DIR *D) const { ::closedir(D); }
  };
  std::unique_ptr<DIR, Closer> Folder(::opendir(Path.c_str()));
  if (!Folder)
    return errno == ENOENT ? FileFailure() : Fail(errno);
  while (true) {
    errno = 0;
    struct dirent *Entry = ::readdir(Folder.get());
    if (!Entry)
      return errno ? Fail(errno) : FileFailure();
    Names.emplace_back(Entry->d_name);
  }
}

//===----------------------------------------------------------------------===//
// FolderLock
//===----------------------------------------------------------------------===//

FolderLock::~FolderLock() {
  if (Descriptor >= 0)
    ::close(Descriptor);
}

FolderLock::FolderLock(FolderLock &&From) noexcept
    : Descriptor(std::exchange(From.Descriptor, -1)) {}

FolderLock &FolderLock::operator=(FolderLock &&From) noexcept {
  std::swap(Descriptor, From.Descriptor);
  return *this;
}

static FileFailure describe(const std::string &Path, int Code) {
  return "cannot write to the folder '" + Path +
         "': " + std::generic_category().message(Code);
}

/// Makes the folder, and brings its name to the disk.
static int makeFolder(std::string Path) {
  if (::mkdir(Path.c_str(), 0777) != 0)
    return errno == EEXIST ? 0 : errno;
  while (Path.size() > 1 && Path.back() == '/')
    Path.pop_back();
  size_t Slash = Path.rfind('/');
  return syncFolder(Slash == std::string::npos ? ""
                                               : Path.substr(0, Slash + 1));
}

FileFailure FolderLock::take(const std::string &Path) {
  if (int Code = makeFolder(Path))
    return describe(Path, Code);
  Descriptor = openFolder(Path);
  if (Descriptor < 0)
    return describe(Path, errno);
  int Locked;
  do
    Locked = ::flock(Descriptor, LOCK_EX | LOCK_NB);
  while (Locked != 0 && errno == EINTR);
  if (Locked == 0 || (errno != EWOULDBLOCK && errno != EAGAIN))
    return std::nullopt;
  return "cannot write to the folder '" + Path +
         "': another run is writing there";
}

bool FolderLock::isOf(const std::string &Path) const {
  struct stat Taken, There;
  return ::fstat(Descriptor, &Taken) == 0 &&
         ::stat(Path.c_str(), &There) == 0 && Taken.st_dev == There.st_dev &&
         Taken.st_ino == There.st_ino;
}
