//===- MatmulCache.cpp - measured algorithms, kept in a file --------------===//

#include "cuda/MatmulCache.h"
#include "remat/Support/File.h"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

MatmulCache MatmulCache::parse(std::string_view Text, std::string Prefix) {
  MatmulCache Cache("", std::move(Prefix));
  std::istringstream Lines{std::string(Text)};
  for (std::string Line; std::getline(Lines, Line);) {
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

Result<MatmulCache> MatmulCache::open(std::string Path, std::string Prefix) {
  std::string Text;
  std::error_code Ignored;
  if (std::filesystem::exists(Path, Ignored)) {
    constexpr uint64_t Most = 64 << 20;
    if (FileFailure Failed = readWholeFile(Path, Most, Text))
      return Error(ErrorCode::IO, *Failed);
  }
  MatmulCache Cache = parse(Text, std::move(Prefix));
  Cache.Path = std::move(Path);
  return Cache;
}

MatmulCache MatmulCache::getShipped(std::string Prefix) {
  static constexpr char Text[] =
#include "cuda/MatmulAlgorithms.inc"
      ;
  return parse(Text, std::move(Prefix));
}

std::optional<Algorithm> MatmulCache::find(const std::string &Key) const {
  auto At = Known.find(Prefix + Key);
  if (At == Known.end())
    return std::nullopt;
  return At->second;
}

Status MatmulCache::add(const std::string &Key, const Algorithm &Value) {
  Known[Prefix + Key] = Value;
  if (Path.empty())
    return {};
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
