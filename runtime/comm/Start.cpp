//===- Start.cpp - the ranks that a process was started with --------------===//

#include "comm/MPIRanks.h"
#include "remat/Support/Numbers.h"
#include <cstdlib>

using namespace remat::runtime;

/// The number that a variable of the environment holds; 0 if it holds none.
static uint32_t getNumber(const char *Variable) {
  const char *Text = std::getenv(Variable);
  return Text ? remat::parseNumber<uint32_t>(Text).value_or(0) : 0;
}

Result<std::shared_ptr<Ranks>> remat::runtime::createRanks(std::string_view) {
  // Open MPI's mpirun, that of MPICH and its kin, and Slurm's srun.
  for (const char *Variable :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (uint32_t Count = getNumber(Variable); Count > 1)
      return createMPIRanks(Count);
  if (uint32_t Count = getNumber("WORLD_SIZE"); Count > 1)
    return Error(ErrorCode::Unavailable,
                 "torchrun started " + std::to_string(Count) +
                     " processes, which have no MPI to talk by: start them "
                     "with 'mpirun -n " +
                     std::to_string(Count) + "'");
  return std::shared_ptr<Ranks>();
}
