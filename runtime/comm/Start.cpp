//===- Start.cpp - the ranks that a process was started with --------------===//

#include "remat/Support/Numbers.h"
#include "remat/runtime/Ranks.h"
#include <cstdlib>

using namespace remat::runtime;

/// How many processes a variable of the environment says; 1 if it is not set.
static uint32_t getCount(const char *Variable) {
  const char *Text = std::getenv(Variable);
  return Text ? remat::parseNumber<uint32_t>(Text).value_or(1) : 1;
}

Result<std::shared_ptr<Ranks>> remat::runtime::createRanks(std::string_view) {
  for (const char *Variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                               "SLURM_STEP_NUM_TASKS", "WORLD_SIZE"})
    if (uint32_t Count = getCount(Variable); Count > 1)
      return Error(ErrorCode::Unavailable,
                   std::string(Variable) + " says that " +
                       std::to_string(Count) +
                       " processes were started together; this build cannot "
                       "connect them");
  return std::shared_ptr<Ranks>();
}
