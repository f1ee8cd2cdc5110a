//===- Paths.cpp - the files that a path stands for -----------------------===//

#include "lib/Data/Paths.h"
#include "lib/Guard.h"
#include <algorithm>
#include <filesystem>
#include <glob.h>

using namespace remat::runtime;
namespace fs = std::filesystem;

static Result<std::vector<std::string>> listFolder(const std::string &Path) {
  std::vector<std::string> Files;
  std::error_code Code;
  fs::directory_iterator At(Path, Code);
  for (; !Code && At != fs::directory_iterator(); At.increment(Code)) {
    std::error_code Ignored; // a link to nothing is no file
    if (At->path().filename().string().front() != '.' &&
        At->is_regular_file(Ignored))
      Files.push_back(At->path().string());
  }
  if (Code)
    return Error(ErrorCode::IO, "'" + Path + "': " + Code.message());
  if (Files.empty())
    return Error(ErrorCode::IO, "'" + Path + "': the folder holds no file");
  std::sort(Files.begin(), Files.end());
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
      return listFolder(Path);
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
