//===- Planted.cpp - a library that says when it is loaded ----------------===//

#include <cstdlib>

extern "C" int planted() { return 42; }

namespace {
struct OnLoad {
  OnLoad() { setenv("REMAT_TEST_PLANTED", "1", /*overwrite=*/1); }
} TheOnLoad;
} // namespace
