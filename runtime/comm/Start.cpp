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

/// The options with which torchrun starts as many processes again.
static std::string describeStart(uint32_t Count) {
  uint32_t Local = getNumber("LOCAL_WORLD_SIZE");
  if (!Local || Count % Local)
    Local = Count;
  std::string Nodes =
      Local == Count ? "" : "--nnodes " + std::to_string(Count / Local) + " ";
  return Nodes + "--nproc-per-node " + std::to_string(Local);
}

static Error makeTorchError(uint32_t Count) {
  return Error(ErrorCode::Unavailable,
               "torchrun started " + std::to_string(Count) +
                   " processes, which talk by torch.distributed and not by "
                   "MPI: 'torchrun " +
                   describeStart(Count) +
                   " -m remat.run' is remat-run with these, and 'mpirun -n " +
                   std::to_string(Count) + "' starts others");
}

Result<std::shared_ptr<Ranks>> remat::runtime::createRanks(std::string_view) {
  uint32_t Torch = getNumber("WORLD_SIZE");
  // Whatever started torchrun, on each machine once, say.
  if (Torch > 1 && std::getenv("TORCHELASTIC_RUN_ID"))
    return makeTorchError(Torch);
  // Open MPI's mpirun, that of MPICH and its kin, and Slurm's srun.
  for (const char *Variable :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (uint32_t Count = getNumber(Variable); Count > 1)
      return createMPIRanks(Count);
  if (Torch > 1)
    return makeTorchError(Torch);
  return std::shared_ptr<Ranks>();
}
