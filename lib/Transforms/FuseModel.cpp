//===- FuseModel.cpp - groups of operations and what they cost ------------===//

#include "FuseModel.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace remat;

/// A kernel keeps its values in registers: so many tensors and operations
/// leave room for 1,024 threads on a multiprocessor.
static constexpr size_t MaxTensors = 14;
static constexpr size_t MaxOps = 64;
/// How far apart two units may lie in the block. Chains are close together;
/// the limit keeps a merge's price constant.
static constexpr unsigned MaxDistance = 256;

bool remat::isSplatConstant(Operation *Op) {
  return isa_and_present<ConstantOp>(Op) && !isResidentConstant(Op);
}

std::optional<ArrayRef<int64_t>> remat::getPointwiseShape(Operation *Op) {
  if (auto Kernel = dyn_cast<KernelOp>(Op))
    return Kernel.getPointwiseShape();
  if (!Op->hasTrait<Pointwise>())
    return std::nullopt;
  return cast<RankedTensorType>(Op->getResult(0).getType()).getShape();
}

bool remat::readsSplatConstant(Operation *Op) {
  return llvm::any_of(Op->getOperands(), [](Value Operand) {
    return isSplatConstant(Operand.getDefiningOp());
  });
}

bool remat::mayShareKernel(Operation *Producer, Operation *Consumer) {
  std::optional<ArrayRef<int64_t>> Shape = getPointwiseShape(Producer);
  return Shape && Shape == getPointwiseShape(Consumer);
}

FuseModel::FuseModel(func::FuncOp Func) : Written(Func) {
  Block &Body = Func.getBody().front();
  for (Operation &Op : Body.without_terminator()) {
    if (isView(&Op)) {
      ViewPosition[&Op] = Units.size();
      continue;
    }
    UnitOf[&Op] = Units.size();
    Units.emplace_back().Ops.push_back(&Op);
  }
  for (Operation &Op : Body)
    if (auto It = UnitOf.find(&Op); It != UnitOf.end())
      noteRead(&Op, It->second);
    else if (!isView(&Op))
      noteRead(&Op, Units.size());
  findLive();
  InitialPeak = getPeak();
}

/// All lives at once, where each begins and behind where it ends: values that
/// live long would make a walk over each unit of each take long.
void FuseModel::findLive() {
  Live.assign(Units.size() + 1, 0);
  UnitSet All;
  for (auto [Number, Unit] : llvm::enumerate(Units)) {
    All.insert(Number);
    for (Value Result : Unit.Ops.front()->getResults())
      if (std::optional<Interval> Lifetime = getInterval(Result)) {
        Live[Lifetime->Begin] += Lifetime->Bytes;
        Live[std::min<int64_t>(Lifetime->End + 1, Units.size())] -=
            Lifetime->Bytes;
      }
  }
  Live.pop_back();
  std::partial_sum(Live.begin(), Live.end(), Live.begin());
  addInPlace(All, 0, 1, Live);
}

/// An operation at unit `At` reads its operands.
void FuseModel::noteRead(Operation *Reader, int64_t At) {
  for (Value Operand : Reader->getOperands()) {
    Value Root = Places.get(Operand).Root;
    if (isSplatConstant(Root.getDefiningOp()) && getPointwiseShape(Reader))
      continue;
    int64_t &Last = LastReads.try_emplace(Root, -1).first->second;
    Last = std::max(Last, At);
  }
}

int64_t FuseModel::getPeak() const {
  int64_t Peak = 0;
  for (auto [Unit, Bytes] : llvm::zip(Units, Live))
    if (!Unit.Ops.empty())
      Peak = std::max(Peak, Bytes);
  return Peak;
}

/// From the last operation back through its operands in their order: what it
/// would have written over first, had it stood alone, comes first here too.
SmallVector<Value> FuseModel::getInputs(const FuseUnit &Unit) const {
  llvm::SmallSetVector<Value, 8> Inputs;
  llvm::SmallPtrSet<Operation *, 8> Seen;
  auto Visit = [&](auto &&Self, Operation *Op) -> void {
    if (!Seen.insert(Op).second)
      return;
    bool MakesConstants = getPointwiseShape(Op).has_value();
    for (Value Operand : Op->getOperands()) {
      Operation *Def = Operand.getDefiningOp();
      if (Def && llvm::is_contained(Unit.Ops, Def))
        Self(Self, Def);
      else if (!MakesConstants || !isSplatConstant(Def))
        Inputs.insert(Operand);
    }
  };
  for (Operation *Op : llvm::reverse(Unit.Ops))
    Visit(Visit, Op);
  return Inputs.takeVector();
}

SmallVector<Value> FuseModel::getOutputs(const FuseUnit &Unit) const {
  SmallVector<Value> Outputs;
  for (Operation *Op : Unit.Ops)
    for (Value Result : Op->getResults())
      if (llvm::any_of(Result.getUsers(), [&](Operation *User) {
            return !llvm::is_contained(Unit.Ops, User);
          }))
        Outputs.push_back(Result);
  return Outputs;
}

std::optional<FuseModel::Interval> FuseModel::getInterval(Value Root) const {
  // Arguments are there all the time, whatever reads them.
  Operation *Def = Root.getDefiningOp();
  if (!Def || Written.getArgument(Root) || isResidentConstant(Def))
    return std::nullopt;
  int64_t Begin = UnitOf.at(Def);
  bool IsConstant = isSplatConstant(Def);
  int64_t End = LastReads.lookup_or(Root, -1);
  // What stays inside a group has no memory, nor has a constant that only
  // groups make.
  if ((End == Begin && Units[Begin].isGroup()) || (IsConstant && End < 0))
    return std::nullopt;
  int64_t Bytes =
      alignBytes(getByteSize(Root.getType()).value_or(0)).value_or(0);
  return Interval{Begin, std::max(Begin, End), Bytes};
}

/// Whether `Output` of the unit may be written over `Root`, which dies there.
bool FuseModel::mayReuse(const FuseUnit &Unit, Value Output, Value Root) const {
  auto Result = cast<OpResult>(Output);
  if (!Unit.isGroup()) {
    auto InPlace = dyn_cast<InPlaceOpInterface>(Result.getOwner());
    return InPlace &&
           llvm::any_of(InPlace.getReusableOperands(Result.getResultNumber()),
                        [&](unsigned I) {
                          Value Operand = Result.getOwner()->getOperand(I);
                          return Places.get(Operand).Root == Root;
                        }) &&
           mayOverwrite(Result, Root, Places);
  }
  auto Type = cast<RankedTensorType>(Output.getType());
  for (Value Input : getInputs(Unit)) {
    if (Places.get(Input).Root != Root)
      continue;
    auto InputType = cast<RankedTensorType>(Input.getType());
    if (InputType.getShape() != Type.getShape() ||
        getByteSize(InputType) != getByteSize(Type) ||
        getByteSize(Root.getType()) != getByteSize(Type))
      return false;
  }
  return true;
}

int64_t FuseModel::getInPlaceBytes(unsigned Number) const {
  const FuseUnit &Unit = Units[Number];
  if (Unit.Ops.empty())
    return 0;
  int64_t Bytes = 0;
  Roots Taken;
  SmallVector<Value> Inputs = getInputs(Unit);
  for (Value Output : getOutputs(Unit)) {
    if (Written.getArgument(Output))
      continue;
    for (Value Input : Inputs) {
      Value Root = Places.get(Input).Root;
      std::optional<Interval> Lifetime = getInterval(Root);
      if (!Lifetime || Lifetime->End != Number || Lifetime->Begin == Number ||
          !mayReuse(Unit, Output, Root) || !Taken.insert(Root))
        continue;
      Bytes += Lifetime->Bytes;
      break;
    }
  }
  return Bytes;
}

void FuseModel::addContributions(const Roots &Values, const UnitSet &InPlace,
                                 int64_t First, int64_t Sign,
                                 MutableArrayRef<int64_t> Sum) const {
  int64_t Last = First + static_cast<int64_t>(Sum.size()) - 1;
  for (Value Root : Values) {
    std::optional<Interval> Lifetime = getInterval(Root);
    if (!Lifetime)
      continue;
    int64_t End = std::min(Lifetime->End, Last);
    for (int64_t I = std::max(Lifetime->Begin, First); I <= End; ++I)
      Sum[I - First] += Sign * Lifetime->Bytes;
  }
  addInPlace(InPlace, First, Sign, Sum);
}

void FuseModel::addInPlace(const UnitSet &InPlace, int64_t First, int64_t Sign,
                           MutableArrayRef<int64_t> Sum) const {
  for (int64_t Number : InPlace)
    if (First <= Number && Number < First + static_cast<int64_t>(Sum.size()))
      Sum[Number - First] -= Sign * getInPlaceBytes(Number);
}

/// The operation that overwrites a donated argument; else null.
Operation *FuseModel::getWriter(Value Root) const {
  auto Argument = dyn_cast<BlockArgument>(Root);
  return Argument ? Written.getWriter(Argument) : nullptr;
}

/// Moving the producer's operations to the consumer's place must leave every
/// other reader behind them, and no overwriting of a donated argument that they
/// read before them.
bool FuseModel::isLegal(unsigned Producer, unsigned Consumer,
                        const MergeRules &Rules) const {
  bool HasEdge = false;
  for (Value Output : getOutputs(Units[Producer]))
    for (Operation *User : Output.getUsers()) {
      auto It = UnitOf.find(User);
      unsigned Position = It != UnitOf.end() ? It->second
                          : isView(User)     ? ViewPosition.at(User)
                                             : Units.size() + 1;
      if (It != UnitOf.end() && Position == Producer)
        continue;
      if (It != UnitOf.end() && Position == Consumer)
        HasEdge = true;
      else if (!Rules.SeveralOutputs || Position <= Consumer)
        return false;
    }
  for (Value Input : getInputs(Units[Producer]))
    if (Operation *Writer = getWriter(Places.get(Input).Root))
      if (unsigned Position = UnitOf.at(Writer);
          Producer < Position && Position < Consumer)
        return false;
  return HasEdge;
}

bool FuseModel::isSmall(const FuseUnit &First, const FuseUnit &Second) const {
  FuseUnit Both = First;
  Both.Ops.append(Second.Ops.begin(), Second.Ops.end());
  size_t NumOps = 0;
  for (Operation *Op : Both.Ops) {
    auto Kernel = dyn_cast<KernelOp>(Op);
    NumOps += Kernel ? Kernel.getBody().front().getOperations().size() : 1;
  }
  return NumOps <= MaxOps &&
         getInputs(Both).size() + getOutputs(Both).size() <= MaxTensors;
}

void FuseModel::moveOps(unsigned From, unsigned To, ArrayRef<Operation *> Ops) {
  for (Operation *Op : Ops) {
    llvm::erase(Units[From].Ops, Op);
    Units[To].Ops.push_back(Op);
    UnitOf[Op] = To;
    noteRead(Op, To);
  }
  llvm::sort(Units[To].Ops,
             [](Operation *L, Operation *R) { return L->isBeforeInBlock(R); });
}

bool FuseModel::tryMerge(unsigned Producer, unsigned Consumer,
                         const MergeRules &Rules) {
  const FuseUnit &From = Units[Producer], &To = Units[Consumer];
  if (Consumer - Producer > MaxDistance ||
      !isLegal(Producer, Consumer, Rules) || !isSmall(From, To))
    return false;

  // Everything whose bytes alive may change, and the units that may gain or
  // lose the right to write over an input.
  Roots Values;
  UnitSet InPlace;
  InPlace.insert(Producer);
  InPlace.insert(Consumer);
  for (const FuseUnit *Unit : {&From, &To}) {
    for (Value Input : getInputs(*Unit)) {
      Value Root = Places.get(Input).Root;
      Values.insert(Root);
      if (auto Lifetime = getInterval(Root);
          Lifetime && Lifetime->End < static_cast<int64_t>(Units.size()))
        InPlace.insert(Lifetime->End);
    }
    for (Value Output : getOutputs(*Unit))
      Values.insert(Output);
  }
  SmallVector<int64_t> New(Live.begin() + Producer,
                           Live.begin() + Consumer + 1);
  addContributions(Values, InPlace, Producer, -1, New);
  SmallVector<Operation *> Moved(From.Ops.begin(), From.Ops.end());
  // Later reads are noted as operations move; to move back takes the old ones.
  SmallVector<std::pair<Value, int64_t>> Reads;
  for (Operation *Op : Moved)
    for (Value Operand : Op->getOperands())
      if (auto It = LastReads.find(Places.get(Operand).Root);
          It != LastReads.end())
        Reads.push_back(*It);
  moveOps(Producer, Consumer, Moved);
  addContributions(Values, InPlace, Producer, 1, New);

  // Level or lower everywhere; at the group itself what the two units needed,
  // or whatever stays below the peak of the whole function.
  int64_t Limit = std::max(Live[Producer], Live[Consumer]);
  if (Rules.UseHeadroom)
    Limit = std::max(Limit, InitialPeak);
  bool Fits = New.back() <= Limit;
  for (unsigned I = Producer + 1; I < Consumer; ++I)
    Fits &= Units[I].Ops.empty() || New[I - Producer] <= Live[I];
  if (!Fits) {
    moveOps(Consumer, Producer, Moved);
    for (auto [Root, Last] : Reads)
      LastReads[Root] = Last;
    return false;
  }
  llvm::copy(New, Live.begin() + Producer);
  return true;
}
