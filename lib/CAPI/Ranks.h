//===- Ranks.h - what the handle of ranks holds -----------------*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_RANKS_H
#define REMAT_LIB_CAPI_RANKS_H

#include "remat-c/Ranks.h"
#include "remat/runtime/Ranks.h"
#include <memory>

struct RematRanks_ {
  std::shared_ptr<remat::runtime::Ranks> Ranks;
};

#endif // REMAT_LIB_CAPI_RANKS_H
