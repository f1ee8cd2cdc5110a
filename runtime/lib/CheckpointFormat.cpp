//===- CheckpointFormat.cpp - names and texts of checkpoints --------------===//

#include "lib/CheckpointFormat.h"
#include "lib/File.h"
#include "ops/Op.h"
#include "remat/Support/Folder.h"
#include "remat/Support/Numbers.h"
#include <algorithm>

using namespace remat;
using namespace remat::runtime;

static constexpr std::string_view NameBegin = "step-", NameEnd = ".safetensors",
                                  PartBegin = ".rank-";

std::string runtime::getPath(const std::string &Folder, uint64_t Steps) {
  std::string Number = std::to_string(Steps);
  Number.insert(0, Number.size() < 10 ? 10 - Number.size() : 0, '0');
  return Folder + "/" + std::string(NameBegin) + Number + std::string(NameEnd);
}

std::optional<uint64_t> runtime::readName(std::string_view Name) {
  if (!Name.starts_with(NameBegin) || !Name.ends_with(NameEnd))
    return std::nullopt;
  Name.remove_prefix(NameBegin.size());
  Name.remove_suffix(std::min(NameEnd.size(), Name.size()));
  return parseInteger<uint64_t>(Name, 0, UINT64_MAX);
}

Result<std::vector<NamedCheckpoint>>
runtime::listCheckpoints(const std::string &Folder) {
  std::vector<NamedCheckpoint> Files;
  std::vector<std::string> Names;
  REMAT_TRY(toStatus(listFolder(Folder, Names)));
  for (const std::string &Name : Names)
    if (auto Steps = readName(Name))
      Files.push_back({*Steps, Folder + "/" + Name});
  std::sort(Files.begin(), Files.end(),
            [](const NamedCheckpoint &A, const NamedCheckpoint &B) {
              return std::tie(A.Steps, A.Path) > std::tie(B.Steps, B.Path);
            });
  return Files;
}

std::string runtime::getPartPath(const std::string &Main, uint32_t Rank,
                                 uint32_t Ranks) {
  if (Rank == 0)
    return Main;
  return Main.substr(0, Main.size() - NameEnd.size()) + std::string(PartBegin) +
         std::to_string(Rank) + "-of-" + std::to_string(Ranks) +
         std::string(NameEnd);
}

std::string runtime::getMainName(const std::string &Name) {
  size_t At = Name.find(PartBegin);
  if (At == std::string::npos || !Name.ends_with(NameEnd))
    return "";
  return Name.substr(0, At) + std::string(NameEnd);
}
