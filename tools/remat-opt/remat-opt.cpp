//===- remat-opt.cpp - runs passes on graph files ---------------*- C++ -*-===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "remat/IR/RematDialect.h"
#include "remat/Transforms/Passes.h"

int main(int Argc, char **Argv) {
  mlir::DialectRegistry Registry;
  Registry.insert<mlir::func::FuncDialect, remat::RematDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  remat::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(Argc, Argv, "remat optimizer\n", Registry));
}
