//===- Status.cpp - errors and version ------------------------------------===//

#include "Guard.h"

void rematGetVersion(int *Major, int *Minor, int *Patch) {
  if (Major)
    *Major = REMAT_VERSION_MAJOR;
  if (Minor)
    *Minor = REMAT_VERSION_MINOR;
  if (Patch)
    *Patch = REMAT_VERSION_PATCH;
}

RematCode rematStatusGetCode(RematStatus Status) {
  return Status ? Status->Code : REMAT_OK;
}

const char *rematStatusGetMessage(RematStatus Status) {
  return Status ? Status->Message.c_str() : "";
}

// So short that the text needs no memory of its own.
static RematStatus_ MemoryStatus = {REMAT_OUT_OF_MEMORY, "no host memory"};

RematStatus remat::capi::getMemoryStatus() noexcept { return &MemoryStatus; }

void rematStatusDestroy(RematStatus Status) {
  if (Status != &MemoryStatus)
    delete Status;
}
