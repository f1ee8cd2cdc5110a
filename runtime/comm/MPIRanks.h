//===- MPIRanks.h - ranks that mpirun or srun started -----------*- C++ -*-===//

#ifndef REMAT_RUNTIME_COMM_MPIRANKS_H
#define REMAT_RUNTIME_COMM_MPIRANKS_H

#include "remat/runtime/Ranks.h"

namespace remat::runtime {

/// Joins the `Expected` ranks of the job. Unavailable, with what was looked
/// for, if there is no libremat-mpi.so or if MPI sees another number of ranks.
Result<std::shared_ptr<Ranks>> createMPIRanks(uint32_t Expected);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_COMM_MPIRANKS_H
