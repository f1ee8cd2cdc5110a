//===- GraphMutator.cpp - changes graphs by their operations --------------===//
//
// Parses a graph, changes operands, order, attributes and types, and prints it
// in the generic form: a text that parses, and that verifiers must judge.
//
//===----------------------------------------------------------------------===//

#include "Target.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "remat/IR/GraphFile.h"
#include "remat/IR/RematDialect.h"

using namespace mlir;
using namespace remat;
using namespace remat::fuzz;

namespace {

class GraphMutator {
public:
  GraphMutator(func::FuncOp Graph, Random &R) : Graph(Graph), R(R) {
    Graph->walk([&](Operation *Op) {
      if (Op != Graph.getOperation())
        Ops.push_back(Op);
      Values.append(Op->result_begin(), Op->result_end());
      for (Region &Region : Op->getRegions())
        for (Block &Block : Region)
          Values.append(Block.args_begin(), Block.args_end());
      for (NamedAttribute Named : Op->getAttrDictionary())
        Known.push_back(Named);
    });
    for (unsigned I = 0; I < Graph.getNumArguments(); ++I)
      if (DictionaryAttr All = Graph.getArgAttrDict(I))
        Known.append(All.begin(), All.end());
  }

  void mutate();

private:
  bool mayRead(Operation *User, Value Value);
  Value pickLike(Operation *User, Value Old);
  Attribute change(Attribute Old);
  Attribute makeAttribute(StringRef Text);
  NamedAttribute pickAttribute();
  void setOperand();
  void moveOp();
  void cloneOp();
  void eraseOp();
  void changeAttribute();
  void changeInterface();
  void changeType();

  func::FuncOp Graph;
  Random &R;
  SmallVector<Operation *> Ops;
  SmallVector<Value> Values;
  SmallVector<NamedAttribute> Known;
};

} // namespace

/// Whether `User` may read `Value`; not so, now and then.
bool GraphMutator::mayRead(Operation *User, Value Value) {
  if (R.oneIn(30))
    return true;
  if (isa<BlockArgument>(Value))
    return Value.getParentBlock() == User->getBlock();
  Operation *Def = Value.getDefiningOp();
  return Def->getBlock() == User->getBlock() && Def->isBeforeInBlock(User);
}

/// Another value for `User` to read, mostly of the same type.
Value GraphMutator::pickLike(Operation *User, Value Old) {
  for (int Try = 0; Try < 30; ++Try)
    if (Value Other = R.pick(Values);
        Other != Old && mayRead(User, Other) &&
        (Other.getType() == Old.getType() || R.oneIn(40)))
      return Other;
  return Old;
}

void GraphMutator::setOperand() {
  Operation *Op = R.pick(Ops);
  if (Op->getNumOperands() == 0)
    return;
  OpOperand &Operand = Op->getOpOperand(R.draw(Op->getNumOperands()));
  Operand.set(pickLike(Op, Operand.get()));
}

/// Moves an operation, mostly no further up than what it reads.
void GraphMutator::moveOp() {
  Operation *Op = R.pick(Ops), *Other = R.pick(Ops);
  if (Op == Other || Op->getBlock() != Other->getBlock() ||
      Op->hasTrait<OpTrait::IsTerminator>())
    return;
  bool Reads = llvm::all_of(Op->getOperands(),
                            [&](Value Value) { return mayRead(Other, Value); });
  bool Read = llvm::all_of(Op->getUsers(), [&](Operation *User) {
    return User == Other || Other->isBeforeInBlock(User);
  });
  if ((Reads && Read) || R.oneIn(4))
    Op->moveBefore(Other);
}

void GraphMutator::cloneOp() {
  Operation *Op = R.pick(Ops);
  if (Op->hasTrait<OpTrait::IsTerminator>())
    return;
  Operation *Clone = Op->clone();
  Op->getBlock()->getOperations().insertAfter(Op->getIterator(), Clone);
  for (auto [Old, New] : llvm::zip(Op->getResults(), Clone->getResults()))
    for (OpOperand &Use : llvm::make_early_inc_range(Old.getUses()))
      if (R.oneIn(2))
        Use.set(New);
}

void GraphMutator::eraseOp() {
  Operation *Op = R.pick(Ops);
  if (Op->hasTrait<OpTrait::IsTerminator>())
    return;
  for (Value Result : Op->getResults()) {
    Value Other = pickLike(Op, Result);
    if (Other.getDefiningOp() != Op)
      Result.replaceAllUsesWith(Other);
  }
  // What stands inside may be read outside: then it must stay.
  if (Op->use_empty() && Op->getNumRegions() == 0)
    Op->erase();
}

Attribute GraphMutator::makeAttribute(StringRef Text) {
  return parseAttribute(Text, Graph.getContext());
}

/// A number in the place of another, of the same type.
static int64_t pickNumber(Random &R, int64_t Old) {
  uint64_t Bits = Old; // wraps where a signed number overflows
  const uint64_t Odd[] = {0,
                          1,
                          uint64_t(-1),
                          2,
                          255,
                          256,
                          512,
                          1024,
                          INT32_MAX,
                          INT64_MAX,
                          uint64_t(INT64_MIN),
                          uint64_t(1) << 32,
                          Bits + 1,
                          Bits - 1,
                          Bits * 2,
                          Bits + 256};
  return static_cast<int64_t>(R.pick(Odd));
}

Attribute GraphMutator::change(Attribute Old) {
  Builder B(Graph.getContext());
  if (auto Integer = dyn_cast<IntegerAttr>(Old))
    if (auto Type = dyn_cast<IntegerType>(Integer.getType()))
      return IntegerAttr::get(
          Type, APInt(64, static_cast<uint64_t>(
                              pickNumber(R, Integer.getValue().getSExtValue())))
                    .sextOrTrunc(Type.getWidth()));
  if (auto Float = dyn_cast<FloatAttr>(Old)) {
    const double Odd[] = {0.0, -1.0, 1.0, 0.999999, 1e300, -1e-300, 2.5};
    return FloatAttr::get(Float.getType(), R.pick(Odd));
  }
  if (auto Array = dyn_cast<DenseI64ArrayAttr>(Old)) {
    SmallVector<int64_t> Numbers(Array.asArrayRef());
    if (Numbers.empty() || R.oneIn(8))
      Numbers.push_back(pickNumber(R, 0));
    else if (R.oneIn(8))
      Numbers.pop_back();
    else {
      int64_t &Number = R.pick(Numbers);
      Number = R.oneIn(2) ? R.pick(Numbers) : pickNumber(R, Number);
    }
    return B.getDenseI64ArrayAttr(Numbers);
  }
  if (isa<StringAttr>(Old)) {
    const char *Words[] = {"must",    "never",    "prefer", "backward",
                           "cudnn",   "cublaslt", "own",    "optimizer",
                           "tokens",  "x",        "",       "cublaslt.splitk",
                           "targets", "cudnn_1",  "\n",     "*/"};
    return B.getStringAttr(R.pick(Words));
  }
  return Old;
}

/// An attribute as passes write it, or one that stands somewhere in the graph.
NamedAttribute GraphMutator::pickAttribute() {
  static constexpr std::pair<StringLiteral, StringLiteral> Written[] = {
      {"remat.offsets", "array<i64: 0>"},
      {"remat.offsets", "array<i64: 256, 512>"},
      {"remat.offset", "256 : i64"},
      {"remat.workspace", "array<i64: 0, 256>"},
      {"remat.arena_bytes", "4096 : i64"},
      {"remat.origin", "0 : i64"},
      {"remat.id", "0 : i64"},
      {"remat.id", "1 : i64"},
      {"remat.phase", "\"backward\""},
      {"remat.phase", "\"optimizer\""},
      {"remat.keep", "#remat.keep<never>"},
      {"remat.keep", "#remat.keep<must>"},
      {"remat.choice", "#remat.kernel<own, microseconds = 1.0>"},
      {"remat.choice", "#remat.kernel<cublaslt, microseconds = 2.5>"},
      {"remat.choice",
       "#remat.kernel<cudnn, microseconds = 9.0, workspace = 256, slices = 2>"},
      {"remat.target", "#remat.target<host>"},
      {"remat.target", "#remat.target<cuda, arch = \"sm_90\">"},
      {"remat.in_halves", "unit"},
      {"remat.donated", "0 : i64"},
      {"remat.donated", "1 : i64"},
      {"remat.role", "#remat.role<parameter>"},
      {"remat.role", "#remat.role<state>"},
      {"remat.role", "#remat.role<input>"},
      {"remat.role", "#remat.role<output>"},
      {"remat.init", "#remat.init<normal, 1.0>"},
      {"remat.data", "#remat.data<tokens>"},
      {"remat.bound", "3 : i64"}};
  if (!Known.empty() && R.oneIn(2))
    return R.pick(Known);
  auto [Name, Text] = R.pick(Written);
  return NamedAttribute(StringAttr::get(Graph.getContext(), Name),
                        makeAttribute(Text));
}

void GraphMutator::changeAttribute() {
  Operation *Op = R.oneIn(8) ? Graph.getOperation() : R.pick(Ops);
  DictionaryAttr All = Op->getAttrDictionary();
  if (All.empty() || R.oneIn(4)) {
    NamedAttribute New = pickAttribute();
    Op->setAttr(New.getName(), New.getValue());
    return;
  }
  NamedAttribute Named = All.getValue()[R.draw(All.size())];
  if (R.oneIn(6))
    Op->removeAttr(Named.getName());
  else
    Op->setAttr(Named.getName(), change(Named.getValue()));
}

/// Changes, adds or removes an attribute of an argument or result.
void GraphMutator::changeInterface() {
  bool Result = R.oneIn(3);
  unsigned Count = Result ? Graph.getNumResults() : Graph.getNumArguments();
  if (Count == 0)
    return;
  unsigned Index = R.draw(Count);
  DictionaryAttr All =
      Result ? Graph.getResultAttrDict(Index) : Graph.getArgAttrDict(Index);
  NamedAttrList List(All);
  if (List.empty() || R.oneIn(4)) {
    NamedAttribute New = pickAttribute();
    List.set(New.getName(), New.getValue());
  } else {
    NamedAttribute Named = R.pick(List.getAttrs());
    if (R.oneIn(6))
      List.erase(Named.getName());
    else
      List.set(Named.getName(), change(Named.getValue()));
  }
  if (Result)
    Graph.setResultAttrs(Index, List.getDictionary(Graph.getContext()));
  else
    Graph.setArgAttrs(Index, List.getDictionary(Graph.getContext()));
}

/// Changes one type, mostly wherever it stands.
void GraphMutator::changeType() {
  Value Chosen = R.pick(Values);
  auto Old = dyn_cast<RankedTensorType>(Chosen.getType());
  if (!Old)
    return;
  SmallVector<int64_t> Shape(Old.getShape());
  Type Element = Old.getElementType();
  const int64_t Sizes[] = {1, 2, 3, 4, 5, 8, 1024, 1 << 20, int64_t(1) << 40};
  if (R.oneIn(4)) {
    Builder B(Graph.getContext());
    const Type Elements[] = {B.getF32Type(), B.getBF16Type(), B.getF16Type(),
                             B.getI64Type(), B.getI32Type(),  B.getI1Type()};
    Element = R.pick(Elements);
  } else if (Shape.empty() || R.oneIn(5))
    Shape.insert(Shape.begin() + R.draw(Shape.size() + 1), 1);
  else if (R.oneIn(5))
    Shape.erase(Shape.begin() + R.draw(Shape.size()));
  else
    R.pick(Shape) = R.pick(Sizes);
  auto New = RankedTensorType::get(Shape, Element);
  if (R.oneIn(6)) {
    Chosen.setType(New);
    return;
  }
  AttrTypeReplacer Replacer;
  Replacer.addReplacement([&](RankedTensorType Type) -> mlir::Type {
    return Type == Old ? New : Type;
  });
  Replacer.recursivelyReplaceElementsIn(Graph, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void GraphMutator::mutate() {
  if (Ops.empty() || Values.empty())
    return;
  switch (R.draw(9)) {
  case 0:
    return setOperand();
  case 1:
    return moveOp();
  case 2:
    return cloneOp();
  case 3:
    return eraseOp();
  case 4:
    return changeInterface();
  case 5:
    return changeType();
  default:
    return changeAttribute();
  }
}

void remat::fuzz::mutateGraph(std::string &Input, Random &R) {
  if (R.oneIn(5))
    return mutateText(Input, R);
  MLIRContext Context(MLIRContext::Threading::DISABLED);
  Context.loadDialect<func::FuncDialect, RematDialect>();
  ScopedDiagnosticHandler Quiet(&Context,
                                [](Diagnostic &) { return success(); });
  if (failed(checkGraphText(llvm::MemoryBufferRef(Input, "graph"), Context)))
    return mutateText(Input, R);
  auto Module = parseSourceString<ModuleOp>(Input, &Context);
  if (!Module || Module->getOps<func::FuncOp>().empty())
    return mutateText(Input, R);
  func::FuncOp Graph = *Module->getOps<func::FuncOp>().begin();
  GraphMutator(Graph, R).mutate();
  Input.clear();
  llvm::raw_string_ostream OS(Input);
  Module->print(OS, OpPrintingFlags().printGenericOpForm().useLocalScope());
}
