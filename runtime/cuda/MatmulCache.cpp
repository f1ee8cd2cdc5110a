//===- MatmulCache.cpp - measured algorithms, kept in a file --------------===//

#include "cuda/MatmulCache.h"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

Result<MatmulCache> MatmulCache::open(std::string Path, std::string Prefix) {
  MatmulCache Cache(std::move(Path), std::move(Prefix));
  std::error_code Ignored;
  if (!std::filesystem::exists(Cache.Path, Ignored))
    return Cache;
  std::ifstream File(Cache.Path);
  if (!File)
    return Error(ErrorCode::IO, "cannot read " + Cache.Path);
  for (std::string Line; std::getline(File, Line);) {
    size_t Tab = Line.find('\t');
    if (Tab == std::string::npos)
      continue;
    std::istringstream Words(Line.substr(Tab + 1));
    Algorithm Value;
    bool Complete = true;
    for (uint64_t &Word : Value)
      Complete = Complete && (Words >> std::hex >> Word);
    if (Complete)
      Cache.Known[Line.substr(0, Tab)] = Value;
  }
  return Cache;
}

std::optional<Algorithm> MatmulCache::find(const std::string &Key) const {
  auto At = Known.find(Prefix + Key);
  if (At == Known.end())
    return std::nullopt;
  return At->second;
}

Status MatmulCache::add(const std::string &Key, const Algorithm &Value) {
  Known[Prefix + Key] = Value;
  std::ofstream File(Path, std::ios::app);
  File << Prefix << Key << '\t';
  for (uint64_t Word : Value) {
    char Text[20];
    std::snprintf(Text, sizeof Text, "%016llx ",
                  static_cast<unsigned long long>(Word));
    File << Text;
  }
  File << '\n';
  if (!File.flush())
    return Error(ErrorCode::IO, "cannot write " + Path);
  return {};
}
