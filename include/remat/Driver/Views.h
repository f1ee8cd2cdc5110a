//===- Views.h - a compilation and run, to be looked at ---------*- C++ -*-===//
//
// The programs of a compilation with their memory over a step and the time of
// each operation; and the forms in which people and other tools look at them.
// docs/Report.md describes the forms.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DRIVER_VIEWS_H
#define REMAT_DRIVER_VIEWS_H

#include "remat/Pipeline.h"
#include "remat/runtime/Timeline.h"
#include <optional>
#include <span>

namespace remat {

/// A program, its memory over the step, and what its steps take.
struct ProgramView {
  std::shared_ptr<const runtime::Program> Program;
  runtime::Timeline Memory;
  /// One a step; empty where nothing is known: a program file carries no times.
  std::vector<StepTime> Times;
  /// One a step; empty where it did not run or was not asked to measure.
  std::vector<double> MeasuredMs;
};

struct Views {
  std::string Title;
  llvm::json::Object Report; ///< what --report writes
  /// Of the program that runs; nothing where the budget was refused.
  std::optional<ProgramView> Planned;
  /// Every operation once; nothing for a program file.
  std::optional<ProgramView> Unplanned;
  /// Of a refused budget: the program with the least arena that was found.
  std::optional<ProgramView> Smallest;
  std::vector<FrontierPoint> Frontier;

  /// The program that there is: the planned one, else the smallest.
  const ProgramView *getMain() const;
};

/// `Program` is null where the budget was refused. Of the record, which is null
/// for a program file, the programs are verified as every program is.
runtime::Result<Views>
makeViews(std::string Title, llvm::json::Object Report,
          std::shared_ptr<const runtime::Program> Program,
          const CompileRecord *Record, std::span<const double> MeasuredMs);

/// All of it as JSON.
llvm::json::Value describeViews(const Views &V);
/// One HTML file that needs no other; its data is `describeViews`.
std::string makePage(const Views &V);
/// The trace event format of Chrome, which Perfetto opens: a slice for each
/// step, counters of memory by class.
std::string makeTrace(const Views &V);
/// A line for each step of the main program.
std::string makeTable(const Views &V);

} // namespace remat

#endif // REMAT_DRIVER_VIEWS_H
