//===- Paths.cpp - the files that a path stands for -----------------------===//

#include "lib/Data/Paths.h"
#include "lib/Guard.h"
#include <algorithm>
#include <filesystem>
#include <glob.h>

using namespace remat::runtime;
namespace fs = std::filesystem;

Result<std::vector<std::string>>
remat::runtime::listFolder(const std::string &Path, bool Folders) {
  std::vector<std::string> Names;
  std::error_code Code;
  fs::directory_iterator At(Path, Code);
  for (; !Code && At != fs::directory_iterator(); At.increment(Code)) {
    std::error_code Ignored; // a link to nothing is no folder
    if (At->path().filename().string().front() != '.' &&
        At->is_directory(Ignored) == Folders)
      Names.push_back(At->path().string());
  }
  if (Code)
    return Error(ErrorCode::IO, "'" + Path + "': " + Code.message());
  std::sort(Names.begin(), Names.end());
  return Names;
}

static Result<std::vector<std::string>> listData(const std::string &Path) {
  Result<std::vector<std::string>> Files = listFolder(Path, /*Folders=*/false);
  if (Files && Files->empty())
    return Error(ErrorCode::IO, "'" + Path + "': the folder holds no file");
  return Files;
}

/// Frees what glob found whatever happens.
struct GlobResult : glob_t {
  GlobResult() : glob_t() {}
  ~GlobResult() { ::globfree(this); }
  GlobResult(const GlobResult &) = delete;
  GlobResult &operator=(const GlobResult &) = delete;
};

static std::vector<std::string> listMatches(const std::string &Pattern) {
  GlobResult Found;
  std::vector<std::string> Files;
  if (::glob(Pattern.c_str(), 0, nullptr, &Found) == 0)
    Files.assign(Found.gl_pathv, Found.gl_pathv + Found.gl_pathc);
  return Files;
}

Result<std::vector<std::string>>
remat::runtime::listFiles(const std::string &Path) {
  return guard([&]() -> Result<std::vector<std::string>> {
    std::error_code Ignored;
    if (fs::is_directory(Path, Ignored))
      return listData(Path);
    std::vector<std::string> Files = {Path};
    // A name is taken as it is where there is such a file.
    if (!fs::exists(Path, Ignored) &&
        Path.find_first_of("*?[") != std::string::npos) {
      Files = listMatches(Path);
      if (Files.empty())
        return Error(ErrorCode::IO, "'" + Path + "': no file matches");
    }
    return Files;
  });
}
