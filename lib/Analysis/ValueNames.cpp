//===- ValueNames.cpp - what people call values ---------------------------===//

#include "remat/Analysis/ValueNames.h"
#include "remat/Analysis/Uses.h"
#include "remat/IR/GraphFile.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

/// What names a value must not end a line of a report.
static std::string clean(StringRef Text) {
  std::string Clean = Text.str();
  for (char &Char : Clean)
    if (llvm::isASCII(Char) && !llvm::isPrint(Char))
      Char = '?';
  return Clean;
}

static StringRef getPrefix(Phase Phase) {
  switch (Phase) {
  case Phase::backward:
    return "backward of ";
  case Phase::optimizer:
    return "update of ";
  }
  llvm_unreachable("all phases are listed");
}

/// The names in "%a, %b", which a text writes before an operation.
static SmallVector<StringRef> splitNames(StringRef Names) {
  SmallVector<StringRef> Split;
  if (Names.starts_with("%"))
    Names.split(Split, ", ");
  return Split;
}

std::string remat::getLocationName(Location Loc) {
  if (auto Named = dyn_cast<NameLoc>(Loc))
    return clean(Named.getName());
  auto Fused = dyn_cast<FusedLoc>(Loc);
  if (!Fused)
    return "";
  for (Location Inner : Fused.getLocations()) {
    std::string Name = getLocationName(Inner);
    if (Name.empty())
      continue;
    auto Of = dyn_cast_or_null<PhaseAttr>(Fused.getMetadata());
    if (!Of)
      return Name;
    // What belongs to several results is called as the first one.
    if (SmallVector<StringRef> Split = splitNames(Name); Split.size() > 1)
      Name = Split.front().str();
    return (getPrefix(Of.getValue()) + Name).str();
  }
  return "";
}

std::string remat::describeLocation(Location Loc) {
  if (std::optional<FileLineColLoc> Place = findPlace(Loc))
    return (Place->getFilename().getValue() + ":" + Twine(Place->getLine()) +
            ":" + Twine(Place->getColumn()))
        .str();
  std::string Name;
  Loc->walk([&](Location Inner) {
    if (auto Named = dyn_cast<NameLoc>(Inner);
        Named && isa<UnknownLoc>(Named.getChildLoc()))
      Name = Named.getName().str();
    return Name.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return Name;
}

std::string remat::getLocationText(Location Loc) {
  std::string Text = describeLocation(Loc);
  if (Text.empty())
    llvm::raw_string_ostream(Text) << Loc;
  return Text;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static StringRef getArgumentName(BlockArgument Argument) {
  auto Func = cast<func::FuncOp>(Argument.getOwner()->getParentOp());
  auto Name =
      Func.getArgAttrOfType<StringAttr>(Argument.getArgNumber(), NameAttrName);
  return Name ? Name.getValue() : StringRef();
}

/// The parameter whose update reads `V` as its gradient; "" if none does.
static StringRef getParameterOfGradient(Value V) {
  for (OpOperand &Use : V.getUses()) {
    auto Update = dyn_cast<UpdateOpInterface>(Use.getOwner());
    if (Update && &Update.getGradMutable() == &Use)
      if (auto Parameter = dyn_cast<BlockArgument>(Update->getOperand(0)))
        return getArgumentName(Parameter);
  }
  return "";
}

/// What `Op` computes, without regard to who reads it.
static std::string describe(Operation *Op) {
  std::string Name = getLocationName(Op->getLoc());
  return Name.empty() ? Op->getName().stripDialect().str() : Name;
}

/// The value that a kernel's result is inside its body.
static Value getYielded(OpResult Result) {
  auto Kernel = dyn_cast<KernelOp>(Result.getOwner());
  if (!Kernel)
    return Result;
  Operation *Yield = Kernel.getBody().front().getTerminator();
  return Yield->getOperand(Result.getResultNumber());
}

/// The operation that makes a result: inside the kernel, if it is one that
/// yields no operand of its own.
static Operation *getMaker(OpResult Result) {
  Operation *Inner = getYielded(Result).getDefiningOp();
  return Inner ? Inner : Result.getOwner();
}

/// "gradient of w" where that is true; else "".
static std::string describeGradient(OpResult Result) {
  auto Of = Result.getOwner()->getAttrOfType<PhaseAttr>(PhaseAttrName);
  if (!Of || Of.getValue() != Phase::backward)
    return "";
  StringRef Parameter = getParameterOfGradient(Result);
  return Parameter.empty() ? "" : "gradient of " + clean(Parameter);
}

static StringRef getSuffix(OpResult Result) {
  bool Again = getMaker(Result)->hasAttr(OriginAttrName) ||
               Result.getOwner()->hasAttr(OriginAttrName);
  return Again ? ", recomputed" : "";
}

std::string ValueNames::makeUnique(std::string Name) {
  if (Taken.insert(Name).second)
    return Name;
  unsigned &Number = Next.try_emplace(Name, 2).first->second;
  std::string Other;
  do
    Other = Name + "." + std::to_string(Number++);
  while (!Taken.insert(Other).second);
  return Other;
}

/// Arguments and returned values: their names are the user's, so they go first.
void ValueNames::nameInterface(func::FuncOp Func) {
  for (BlockArgument Argument : Func.getArguments()) {
    StringRef Name = getArgumentName(Argument);
    Names[Argument] = makeUnique(
        Name.empty() ? "argument." + std::to_string(Argument.getArgNumber())
                     : clean(Name));
  }
  llvm::SmallDenseSet<unsigned> TakesOver;
  for (BlockArgument Argument : Func.getArguments())
    if (std::optional<unsigned> Index = getDonatedResult(Argument))
      TakesOver.insert(*Index);
  Operation *Return = Func.getBody().front().getTerminator();
  for (auto [Index, Returned] : llvm::enumerate(Return->getOperands())) {
    auto Name = Func.getResultAttrOfType<StringAttr>(Index, NameAttrName);
    if (!Name || Names.contains(Returned))
      continue;
    std::string Known = clean(Name);
    Names[Returned] =
        makeUnique(TakesOver.contains(Index) ? Known + ", updated" : Known);
  }
}

/// What its location calls each result of `Op`; "" where that is unknown.
static std::string describeResult(OpResult Result, StringRef Whole) {
  if (std::string Gradient = describeGradient(Result); !Gradient.empty())
    return Gradient;
  Operation *Op = Result.getOwner();
  if (isa<KernelOp>(Op))
    return describe(getMaker(Result));
  if (Op->getNumResults() == 1)
    return Whole.str();
  SmallVector<StringRef> Split = splitNames(Whole);
  if (Split.size() == Op->getNumResults())
    return Split[Result.getResultNumber()].str();
  return "";
}

void ValueNames::nameResults(Operation *Op) {
  std::string Whole = describe(Op);
  // A text has each name once, and another instance its origin's.
  bool IsUnique = !splitNames(Whole).empty() || Op->hasAttr(OriginAttrName);
  for (OpResult Result : Op->getResults()) {
    if (Names.contains(Result))
      continue;
    StringRef Suffix = getSuffix(Result);
    std::string Name = describeResult(Result, Whole);
    if (Name.empty()) {
      std::string &Shared = OpNames[Op];
      if (Shared.empty())
        Shared = IsUnique ? Whole : makeUnique(Whole);
      Name = Shared + "#" + std::to_string(Result.getResultNumber());
    }
    Names[Result] = makeUnique(Name + Suffix.str());
  }
  if (Op->getNumResults() > 0 && !OpNames.contains(Op))
    OpNames[Op] = isa<KernelOp>(Op) || Op->getNumResults() == 1
                      ? Names[Op->getResult(0)]
                      : Whole;
}

ValueNames::ValueNames(func::FuncOp Func) {
  if (!Func.getBody().hasOneBlock())
    return;
  nameInterface(Func);
  for (Operation &Op : Func.getBody().front().without_terminator())
    nameResults(&Op);
}

std::vector<std::string> ValueNames::listResults(func::FuncOp Func) const {
  std::vector<std::string> List;
  for (Operation &Op : Func.getBody().front())
    for (Value Result : Op.getResults())
      List.push_back(get(Result).str());
  return List;
}

void remat::writeValueNames(func::FuncOp Func) {
  ValueNames Names(Func);
  // The innermost name stays: it is what the source says.
  auto Write = [](Operation *Op, StringRef Name) {
    Location Inner = Op->getLoc();
    auto Named = dyn_cast<NameLoc>(Inner);
    if (Named && Named.getName() == Name)
      return;
    if (Named && isa<NameLoc>(Named.getChildLoc()))
      Inner = Named.getChildLoc();
    Op->setLoc(NameLoc::get(StringAttr::get(Op->getContext(), Name), Inner));
  };
  for (Operation &Op : Func.getBody().front().without_terminator()) {
    if (Op.getNumResults() == 0)
      continue;
    if (!isa<KernelOp>(Op)) {
      Write(&Op, Names.get(&Op));
      continue;
    }
    for (OpResult Result : Op.getResults())
      if (Operation *Maker = getMaker(Result); Maker != &Op)
        Write(Maker, Names.get(Result));
  }
}
