//===- Plugin.cpp - the dialect and passes for a stock mlir-opt -*- C++ -*-===//
//
// mlir-opt --load-dialect-plugin=RematPlugin.so
// --load-pass-plugin=RematPlugin.so
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "remat/IR/RematDialect.h"
#include "remat/Transforms/Passes.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Remat", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *Registry) {
            Registry->insert<remat::RematDialect>();
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Remat", LLVM_VERSION_STRING,
          [] { remat::registerPasses(); }};
}
