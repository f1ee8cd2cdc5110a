//===- ProgramMutator.h - changes the fields of programs --------*- C++ -*-===//

#ifndef REMAT_TEST_FUZZ_PROGRAMMUTATOR_H
#define REMAT_TEST_FUZZ_PROGRAMMUTATOR_H

#include "Target.h"
#include "remat/program/Program_generated.h"

namespace remat::fuzz {

/// Changes one field. The container stays well formed, so that the change
/// reaches the checks behind that of the bytes.
void mutateField(program::ProgramT &Program, Random &R);

} // namespace remat::fuzz

#endif // REMAT_TEST_FUZZ_PROGRAMMUTATOR_H
