//===- ProgramReport.h - what a program says of its making ------*- C++ -*-===//

#ifndef REMAT_DRIVER_PROGRAMREPORT_H
#define REMAT_DRIVER_PROGRAMREPORT_H

#include "remat/Pipeline.h"
#include "remat/runtime/Program.h"

namespace remat {

/// The numbers that an emitted program carries, as a report of its compilation.
CompileReport makeReport(const runtime::Program &Program);

} // namespace remat

#endif // REMAT_DRIVER_PROGRAMREPORT_H
