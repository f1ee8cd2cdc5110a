//===- Library.cpp - shared libraries found when they are needed ----------===//

#include "remat/Support/Library.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string_view>

using namespace remat;
namespace fs = std::filesystem;

void *SharedLibrary::find(const char *Symbol) const {
  return dlsym(Handle, Symbol);
}

static std::vector<fs::path> split(const char *Text) {
  std::vector<fs::path> Parts;
  std::string_view Rest = Text ? Text : "";
  while (!Rest.empty()) {
    size_t End = std::min(Rest.find(':'), Rest.size());
    if (End > 0)
      Parts.emplace_back(Rest.substr(0, End));
    Rest.remove_prefix(std::min(End + 1, Rest.size()));
  }
  return Parts;
}

/// The folders in `Parent`, sorted; none if it cannot be read.
static std::vector<fs::path> listFolders(const fs::path &Parent) {
  std::vector<fs::path> Found;
  std::error_code Failed;
  for (fs::directory_iterator At(Parent, Failed), End; !Failed && At != End;
       At.increment(Failed))
    if (std::error_code E; At->is_directory(E))
      Found.push_back(At->path());
  std::sort(Found.begin(), Found.end());
  return Found;
}

/// Appends `nvidia/*/lib` of a folder of Python packages.
static void addParts(const fs::path &Packages, std::vector<fs::path> &Out) {
  for (const fs::path &Part : listFolders(Packages / "nvidia"))
    Out.push_back(Part / "lib");
}

/// The same of the Python environment at `Prefix`.
static void addPackages(const fs::path &Prefix, std::vector<fs::path> &Out) {
  for (const fs::path &Python : listFolders(Prefix / "lib")) {
    if (!Python.filename().string().starts_with("python3"))
      continue;
    for (const char *Packages : {"site-packages", "dist-packages"})
      addParts(Python / Packages, Out);
  }
}

/// Appends the packages that `File` is one of, and those of `.venv` in each
/// folder above it.
static void addAbove(const fs::path &File, std::vector<fs::path> &Out) {
  if (!File.is_absolute())
    return;
  for (fs::path Up = File.parent_path();; Up = Up.parent_path()) {
    if (Up.filename() == "site-packages" || Up.filename() == "dist-packages")
      addParts(Up, Out);
    addPackages(Up / ".venv", Out);
    if (Up == Up.parent_path())
      return;
  }
}

/// The file that this code is in, which may be a library of a program that lies
/// elsewhere; "" if the system does not say.
static fs::path getOwnFile() {
  Dl_info Info;
  std::error_code Failed;
  if (!dladdr(reinterpret_cast<void *>(&getOwnFile), &Info) || !Info.dli_fname)
    return {};
  fs::path File = Info.dli_fname;
  // Of the program itself, the name that it was called by.
  return File.is_absolute() ? File : fs::read_symlink("/proc/self/exe", Failed);
}

static std::vector<fs::path> getCUDAFolders() {
  std::vector<fs::path> Out;
  for (const char *Variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *Home = std::getenv(Variable))
      Out.push_back(fs::path(Home) / "lib64");
  Out.emplace_back("/usr/local/cuda/lib64");
  if (const char *Environment = std::getenv("VIRTUAL_ENV"))
    addPackages(Environment, Out);
  addAbove(getOwnFile(), Out);
  for (const fs::path &Bin : split(std::getenv("PATH")))
    if (std::error_code Failed;
        Bin.is_absolute() && fs::exists(Bin / "python3", Failed))
      addPackages(Bin.parent_path(), Out);
  addPackages("/usr/local", Out);
  addPackages("/usr", Out);
  return Out;
}

namespace {
/// Tries places until one has the library.
class Search {
public:
  Search(const std::vector<std::string> &Names, int Flags)
      : Names(Names), Flags(Flags) {}

  /// Where the loader looks: a name without a slash.
  bool tryLoader() {
    for (const std::string &Name : Names) {
      Found.Handle = dlopen(Name.c_str(), Flags);
      if (Found.Handle)
        return true;
    }
    const char *Reason = dlerror();
    LoaderSaid = Reason ? Reason : "";
    return false;
  }

  bool tryFolder(const fs::path &Folder) {
    for (const std::string &Name : Names) {
      std::error_code Failed;
      fs::path File = fs::absolute(Folder / Name, Failed);
      if (Failed || !fs::exists(File, Failed))
        continue;
      Found.Handle = dlopen(File.c_str(), Flags);
      if (Found.Handle) {
        Found.Folder = Folder.string();
        return true;
      }
      const char *Reason = dlerror();
      Refused += std::string("; ") + (Reason ? Reason : "unknown reason");
    }
    return false;
  }

  SharedLibrary Found;
  std::string LoaderSaid, Refused;

private:
  const std::vector<std::string> &Names;
  int Flags;
};
} // namespace

SharedLibrary remat::openLibrary(const std::vector<std::string> &Names) {
  Search S(Names, RTLD_NOW | RTLD_LOCAL);
  if (!S.tryLoader())
    S.Found.Why = S.LoaderSaid;
  return S.Found;
}

SharedLibrary remat::openOwnLibrary(const std::string &Name) {
  std::vector<std::string> Names = {Name};
  Search S(Names, RTLD_NOW | RTLD_GLOBAL);
  fs::path Folder = getOwnFile().parent_path();
  bool IsDone = !Folder.is_absolute() || S.tryFolder(Folder);
  for (fs::path Up = Folder; !IsDone && Up != Up.parent_path();) {
    Up = Up.parent_path();
    IsDone = S.tryFolder(Up / "lib");
  }
  if (!S.Found.Handle)
    S.Found.Why = "cannot load " + Name + ": it is neither in " +
                  Folder.string() + " nor in lib of a folder above it" +
                  S.Refused;
  return S.Found;
}

SharedLibrary remat::openCUDALibrary(const std::vector<std::string> &Names,
                                     bool IsGlobal) {
  Search S(Names, RTLD_NOW | (IsGlobal ? RTLD_GLOBAL : RTLD_LOCAL));
  for (const fs::path &Folder : split(std::getenv("REMAT_CUDA_LIBRARIES")))
    if (S.tryFolder(Folder))
      return S.Found;
  if (S.tryLoader())
    return S.Found;
  std::vector<fs::path> Folders = getCUDAFolders();
  for (const fs::path &Folder : Folders)
    if (S.tryFolder(Folder))
      return S.Found;
  S.Found.Why = "cannot load " + Names.front() +
                ": it is neither in the system's library path nor in";
  for (const fs::path &Folder : Folders)
    S.Found.Why += " " + Folder.string();
  S.Found.Why += S.Refused + "; name its folder in REMAT_CUDA_LIBRARIES";
  return S.Found;
}
