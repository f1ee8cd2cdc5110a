//===- Highs.cpp - Finding the HiGHS library ------------------------------===//
#include "Linear/Highs.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

using namespace remat::solver;
namespace fs = std::filesystem;

namespace {

constexpr const char *Name = "libhighs.so.1";

/// Appends the wheel's place in the Python environment at `Prefix`.
void addWheel(const fs::path &Prefix, std::vector<std::string> &Out) {
  std::error_code Ignored;
  std::vector<std::string> Found;
  for (fs::directory_iterator At(Prefix / "lib", Ignored), End;
       !Ignored && At != End; At.increment(Ignored))
    if (At->path().filename().string().rfind("python3", 0) == 0)
      for (const char *Packages : {"site-packages", "dist-packages"})
        if (fs::path File = At->path() / Packages / "highspy" / Name;
            fs::exists(File, Ignored))
          Found.push_back(File.string());
  std::sort(Found.begin(), Found.end());
  Out.insert(Out.end(), Found.begin(), Found.end());
}

/// The working directory is no place to look in: of PATH, only absolute folders
/// count.
std::vector<std::string> candidates() {
  std::vector<std::string> Out = {Name};
  if (const char *Environment = std::getenv("VIRTUAL_ENV"))
    addWheel(Environment, Out);
  std::string Path = std::getenv("PATH") ? std::getenv("PATH") : "";
  for (size_t Begin = 0; Begin < Path.size();) {
    size_t End = std::min(Path.find(':', Begin), Path.size());
    fs::path Bin = Path.substr(Begin, End - Begin);
    std::error_code Ignored;
    if (Bin.is_absolute() && fs::exists(Bin / "python3", Ignored))
      addWheel(Bin.parent_path(), Out);
    Begin = End + 1;
  }
  return Out;
}

template <typename T> bool bind(void *Handle, const char *Symbol, T *&F) {
  F = reinterpret_cast<T *>(dlsym(Handle, Symbol));
  return F != nullptr;
}

/// Fills in the functions; says what is wrong with the library if it is.
std::string bindAll(void *Handle, Highs &H) {
  bool All = true;
#define BIND(F) All = bind(Handle, "Highs_" #F, H.F) && All
  BIND(create);
  BIND(destroy);
  BIND(versionMajor);
  BIND(versionMinor);
  BIND(getSizeofHighsInt);
  BIND(getInfinity);
  BIND(setBoolOptionValue);
  BIND(setIntOptionValue);
  BIND(setDoubleOptionValue);
  BIND(passMip);
  BIND(setSolution);
  BIND(setCallback);
  BIND(startCallback);
  BIND(run);
  BIND(getModelStatus);
  BIND(getSolution);
  BIND(getDoubleInfoValue);
  BIND(getInt64InfoValue);
  BIND(getIntInfoValue);
#undef BIND
  if (!All)
    return "it lacks functions of the C interface";
  if (H.versionMajor() != 1 || H.versionMinor() < 7)
    return "it is version " + std::to_string(H.versionMajor()) + "." +
           std::to_string(H.versionMinor()) + ", 1.7 or later is needed";
  void *Instance = H.create();
  bool Narrow = Instance && H.getSizeofHighsInt(Instance) == sizeof(int);
  if (Instance)
    H.destroy(Instance);
  return Narrow ? "" : "its integers are not 32 bits wide";
}

struct Loaded {
  Highs Functions;
  std::string Why;
};

Loaded load(const std::vector<std::string> &Files) {
  Loaded R;
  for (const std::string &File : Files) {
    void *Handle = dlopen(File.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!Handle) {
      const char *Reason = dlerror();
      R.Why += std::string("; ") + (Reason ? Reason : "unknown reason");
      continue;
    }
    std::string Bad = bindAll(Handle, R.Functions);
    if (Bad.empty()) {
      R.Why.clear();
      return R;
    }
    R.Why.append("; ").append(File).append(": ").append(Bad);
    dlclose(Handle);
  }
  R.Why = "the linear-programming library HiGHS was not found" + R.Why +
          "; install the wheel highspy, or name " + Name +
          " in the environment variable REMAT_HIGHS";
  return R;
}

} // namespace

const Highs *Highs::get(std::string &Why) {
  static std::mutex Lock;
  // By what was asked for: the variable may change within a process.
  static std::map<std::string, Loaded> Known;
  std::lock_guard<std::mutex> Guard(Lock);
  const char *Named = std::getenv("REMAT_HIGHS");
  std::string Key = Named ? Named : "";
  auto It = Known.find(Key);
  if (It == Known.end())
    It = Known
             .emplace(Key, load(Key.empty() ? candidates()
                                            : std::vector<std::string>{Key}))
             .first;
  Why = It->second.Why;
  return Why.empty() ? &It->second.Functions : nullptr;
}
