//===- Machine.h - what ranks of one machine share --------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_MACHINE_H
#define REMAT_RUNTIME_MACHINE_H

#include "remat/runtime/Ranks.h"

namespace remat::runtime {

/// What a rank has of its machine where all take the same.
struct MachineShare {
  uint32_t NumRanks = 1;      ///< on this machine
  unsigned NumProcessors = 1; ///< for this rank
};

/// How many processors are a process's where `All` share them, itself among
/// them: one that several may run on is divided. At least one. A list has a
/// byte for each processor by number, not zero where the process may run on it.
unsigned shareProcessors(const std::string &Own,
                         std::span<const std::string> All);

/// Null is one rank. All ranks call it.
Result<MachineShare> shareMachine(Ranks *R);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_MACHINE_H
