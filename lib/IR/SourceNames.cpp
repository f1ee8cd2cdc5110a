//===- SourceNames.cpp - what a graph text calls its values ---------------===//

#include "SourceNames.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace remat;

using Definition = AsmParserState::OperationDefinition;

/// What a text calls the results of an operation: "%h", or "%a, %b".
static std::string getNames(const Definition &Of) {
  SmallVector<StringRef> Names;
  for (const auto &Group : Of.resultGroups) {
    SMRange Range = Group.definition.loc;
    Names.push_back(
        StringRef(Range.Start.getPointer(),
                  Range.End.getPointer() - Range.Start.getPointer()));
  }
  return llvm::join(Names, ", ");
}

OwningOpRef<ModuleOp>
remat::parseWithSourceNames(const llvm::SourceMgr &Sources,
                            MLIRContext &Context) {
  ParserConfig Config(&Context);
  const llvm::MemoryBuffer &Text =
      *Sources.getMemoryBuffer(Sources.getMainFileID());
  if (isBytecode(Text))
    return parseSourceFile<ModuleOp>(Sources, Config);
  Block Parsed;
  AsmParserState State;
  if (failed(parseAsmSourceFile(Sources, &Parsed, Config, &State)))
    return nullptr;
  for (const Definition &Of : State.getOpDefs())
    if (!Of.resultGroups.empty() && isa<FileLineColLoc>(Of.op->getLoc()))
      Of.op->setLoc(NameLoc::get(StringAttr::get(&Context, getNames(Of)),
                                 Of.op->getLoc()));
  return mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
      &Parsed, &Context,
      FileLineColLoc::get(&Context, Text.getBufferIdentifier(), 0, 0));
}
