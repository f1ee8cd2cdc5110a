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

size_t rematStatusGetNumDiagnostics(RematStatus Status) {
  return Status ? Status->Diagnostics.size() : 0;
}

int rematStatusGetDiagnostic(RematStatus Status, size_t Number,
                             RematDiagnostic *Diagnostic) {
  if (!Diagnostic || Number >= rematStatusGetNumDiagnostics(Status))
    return 0;
  const remat::capi::Said &Of = Status->Diagnostics[Number];
  *Diagnostic = {Of.IsNote, Of.Message.c_str(), Of.File.c_str(), Of.Line,
                 Of.Column};
  return 1;
}

// So short that the text needs no memory of its own.
static RematStatus_ MemoryStatus = {REMAT_OUT_OF_MEMORY, "no host memory", {}};

RematStatus remat::capi::getMemoryStatus() noexcept { return &MemoryStatus; }

void rematStatusDestroy(RematStatus Status) {
  if (Status != &MemoryStatus)
    delete Status;
}
