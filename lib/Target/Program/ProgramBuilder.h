//===- ProgramBuilder.h - what emission knows while it runs -----*- C++ -*-===//
//
// Private to lib/Target/Program. A program is built as the format's own object
// tree and packed once at the end.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_PROGRAM_PROGRAMBUILDER_H
#define REMAT_LIB_TARGET_PROGRAM_PROGRAMBUILDER_H

#include "remat/Analysis/MemoryProfile.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/RematOps.h"
#include "remat/Target/CUDA/Emission.h"
#include "remat/Target/Program.h"
#include "remat/Target/Targets.h"
#include "remat/program/Program_generated.h"
#include "llvm/ADT/DenseMap.h"

namespace remat {

/// The attributes of `Op` as a program names them, sorted by name: everything
/// that the op's definition lists, defaults included, except false booleans.
std::vector<std::unique_ptr<program::AttributeT>>
convertAttributes(mlir::Operation *Op);

/// The element type of a tensor in the program's terms.
program::DType convertElementType(mlir::Type Type);

/// One operand position of an op as a program lists it: an optional operand
/// that is not there is a null value.
llvm::SmallVector<mlir::Value> getProgramOperands(mlir::Operation *Op);

class ProgramBuilder {
public:
  ProgramBuilder(mlir::func::FuncOp Func, const EmitOptions &Options)
      : Func(Func), Options(Options), Where(createTarget(Func)), Classes(Func),
        Names(Func) {}

  /// Builds the whole program; emits a diagnostic on failure.
  mlir::LogicalResult build();
  /// Adds another function that runs in the same arena.
  mlir::LogicalResult addFunction(mlir::func::FuncOp Other,
                                  const EmitOptions &How);
  program::ProgramT &getProgram() { return Program; }

private:
  // Tensors.cpp
  mlir::LogicalResult numberSteps();
  mlir::LogicalResult addTensors();
  mlir::LogicalResult addTensor(mlir::Value Value, int64_t Offset);
  void setLifetimes();
  mlir::LogicalResult addConstants();

  // Emit.cpp
  void addMesh();
  void addArguments();
  void addPart(PartAttr Part, program::ArgumentT &Argument) const;
  void addResults();
  mlir::LogicalResult addSteps();
  mlir::LogicalResult addStep(mlir::Operation &Op);
  mlir::FailureOr<KernelAttr> getChosen(mlir::Operation *Op,
                                        int64_t Workspace) const;
  void addBody(KernelOp Kernel, program::StepT &Step);
  mlir::LogicalResult addLoop(ScanOp Scan, program::StepT &Step) const;
  void setOrigins();
  void setPlan();

  // Kernels.cpp
  mlir::LogicalResult addKernels();
  mlir::LogicalResult compileKernels(const cuda::KernelTable &Table);

  uint32_t getTensor(mlir::Value Value) const { return Tensors.at(Value); }

  mlir::func::FuncOp Func;
  const EmitOptions &Options;
  std::unique_ptr<Target> Where;
  MemoryClasses Classes;
  ValueNames Names;
  Storages Places;
  program::ProgramT Program;
  llvm::DenseMap<mlir::Value, uint32_t> Tensors;
  /// Step number of each op that has one.
  llvm::DenseMap<mlir::Operation *, int32_t> Steps;
  std::vector<mlir::Operation *> StepOps;
};

} // namespace remat

#endif // REMAT_LIB_TARGET_PROGRAM_PROGRAMBUILDER_H
