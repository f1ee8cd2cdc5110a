//===- Target.h - what is fuzzed --------------------------------*- C++ -*-===//
//
// A target reads untrusted bytes as the tools do: it refuses them or does with
// them all that a tool would, and never crashes, hangs, or takes more memory
// than their size justifies. One program, remat-fuzz, holds all targets.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_FUZZ_TARGET_H
#define REMAT_TEST_FUZZ_TARGET_H

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace remat::fuzz {

using Bytes = std::span<const uint8_t>;

inline std::string_view asText(Bytes Data) {
  return {reinterpret_cast<const char *>(Data.data()), Data.size()};
}

/// How far an input came.
enum class Outcome { Refused, Read, Done };

/// A source of random numbers, the same on every machine.
class Random {
public:
  explicit Random(uint64_t Seed) : Engine(Seed) {}
  /// A number of [0, Bound); 0 without any.
  uint64_t draw(uint64_t Bound) { return Bound ? Engine() % Bound : 0; }
  bool oneIn(uint64_t Times) { return draw(Times) == 0; }
  template <typename Range> auto &pick(Range &&From) {
    return From[draw(std::size(From))];
  }

private:
  std::mt19937_64 Engine;
};

/// A number that depends on the bytes only: by it a target chooses options.
uint64_t hashOf(Bytes Data);

struct Target {
  std::string_view Name;
  size_t MaxBytes; ///< larger inputs are not tried
  Outcome (*Run)(Bytes);
  /// Changes an input where it may get deeper than changed bytes do; null if
  /// there is no such way.
  void (*Mutate)(std::string &Input, Random &R);
};

std::span<const Target> getTargets();
/// The target of that name, or null.
const Target *findTarget(std::string_view Name);

/// Ends the process as a crash does: what a target must hold did not.
[[noreturn]] void fail(const std::string &Why);

// The targets, one function each, in the file of the same name.
Outcome runGraph(Bytes);
Outcome runStages(Bytes);
Outcome runProgram(Bytes);
Outcome runSafetensors(Bytes);
Outcome runTokens(Bytes);
Outcome runArrays(Bytes);
Outcome runProblem(Bytes);
Outcome runPlan(Bytes);
Outcome runPacking(Bytes);
Outcome runOptions(Bytes);

/// Mutators of texts (tokens, lines, and operations of a graph) and programs.
void mutateText(std::string &Input, Random &R);
void mutateGraph(std::string &Input, Random &R);
void mutateProgram(std::string &Input, Random &R);

} // namespace remat::fuzz

#endif // REMAT_TEST_FUZZ_TARGET_H
