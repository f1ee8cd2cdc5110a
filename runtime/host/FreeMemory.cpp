//===- FreeMemory.cpp - what the host can still give ----------------------===//

#include "host/FreeMemory.h"
#include <algorithm>
#include <fstream>
#include <optional>

using namespace remat::runtime;

/// The number behind the word `Name` in a file of words and numbers; the first
/// one without a name.
static std::optional<uint64_t> readNumber(const std::string &Path,
                                          const std::string &Name) {
  std::ifstream File(Path);
  uint64_t Number = 0;
  if (Name.empty())
    return File >> Number ? std::optional(Number) : std::nullopt;
  for (std::string Word; File >> Word;)
    if (Word == Name && File >> Number)
      return Number;
  return std::nullopt;
}

/// What one control group leaves of its limit, if it has one. Cached files go
/// where memory is needed.
static std::optional<uint64_t> getLeft(const std::string &Group) {
  std::optional<uint64_t> Limit = readNumber(Group + "/memory.max", "");
  std::optional<uint64_t> Used = readNumber(Group + "/memory.current", "");
  if (!Limit || !Used)
    return std::nullopt;
  uint64_t Cached =
      readNumber(Group + "/memory.stat", "inactive_file").value_or(0);
  uint64_t Needed = *Used - std::min(*Used, Cached);
  return *Limit - std::min(*Limit, Needed);
}

/// The path of this process's group below the mount; "" at its root.
static std::string getGroup(const std::string &Root) {
  std::ifstream File(Root + "/proc/self/cgroup");
  for (std::string Line; std::getline(File, Line);)
    if (Line.starts_with("0::/"))
      return Line.size() > 4 ? Line.substr(3) : "";
  return "";
}

uint64_t remat::runtime::getAvailableBytes(const std::string &Root) {
  uint64_t Bytes =
      readNumber(Root + "/proc/meminfo", "MemAvailable:").value_or(0) << 10;
  // Each group is within the limits of those above it.
  for (std::string Group = getGroup(Root);; Group.erase(Group.rfind('/'))) {
    if (std::optional<uint64_t> Left = getLeft(Root + "/sys/fs/cgroup" + Group))
      Bytes = std::min(Bytes, *Left);
    if (Group.empty())
      return Bytes;
  }
}
