//===- Target.cpp - the table of targets ----------------------------------===//

#include "Target.h"
#include <cstdio>
#include <cstdlib>

using namespace remat::fuzz;

std::span<const Target> remat::fuzz::getTargets() {
  static const Target Table[] = {
      {"graph", 1 << 14, runGraph, mutateGraph},
      {"stages", 1 << 15, runStages, mutateGraph},
      {"program", 1 << 15, runProgram, mutateProgram},
      {"safetensors", 1 << 12, runSafetensors, mutateText},
      {"tokens", 1 << 12, runTokens, nullptr},
      {"arrays", 1 << 12, runArrays, nullptr},
      {"problem", 1 << 13, runProblem, mutateText},
      {"plan", 1 << 12, runPlan, mutateText},
      {"packing", 1 << 12, runPacking, mutateText},
      {"options", 1 << 10, runOptions, mutateText},
  };
  return Table;
}

const Target *remat::fuzz::findTarget(std::string_view Name) {
  for (const Target &T : getTargets())
    if (T.Name == Name)
      return &T;
  return nullptr;
}

// The hash of Fowler, Noll and Vo (FNV-1a).
uint64_t remat::fuzz::hashOf(Bytes Data) {
  uint64_t Hash = 0xcbf29ce484222325;
  for (uint8_t Byte : Data)
    Hash = (Hash ^ Byte) * 0x100000001b3;
  return Hash;
}

void remat::fuzz::fail(const std::string &Why) {
  std::fprintf(stderr, "remat-fuzz: %s\n", Why.c_str());
  std::abort();
}
