//===- CostTable.cpp - times of operations that were measured -------------===//

#include "remat/Analysis/CostTable.h"
#include "remat/Analysis/ScanBody.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// The numbers of streams of random numbers differ, and take no time.
static bool isNoted(NamedAttribute A) {
  return isa_and_nonnull<RematDialect>(A.getNameDialect()) ||
         A.getName() == "id";
}

static void printKey(Operation *Op, llvm::raw_ostream &OS) {
  OS << Op->getName().stripDialect() << " {";
  for (NamedAttribute A : Op->getAttrs())
    if (!isNoted(A))
      OS << A.getName().getValue() << " = " << A.getValue() << ' ';
  OS << "} (";
  llvm::interleaveComma(Op->getOperandTypes(), OS);
  OS << ") -> (";
  llvm::interleaveComma(Op->getResultTypes(), OS);
  OS << ')';
}

/// The operations of a group, with the numbers of what they read.
static std::string printBody(KernelOp Group) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  DenseMap<Value, size_t> Numbers;
  Block &Body = Group.getBody().front();
  for (BlockArgument Argument : Body.getArguments())
    Numbers.try_emplace(Argument, Numbers.size());
  for (Operation &Op : Body) {
    printKey(&Op, OS);
    for (Value Operand : Op.getOperands())
      OS << ' ' << Numbers.lookup(Operand);
    for (Value Result : Op.getResults())
      Numbers.try_emplace(Result, Numbers.size());
    OS << '\n';
  }
  return Text;
}

std::string remat::getCostKey(Operation *Op, KernelAttr Kernel) {
  std::string Key;
  llvm::raw_string_ostream OS(Key);
  OS << Kernel.getName() << ' ';
  printKey(Op, OS);
  if (auto Group = dyn_cast<KernelOp>(Op))
    OS << ' ' << llvm::utohexstr(llvm::xxh3_64bits(printBody(Group)));
  return Key;
}

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

namespace {
class MeasuredTarget : public Target {
public:
  MeasuredTarget(std::unique_ptr<Target> Of, DictionaryAttr Costs)
      : Target(Of->getAttr()), Of(std::move(Of)), Costs(Costs) {}

  SmallVector<KernelAttr> getImplementations(Operation *Op) const override;
  InFlightDiagnostic emitNoImplementation(Operation *Op) const override {
    return Of->emitNoImplementation(Op);
  }
  double getElementwiseMicroseconds(double Flops, double Bytes) const override {
    return Of->getElementwiseMicroseconds(Flops, Bytes);
  }
  bool sumsInKernels(Operation *Sum) const override {
    return Of->sumsInKernels(Sum);
  }
  Ceilings getCeilings(Operation *Op) const override {
    return Of->getCeilings(Op);
  }

private:
  std::unique_ptr<Target> Of;
  DictionaryAttr Costs;
};
} // namespace

SmallVector<KernelAttr>
MeasuredTarget::getImplementations(Operation *Op) const {
  // A loop takes what its body does, whose operations have times of their own.
  if (auto Scan = dyn_cast<ScanOp>(Op))
    return getScanKernels(*this, Scan);
  SmallVector<KernelAttr> Kernels = Of->getImplementations(Op);
  for (KernelAttr &Kernel : Kernels)
    if (auto Time = Costs.getAs<FloatAttr>(getCostKey(Op, Kernel)))
      Kernel = KernelAttr::get(Op->getContext(), Kernel.getKind(),
                               Time.getValueAsDouble(), Kernel.getWorkspace(),
                               Kernel.getLaunches(), Kernel.getSlices(),
                               Kernel.getDeterministic());
  return Kernels;
}

std::unique_ptr<Target> remat::useCosts(std::unique_ptr<Target> Where,
                                        DictionaryAttr Costs) {
  return std::make_unique<MeasuredTarget>(std::move(Where), Costs);
}
