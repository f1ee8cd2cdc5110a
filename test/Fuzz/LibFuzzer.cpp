//===- LibFuzzer.cpp - the targets under libFuzzer ------------------------===//
//
// usage: remat-fuzz --target=NAME [libFuzzer's options] CORPUS...
//
//===----------------------------------------------------------------------===//

#include "Target.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace remat::fuzz;

extern "C" size_t LLVMFuzzerMutate(uint8_t *Data, size_t Size, size_t MaxSize);

// LLVM's and MLIR's libraries were built without sanitizers: what their headers
// mark in our code (containers' ends, an arena's unused bytes) they do not
// unmark.
extern "C" const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0:"
         "allocator_may_return_null=1";
}

static const Target *Chosen = nullptr;

extern "C" int LLVMFuzzerInitialize(int *Argc, char ***Argv) {
  constexpr std::string_view Flag = "--target=";
  for (int I = 1; I < *Argc; ++I)
    if (std::string_view Word = (*Argv)[I]; Word.starts_with(Flag))
      Chosen = findTarget(Word.substr(Flag.size()));
  if (!Chosen) {
    std::fprintf(stderr, "remat-fuzz: --target= must be one of:");
    for (const Target &T : getTargets())
      std::fprintf(stderr, " %s", std::string(T.Name).c_str());
    std::fprintf(stderr, "\n");
    std::exit(1);
  }
  // Some passes print what they found.
  if (!std::freopen("/dev/null", "w", stdout))
    std::exit(1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  if (Size <= Chosen->MaxBytes)
    Chosen->Run({Data, Size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *Data, size_t Size,
                                          size_t MaxSize, unsigned Seed) {
  Random R(Seed);
  if (!Chosen->Mutate || R.oneIn(4))
    return LLVMFuzzerMutate(Data, Size, MaxSize);
  std::string Input(asText({Data, Size}));
  Chosen->Mutate(Input, R);
  if (Input.empty() || Input.size() > MaxSize)
    return LLVMFuzzerMutate(Data, Size, MaxSize);
  std::memcpy(Data, Input.data(), Input.size());
  return Input.size();
}
