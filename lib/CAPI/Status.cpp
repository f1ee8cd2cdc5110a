//===- Status.cpp - errors and version ------------------------------------===//

#include "Common.h"

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

void rematStatusDestroy(RematStatus Status) { delete Status; }
