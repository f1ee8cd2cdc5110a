//===- Metrics.h - the numbers of each step ---------------------*- C++ -*-===//
//
// What a program reports of a step beside its loss, and the file with one line
// of JSON a step.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUN_METRICS_H
#define REMAT_LIB_RUN_METRICS_H

#include "Options.h"
#include "remat/runtime/Session.h"
#include "llvm/Support/JSON.h"
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remat::run {

/// What a step gave.
struct StepNumbers {
  std::optional<float> Loss;
  /// What the program's optimizer reports, in order.
  std::vector<std::pair<std::string, float>> Metrics;

  std::optional<float> find(llvm::StringRef Name) const;
};

/// Reads the loss and the metrics of the step that has run.
runtime::Result<StepNumbers> readNumbers(runtime::Session &S);

/// For a file: null where the number is infinite or NaN, which JSON has not.
llvm::json::Value describeNumber(double Number);

/// What one step takes in: tokens, if an input asks for them; else samples, if
/// all inputs have one first dimension; else 0.
std::pair<uint64_t, const char *> countPerStep(const runtime::Program &P);

/// The file of --metrics. Each line is there once its step is done, whatever
/// becomes of the process.
class MetricsFile {
public:
  /// Opens the file that the options name, if they do. Lines of the steps
  /// behind the first `FirstStep` ones, and a line that was cut off, are
  /// dropped: a run that goes on where another ended continues its file.
  static runtime::Result<MetricsFile> open(runtime::Session &S,
                                           const runtime::Device &D,
                                           const ToolOptions &O,
                                           uint64_t FirstStep);

  /// Adds the line of the step that has run. What cannot be written is said by
  /// `finish`: training does not end for it.
  void add(runtime::Session &S, const StepNumbers &Numbers);

  /// Whether every line was written.
  runtime::Status finish() const;

private:
  struct Closer {
    void operator()(std::FILE *File) const { std::fclose(File); }
  };

  std::string Path;
  std::unique_ptr<std::FILE, Closer> File; ///< null: none is asked for
  int64_t Step = 0;                        ///< steps that are done
  uint64_t PerStep = 0;
  std::string Unit;
  /// Milliseconds that the device would take at its peak; 0: not known.
  double IdealMs = 0;
  std::optional<std::string> Failed;
};

} // namespace remat::run

#endif // REMAT_LIB_RUN_METRICS_H
