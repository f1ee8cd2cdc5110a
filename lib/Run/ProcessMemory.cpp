//===- ProcessMemory.cpp - what a run takes of the host -------------------===//

#include "ProcessMemory.h"
#include <fstream>
#include <malloc.h>
#include <string>

using namespace remat::run;

/// A line of /proc/self/status, in bytes.
static std::optional<uint64_t> readStatus(const std::string &Name) {
  std::ifstream File("/proc/self/status");
  for (std::string Word; File >> Word;)
    if (uint64_t Kilobytes; Word == Name && File >> Kilobytes)
      return Kilobytes << 10;
  return std::nullopt;
}

ResidentGrowth::ResidentGrowth() {
  ::malloc_trim(0);
  // "5" sets the highest resident size to the present one.
  std::ofstream Reset("/proc/self/clear_refs");
  Reset << "5";
  if (Reset.flush())
    Start = readStatus("VmRSS:");
}

std::optional<uint64_t> ResidentGrowth::getBytes() const {
  std::optional<uint64_t> Highest = readStatus("VmHWM:");
  if (!Start || !Highest)
    return std::nullopt;
  return *Highest > *Start ? *Highest - *Start : 0;
}
