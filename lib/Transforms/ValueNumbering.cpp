//===- ValueNumbering.cpp - do two blocks compute the same? ---------------===//

#include "remat/IR/RematOps.h"
#include "remat/Transforms/Plan.h"

using namespace mlir;
using namespace remat;

/// Attributes that say where, when or by which kernel, not what.
static bool isAboutExecution(StringRef Name) {
  return Name == OriginAttrName || Name == IdAttrName ||
         Name == OffsetsAttrName || Name == WorkspaceAttrName ||
         Name == ChoiceAttrName || Name == PhaseAttrName ||
         Name == KeepAttrName;
}

/// The operation without its operands: name, attributes, result types. These
/// are unique in their context, so their addresses stand for them; a large
/// constant is never printed.
static std::string getSignature(Operation *Op) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  OS << Op->getName();
  for (NamedAttribute Attr : Op->getAttrDictionary())
    if (!isAboutExecution(Attr.getName()))
      OS << ' ' << Attr.getName().getValue() << '='
         << Attr.getValue().getAsOpaquePointer();
  for (Type T : Op->getResultTypes())
    OS << ' ' << T.getAsOpaquePointer();
  return Text;
}

/// The operations of a block and who reads whom, the blocks in them included:
/// equal for a block and its clone.
static void printBlock(Block &Body, DenseMap<Value, size_t> &Local,
                       raw_ostream &OS) {
  for (BlockArgument Argument : Body.getArguments())
    Local.try_emplace(Argument, Local.size());
  for (Operation &Op : Body) {
    OS << getSignature(&Op) << '(';
    for (Value Operand : Op.getOperands())
      OS << Local.at(Operand) << ',';
    OS << ')';
    for (Region &Inner : Op.getRegions())
      printBlock(Inner.front(), Local, OS);
    for (Value Result : Op.getResults())
      Local.try_emplace(Result, Local.size());
  }
}

unsigned ValueNumbering::getNumber(StringRef Signature,
                                   ArrayRef<unsigned> Operands) {
  std::string Key = Signature.str();
  llvm::raw_string_ostream OS(Key);
  OS << '(';
  llvm::interleaveComma(Operands, OS);
  OS << ')';
  return Table.try_emplace(Key, Table.size()).first->second;
}

void ValueNumbering::number(Operation *Op) {
  if (auto Kernel = dyn_cast<KernelOp>(Op)) {
    Block &Body = Kernel.getBody().front();
    for (auto [Argument, Input] :
         llvm::zip_equal(Body.getArguments(), Kernel.getInputs()))
      Numbers[Argument] = Numbers.at(Input);
    for (Operation &Inner : Body.without_terminator())
      number(&Inner);
    for (auto [Result, Yielded] : llvm::zip_equal(
             Kernel.getResults(), Body.getTerminator()->getOperands()))
      Numbers[Result] = Numbers.at(Yielded);
    return;
  }
  SmallVector<unsigned> Operands;
  for (Value Operand : Op->getOperands())
    Operands.push_back(Numbers.at(Operand));
  std::string Signature = getSignature(Op);
  if (auto Scan = dyn_cast<ScanOp>(Op)) {
    DenseMap<Value, size_t> Local;
    llvm::raw_string_ostream OS(Signature);
    printBlock(Scan.getBlock(), Local, OS);
  }
  for (OpResult Result : Op->getResults())
    Numbers[Result] = getNumber(
        (Signature + " #" + Twine(Result.getResultNumber())).str(), Operands);
}

SmallVector<unsigned> ValueNumbering::run(func::FuncOp Func) {
  Numbers.clear();
  Block &Body = Func.getBody().front();
  for (BlockArgument Argument : Body.getArguments())
    Numbers[Argument] =
        getNumber(("argument " + Twine(Argument.getArgNumber())).str(), {});
  for (Operation &Op : Body.without_terminator())
    number(&Op);
  return llvm::map_to_vector(Body.getTerminator()->getOperands(),
                             [&](Value V) { return Numbers.at(V); });
}
