//===- print-kernels.cpp - the own kernels of a graph as JSON ---*- C++ -*-===//
//
// For tests: reads a graph and prints, for each operation that own kernels run,
// and each group, the launches with their text, and the sources that these use.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "remat/IR/RematOps.h"
#include "remat/Target/CUDA/Emission.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using remat::cuda::Argument;
using remat::cuda::KernelSource;
using remat::cuda::Launch;

static void printTypes(llvm::json::OStream &JSON, llvm::StringRef Key,
                       TypeRange Types) {
  JSON.attributeArray(Key, [&] {
    for (Type T : Types) {
      auto Tensor = cast<RankedTensorType>(T);
      JSON.object([&] {
        JSON.attribute("type",
                       remat::cuda::getTypeName(Tensor.getElementType()));
        JSON.attributeArray("shape", [&] {
          for (int64_t Size : Tensor.getShape())
            JSON.value(Size);
        });
      });
    }
  });
}

static void printLaunch(llvm::json::OStream &JSON, const Launch &L) {
  JSON.object([&] {
    JSON.attribute("name", L.Name);
    JSON.attribute("source", remat::cuda::printKernel(L, "@NAME@"));
    JSON.attribute("grid", llvm::json::Array(L.Grid));
    JSON.attribute("block", llvm::json::Array(L.Block));
    JSON.attribute("shared", L.SharedBytes);
    JSON.attributeArray("arguments", [&] {
      for (const Argument &A : L.Arguments)
        JSON.object([&] {
          constexpr llvm::StringLiteral Kinds[] = {"operand", "result",
                                                   "workspace", "int"};
          JSON.attribute("kind", Kinds[static_cast<unsigned>(A.Kind)]);
          JSON.attribute("index", A.Index);
          JSON.attribute("int", A.Int);
        });
    });
  });
}

int main(int Argc, char **Argv) {
  if (Argc != 2) {
    llvm::errs() << "usage: print-kernels graph.mlir\n";
    return 1;
  }
  DialectRegistry Registry;
  Registry.insert<func::FuncDialect, remat::RematDialect>();
  MLIRContext Context(Registry);
  auto Module = parseSourceFile<ModuleOp>(Argv[1], &Context);
  if (!Module)
    return 1;
  llvm::json::OStream JSON(llvm::outs());
  std::vector<const KernelSource *> Sources;
  JSON.object([&] {
    JSON.attributeArray("operations", [&] {
      Module->walk<WalkOrder::PreOrder>([&](Operation *Op) {
        bool IsPrinted = isa<remat::KernelOp, remat::RollOp>(Op);
        if (!IsPrinted && !remat::cuda::hasKernels(Op))
          return WalkResult::advance();
        llvm::SmallVector<Launch> Launches;
        if (IsPrinted)
          remat::cuda::getPointwiseLaunches(Op, Launches);
        else
          remat::cuda::getLaunches(Op, Launches);
        JSON.object([&] {
          JSON.attribute("op", Op->getName().stripDialect());
          JSON.attribute("workspace",
                         remat::cuda::getKernelNeeds(Op).Workspace);
          printTypes(JSON, "operands", Op->getOperandTypes());
          printTypes(JSON, "results", Op->getResultTypes());
          JSON.attributeArray("launches", [&] {
            for (const Launch &L : Launches) {
              printLaunch(JSON, L);
              remat::cuda::addSource(*L.Source, Sources);
            }
          });
        });
        return IsPrinted ? WalkResult::skip() : WalkResult::advance();
      });
    });
    JSON.attributeArray("sources", [&] {
      for (const KernelSource *Source : Sources)
        JSON.object([&] {
          JSON.attribute("file", llvm::StringRef(Source->File));
          JSON.attribute("text", llvm::StringRef(Source->Text));
        });
    });
  });
  llvm::outs() << "\n";
  return 0;
}
