//===- Program.h - from a planned graph to a program ------------*- C++ -*-===//
//
// The last step of the pipeline: writes what the runtime runs.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_PROGRAM_H
#define REMAT_TARGET_PROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>
#include <vector>

namespace remat {

/// What the device's model says of one step; a program does not carry it.
struct StepTime {
  std::string Key;         ///< see getCostKey
  double Microseconds = 0; ///< predicted
  /// See Target::Ceilings.
  double ArithmeticMicroseconds = 0, TrafficMicroseconds = 0;
  double Bytes = 0; ///< each operand read once, each result written once
};

struct EmitOptions {
  bool CompileKernels = true; ///< for CUDA: run NVRTC; false: text only
  /// Gets an entry for each step; may be null.
  std::vector<StepTime> *Times = nullptr;
};

/// Writes a graph whose memory is assigned (`remat.offsets` on every op,
/// `remat.offset` on every argument, `remat.arena_bytes`) as a program for its
/// target (`remat.target`) in the format of runtime/Program/Program.fbs. The
/// first function is the program; those behind run between its steps, in the
/// same arena, which is the largest of all.
/// Emits a diagnostic and fails if memory is not assigned, the target does not
/// have the kernel that `remat.choice` names, or a kernel does not compile.
mlir::LogicalResult emitProgram(llvm::ArrayRef<mlir::func::FuncOp> Functions,
                                const EmitOptions &Options,
                                std::vector<uint8_t> &Program);

struct CUDATextOptions {
  bool Prelude = true; ///< print what stands before all kernels
  /// Architectures for which the text must compile.
  std::vector<std::string> CompileFor;
};

/// Prints the CUDA C++ of the graph's kernels and, as a comment, their launches
/// step by step. Memory need not be assigned.
mlir::LogicalResult printCUDA(mlir::func::FuncOp Func,
                              const CUDATextOptions &Options,
                              llvm::raw_ostream &OS);

/// Verifies `Bytes`, which are not trusted, and prints the program as text.
/// Returns false, with the reason in `Error`, if they are no program.
bool printProgram(llvm::ArrayRef<uint8_t> Bytes, llvm::raw_ostream &OS,
                  std::string &Error);

/// Verifies `Bytes`, which are not trusted, and prints the CUDA C++ that the
/// program holds. Returns false, with the reason in `Error`, if they are no
/// program.
bool printProgramSource(llvm::ArrayRef<uint8_t> Bytes, llvm::raw_ostream &OS,
                        std::string &Error);

} // namespace remat

#endif // REMAT_TARGET_PROGRAM_H
