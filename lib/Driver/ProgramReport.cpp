//===- ProgramReport.cpp - what a program says of its making --------------===//

#include "remat/Driver/ProgramReport.h"

using namespace remat;
using namespace remat::runtime;

CompileReport remat::makeReport(const Program &P) {
  CompileReport Report;
  Report.Device = P.Device;
  Report.Arch = P.Arch;
  if (P.Plan.BudgetBytes >= 0)
    Report.BudgetBytes = P.Plan.BudgetBytes;
  Report.UnplannedPeakBytes = P.Plan.UnplannedPeakBytes;
  Report.PredictedPeakBytes = P.Plan.PredictedPeakBytes;
  Report.SmallestFeasibleBytes = P.Plan.SmallestFeasibleBytes;
  Report.PredictedOverhead = P.Plan.PredictedOverhead;
  Report.PredictedMs = P.Plan.PredictedMs;
  Report.RecomputedOps = P.Plan.RecomputedOps;
  for (const ProgramFunction &F : P.Functions) {
    const runtime::PlanSummary &Plan = F.Body->Plan;
    Report.Functions.push_back(
        {F.Name, Plan.UnplannedPeakBytes, Plan.PredictedPeakBytes,
         Plan.SmallestFeasibleBytes, 0, Plan.PredictedMs, Plan.RecomputedOps});
  }
  Program::PeakProfile Peak = P.getPeakProfile();
  for (unsigned I = 0; I < unsigned(MemoryClass::Arena); ++I)
    Report.Classes.emplace_back(getName(MemoryClass(I)), Peak.BytesByClass[I]);
  Report.Classes.emplace_back("slack", P.ArenaBytes - Peak.LiveBytes);
  return Report;
}
