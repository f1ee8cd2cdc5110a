//===- GraphFile.h - the one way to read a graph file -----------*- C++ -*-===//
//
// A graph file is untrusted. MLIR's parser survives malformed text, but not
// deep nesting, and its bytecode reader survives little; so every tool reads
// graphs through these functions, which check the text before MLIR sees it and
// the structure after.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_IR_GRAPHFILE_H
#define REMAT_IR_GRAPHFILE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace remat {

/// The innermost place in a file that a location names.
std::optional<mlir::FileLineColLoc> findPlace(mlir::Location Loc);

/// Prints the diagnostics of a context with source lines, while it lives.
///
/// Unlike mlir::SourceMgrDiagnosticHandler it shows lines of the graph texts
/// that it was given only: a location inside a graph can name any file or
/// device, which must not be opened. Of a nested location it names the
/// innermost place in a file, of one without a place nothing, and of the line
/// that begins a function it shows only what stands at the place.
class GraphDiagnostics {
public:
  /// Refused budgets are left out unless `ShowRefusals`.
  explicit GraphDiagnostics(mlir::MLIRContext &Context,
                            llvm::raw_ostream &Output = llvm::errs(),
                            bool ShowRefusals = true);

  /// Keeps a copy of a graph text, to show its lines.
  void addText(llvm::MemoryBufferRef Text);

  /// The line of a kept text at the innermost place of a location text such as
  /// "graph.mlir:4:8"; empty if there is none.
  llvm::StringRef getLine(llvm::StringRef Place) const;

private:
  void print(mlir::Location Loc, mlir::DiagnosticSeverity Severity,
             const llvm::Twine &Message);
  void printLine(mlir::FileLineColLoc Place);

  llvm::SourceMgr Sources;
  llvm::raw_ostream &Output;
  bool ShowRefusals;
  mlir::ScopedDiagnosticHandler Handler;
};

struct GraphFileOptions {
  /// MLIR bytecode is read from trusted sources only.
  bool AllowBytecode = false;
  /// Largest size of a file.
  int64_t MaxBytes = int64_t(1) << 30;
  /// Deepest nesting of brackets of all kinds.
  int64_t MaxDepth = 128;
  /// Gets the text, to show its lines in diagnostics.
  GraphDiagnostics *Diagnostics = nullptr;
};

/// Reads the file `Path` ("-": standard input) into memory. Emits an error and
/// gives null if it cannot be read, is no file, or is too large.
std::unique_ptr<llvm::MemoryBuffer>
readGraphFile(llvm::StringRef Path, mlir::MLIRContext &Context,
              const GraphFileOptions &Options = {});

/// Checks what must be checked before MLIR parses `Text`: size, no bytecode,
/// bounded nesting, no affine maps (their parser recurses without brackets), no
/// chain of aliases that is deep or endless when written out, numbers, shapes
/// and words of bounded length, integer types of at most 64 bits, no more
/// results of values than the text can define, no resources, no location that
/// names a device.
mlir::LogicalResult checkGraphText(llvm::MemoryBufferRef Text,
                                   mlir::MLIRContext &Context,
                                   const GraphFileOptions &Options = {});

/// The graph of a module: its function named `main`, which has one block. Emits
/// an error and gives null if there is no such function, or anything beside
/// functions.
mlir::func::FuncOp getGraph(mlir::ModuleOp Module);

/// The functions of a module beside `main`, in order: each computes with the
/// parameters and states that `main` trains.
llvm::SmallVector<mlir::func::FuncOp> getOtherFunctions(mlir::ModuleOp Module);

/// Checks what every pass relies on, of any function that is no declaration:
/// one block, which ends in a return, with operations of this dialect only and
/// arguments that are tensors.
mlir::LogicalResult verifyGraphBody(mlir::func::FuncOp Func);

/// Checks one function of a graph file: its body, and that each argument and
/// result has a role and a name.
mlir::LogicalResult verifyFunction(mlir::func::FuncOp Func);

/// Checks that `Module` is a whole graph: `getGraph` finds it, and each
/// function is one of a graph file.
mlir::LogicalResult verifyGraph(mlir::ModuleOp Module);

/// Parses and verifies a graph text; `Name` stands for it in diagnostics. Loads
/// the dialects that it needs. Emits errors and gives null on failure. The
/// locations keep what the text calls values: loc("%h"("file":line:column)).
mlir::OwningOpRef<mlir::ModuleOp>
parseGraph(llvm::StringRef Text, llvm::StringRef Name,
           mlir::MLIRContext &Context, const GraphFileOptions &Options = {});

/// A graph text that is parsed when its graph is first asked for: what is found
/// without the graph pays for no parsing, and what several steps ask of it is
/// parsed once.
class LazyGraph {
public:
  /// As for `parseGraph`. All but the options must outlive this.
  LazyGraph(llvm::StringRef Text, llvm::StringRef Name,
            mlir::MLIRContext &Context, GraphFileOptions Options = {})
      : Text(Text), Name(Name), Context(Context), Options(Options) {}

  /// Null, after errors, if the text is no graph; then it is asked no more.
  mlir::ModuleOp get();
  /// What parsing took.
  double getSeconds() const { return Seconds; }

private:
  llvm::StringRef Text, Name;
  mlir::MLIRContext &Context;
  GraphFileOptions Options;
  mlir::OwningOpRef<mlir::ModuleOp> Module;
  double Seconds = 0;
};

/// `parseGraph` of the file `Path` ("-": standard input).
mlir::OwningOpRef<mlir::ModuleOp>
loadGraph(llvm::StringRef Path, mlir::MLIRContext &Context,
          const GraphFileOptions &Options = {});

} // namespace remat

#endif // REMAT_IR_GRAPHFILE_H
