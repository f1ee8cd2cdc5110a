//===- Library.cpp - libraries found when they are needed -----------------===//

#include "cuda/Library.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

using namespace remat::runtime;
using namespace remat::runtime::cuda;
namespace fs = std::filesystem;

static std::vector<std::string> split(const char *Text) {
  std::vector<std::string> Parts;
  std::string_view Rest = Text ? Text : "";
  while (!Rest.empty()) {
    size_t End = std::min(Rest.find(':'), Rest.size());
    if (End > 0)
      Parts.emplace_back(Rest.substr(0, End));
    Rest.remove_prefix(std::min(End + 1, Rest.size()));
  }
  return Parts;
}

/// The directories in `Parent`, sorted; none if it cannot be read.
static std::vector<fs::path> listDirectories(const fs::path &Parent) {
  std::vector<fs::path> Found;
  std::error_code Ignored;
  for (fs::directory_iterator At(Parent, Ignored), End; !Ignored && At != End;
       At.increment(Ignored))
    if (std::error_code E; At->is_directory(E))
      Found.push_back(At->path());
  std::sort(Found.begin(), Found.end());
  return Found;
}

/// Appends `nvidia/*/lib` of the Python environment at `Prefix`.
static void addPackages(const fs::path &Prefix, std::vector<fs::path> &Out) {
  for (const fs::path &Python : listDirectories(Prefix / "lib")) {
    if (!Python.filename().string().starts_with("python3"))
      continue;
    for (const char *Packages : {"site-packages", "dist-packages"})
      for (const fs::path &Part : listDirectories(Python / Packages / "nvidia"))
        Out.push_back(Part / "lib");
  }
}

static std::vector<fs::path> getDirectories() {
  std::vector<fs::path> Out;
  if (const char *Home = std::getenv("CUDA_HOME"))
    Out.push_back(fs::path(Home) / "lib64");
  Out.push_back("/usr/local/cuda/lib64");
  if (const char *Environment = std::getenv("VIRTUAL_ENV"))
    addPackages(Environment, Out);
  addPackages(".venv", Out);
  for (const std::string &Bin : split(std::getenv("PATH"))) {
    std::error_code Ignored;
    if (fs::exists(fs::path(Bin) / "python3", Ignored))
      addPackages(fs::path(Bin).parent_path(), Out);
  }
  return Out;
}

/// Loads with global symbols, so that libraries that look each other up by name
/// (cuDNN and NVRTC) find the one that is here.
static void *load(const std::string &Path) {
  return dlopen(Path.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

Result<Library> Library::open(std::string_view Name) {
  std::string Tried;
  std::error_code Ignored;
  auto LoadFrom = [&](const fs::path &Directory) -> void * {
    fs::path Path = Directory / Name;
    if (!fs::exists(Path, Ignored))
      return nullptr;
    if (void *Handle = load(Path.string()))
      return Handle;
    const char *Reason = dlerror();
    Tried += std::string("; ") + (Reason ? Reason : "unknown reason");
    return nullptr;
  };
  for (const std::string &Directory :
       split(std::getenv("REMAT_CUDA_LIBRARIES")))
    if (void *Handle = LoadFrom(Directory))
      return Library(Handle);
  if (void *Handle = load(std::string(Name)))
    return Library(Handle);
  std::vector<fs::path> Directories = getDirectories();
  for (const fs::path &Directory : Directories)
    if (void *Handle = LoadFrom(Directory))
      return Library(Handle);
  std::string Message = "cannot load " + std::string(Name) +
                        ": it is neither in the system's library path nor in";
  for (const fs::path &Directory : Directories)
    Message += " " + Directory.string();
  return Error(ErrorCode::Unavailable,
               Message + Tried +
                   "; name its directory in REMAT_CUDA_LIBRARIES");
}

void *Library::find(const char *Symbol) const { return dlsym(Handle, Symbol); }
