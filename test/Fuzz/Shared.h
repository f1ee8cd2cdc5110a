//===- Shared.h - what several targets need ---------------------*- C++ -*-===//

#ifndef REMAT_TEST_FUZZ_SHARED_H
#define REMAT_TEST_FUZZ_SHARED_H

#include "Target.h"

namespace remat::fuzz {

/// Loads a program and, if the host can hold it in `MaxBytes`, runs two steps
/// with poison: Refused if it is no program, Read if it is too large, Done
/// otherwise.
Outcome runOnHost(Bytes Program, uint64_t MaxBytes);

/// Makes the passes and the pipeline known by name.
void registerAllPasses();

} // namespace remat::fuzz

#endif // REMAT_TEST_FUZZ_SHARED_H
