//===- StepLiveness.cpp - bytes alive at each step, kept up to date -------===//

#include "remat/Analysis/StepLiveness.h"
#include "remat/IR/RematOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace remat;

std::optional<int64_t> remat::alignBytes(int64_t Bytes) {
  int64_t Padded;
  if (llvm::AddOverflow(std::max<int64_t>(Bytes, 1), BufferAlignment - 1,
                        Padded))
    return std::nullopt;
  return Padded / BufferAlignment * BufferAlignment;
}

std::optional<ArrayRef<int64_t>> remat::getPointwiseShape(Operation *Op) {
  if (auto Kernel = dyn_cast<KernelOp>(Op))
    return Kernel.getPointwiseShape();
  if (!Op->hasTrait<Pointwise>() && !isa<RollOp>(Op))
    return std::nullopt;
  return cast<RankedTensorType>(Op->getResult(0).getType()).getShape();
}

bool remat::rolls(Operation *Reader, Value V) {
  if (isa<RollOp>(Reader))
    return true;
  auto Kernel = dyn_cast<KernelOp>(Reader);
  return Kernel && llvm::any_of(Kernel->getOpOperands(), [&](OpOperand &Read) {
           return Read.get() == V && Kernel.rolls(Read.getOperandNumber());
         });
}

bool remat::isSum(Value V) {
  Operation *Maker = V.getDefiningOp();
  if (auto Kernel = dyn_cast_or_null<KernelOp>(Maker))
    return Kernel.getSum(cast<OpResult>(V).getResultNumber());
  return isColumnSum(Maker);
}

bool remat::isSplatConstant(Operation *Op) {
  return isa_and_present<ConstantOp>(Op) && !isResidentConstant(Op);
}

bool remat::mayOverwrite(OpResult Result, Value Root, const Storages &Places) {
  Operation *Op = Result.getOwner();
  SmallVector<unsigned> Reusable;
  if (auto InPlace = dyn_cast<InPlaceOpInterface>(Op))
    Reusable = InPlace.getReusableOperands(Result.getResultNumber());
  std::optional<int64_t> RootBytes = getByteSize(Root.getType());
  for (OpOperand &Operand : Op->getOpOperands()) {
    if (Places.get(Operand.get()).Root != Root)
      continue;
    if (!llvm::is_contained(Reusable, Operand.getOperandNumber()) ||
        getByteSize(Operand.get().getType()) != RootBytes ||
        getByteSize(Result.getType()) != RootBytes)
      return false;
  }
  return true;
}

StepLiveness::StepLiveness(func::FuncOp Func, Splats Mode)
    : Mode(Mode), Written(Func),
      Readers(Func.getBody().front(), Places, [&](OpOperand &Read) {
        return isMadeAnew(Read.getOwner(), Read.get());
      }) {
  Block &Body = Func.getBody().front();
  unsigned Ordinal = 0;
  for (Operation &Op : Body) {
    Positions[&Op] = Steps.size();
    if (&Op == Body.getTerminator())
      break;
    Ordinals.push_back(Ordinal);
    Step &S = Steps.emplace_back();
    if (isView(&Op))
      continue;
    S.Ops.push_back(&Op);
    ++Ordinal;
  }
  findLive();
}

/// Whether `Reader` makes its operand itself, a constant.
bool StepLiveness::isMadeAnew(Operation *Reader, Value Operand) const {
  return Mode == Splats::MadeInKernels &&
         isSplatConstant(Operand.getDefiningOp()) &&
         getPointwiseShape(Reader) && !rolls(Reader, Operand);
}

/// All lives at once, where each begins and behind where it ends: values that
/// live long would make a walk over each position of each take long.
void StepLiveness::findLive() {
  Live.assign(Steps.size() + 2, 0);
  for (const Step &S : Steps)
    for (Operation *Op : S.Ops)
      for (Value Result : Op->getResults())
        if (std::optional<Interval> Lifetime = getInterval(Result)) {
          Live[Lifetime->Begin] += Lifetime->Bytes;
          Live[Lifetime->End + 1] -= Lifetime->Bytes;
        }
  Live.pop_back();
  std::partial_sum(Live.begin(), Live.end(), Live.begin());
  for (unsigned Position = 0; Position < Steps.size(); ++Position)
    for (auto [Result, Root] : getReuses(Position))
      Live[Position] -= getInterval(Root)->Bytes;
}

//===----------------------------------------------------------------------===//
// Values of a step
//===----------------------------------------------------------------------===//

/// From the last operation back through its operands in their order: what it
/// would have written over first, had it stood alone, comes first here too.
SmallVector<Value> StepLiveness::getInputs(const Step &S) const {
  llvm::SmallSetVector<Value, 8> Inputs;
  llvm::SmallPtrSet<Operation *, 8> Seen;
  auto Visit = [&](auto &&Self, Operation *Op) -> void {
    if (!Seen.insert(Op).second)
      return;
    for (Value Operand : Op->getOperands()) {
      Operation *Def = Operand.getDefiningOp();
      if (Def && llvm::is_contained(S.Ops, Def))
        Self(Self, Def);
      else if (!isMadeAnew(Op, Operand))
        Inputs.insert(Operand);
    }
  };
  for (Operation *Op : llvm::reverse(S.Ops))
    Visit(Visit, Op);
  return Inputs.takeVector();
}

SmallVector<Value> StepLiveness::getOutputs(const Step &S) const {
  SmallVector<Value> Outputs;
  for (Operation *Op : S.Ops)
    for (Value Result : Op->getResults())
      if (llvm::any_of(Result.getUsers(), [&](Operation *User) {
            return !llvm::is_contained(S.Ops, User);
          }))
        Outputs.push_back(Result);
  return Outputs;
}

std::optional<StepLiveness::Interval>
StepLiveness::getInterval(Value Root) const {
  Operation *Def = Root.getDefiningOp();
  if (!Def || Written.getArgument(Root) || isResidentConstant(Def))
    return std::nullopt;
  int64_t Begin = getPosition(Def), End = getLastRead(Root);
  bool IsMadeAnew = Mode == Splats::MadeInKernels && isSplatConstant(Def);
  // What stays inside a group has no memory, nor has a constant that only
  // groups make.
  if ((End == Begin && Steps[Begin].isGroup()) || (IsMadeAnew && End < 0))
    return std::nullopt;
  int64_t Bytes =
      alignBytes(getByteSize(Root.getType()).value_or(0)).value_or(0);
  return Interval{Begin, std::max(Begin, End), Bytes};
}

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

/// What the result of an operation that runs alone might be written over, the
/// first choice first.
static SmallVector<Value> getReusable(OpResult Result) {
  SmallVector<Value> Reusable;
  auto InPlace = cast<InPlaceOpInterface>(Result.getOwner());
  for (unsigned I : InPlace.getReusableOperands(Result.getResultNumber()))
    Reusable.push_back(Result.getOwner()->getOperand(I));
  return Reusable;
}

/// Whether a result of a group may be written over `Root`, which dies there:
/// each element is read by the thread that writes it, if the value is read
/// whole, in order, and has the result's shape and size. A sum is of many
/// elements.
bool StepLiveness::mayReuseInGroup(const Step &S, Value Result, Value Root,
                                   ArrayRef<Value> Inputs) const {
  auto IsRolled = [&](Value Input) {
    return llvm::any_of(Input.getUsers(), [&](Operation *Reader) {
      return llvm::is_contained(S.Ops, Reader) && rolls(Reader, Input);
    });
  };
  auto Type = cast<RankedTensorType>(Result.getType());
  if (isSum(Result) || getByteSize(Root.getType()) != getByteSize(Type))
    return false;
  return llvm::all_of(Inputs, [&](Value Input) {
    auto InputType = cast<RankedTensorType>(Input.getType());
    return Places.get(Input).Root != Root ||
           (InputType.getShape() == Type.getShape() &&
            getByteSize(InputType) == getByteSize(Type) && !IsRolled(Input));
  });
}

SmallVector<StepLiveness::Reuse>
StepLiveness::getReuses(unsigned Position) const {
  const Step &S = Steps[Position];
  if (S.Ops.empty() ||
      (!S.isGroup() && !isa<InPlaceOpInterface>(S.Ops.front())))
    return {};
  SmallVector<Value> Results(S.Ops.front()->getResults()), Candidates;
  if (S.isGroup()) {
    Results = getOutputs(S);
    Candidates = getInputs(S);
  }
  SmallVector<Reuse> Reuses;
  for (Value Result : Results) {
    if (Written.getArgument(Result))
      continue;
    if (!S.isGroup())
      Candidates = getReusable(cast<OpResult>(Result));
    for (Value Candidate : Candidates) {
      Value Root = Places.get(Candidate).Root;
      std::optional<Interval> Lifetime = getInterval(Root);
      if (!Lifetime || Lifetime->End != Position ||
          Lifetime->Begin == Position ||
          llvm::is_contained(llvm::make_second_range(Reuses), Root))
        continue;
      if (S.isGroup() ? mayReuseInGroup(S, Result, Root, Candidates)
                      : mayOverwrite(cast<OpResult>(Result), Root, Places)) {
        Reuses.push_back({Result, Root});
        break;
      }
    }
  }
  return Reuses;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

void StepLiveness::addContributions(const Roots &Values,
                                    const PositionSet &InPlace, int64_t Sign) {
  int64_t First = Last.From, End = Last.To;
  for (Value Root : Values)
    if (std::optional<Interval> Lifetime = getInterval(Root))
      for (int64_t I = std::max(Lifetime->Begin, First);
           I <= std::min(Lifetime->End, End); ++I)
        Live[I] += Sum(Sign) * Lifetime->Bytes;
  for (int64_t Position : InPlace)
    if (First <= Position && Position <= End)
      for (auto [Result, Root] : getReuses(Position))
        Live[Position] -= Sum(Sign) * getInterval(Root)->Bytes;
}

void StepLiveness::noteReads(Operation *Reader) {
  int64_t At = getPosition(Reader);
  for (Value Operand : Reader->getOperands()) {
    Value Root = Places.get(Operand).Root;
    if (!isMadeAnew(Reader, Operand) && At > getLastRead(Root))
      Readers.set(Root, Reader);
  }
}

void StepLiveness::moveOps(unsigned From, unsigned To,
                           ArrayRef<Operation *> Ops) {
  for (Operation *Op : Ops) {
    llvm::erase(Steps[From].Ops, Op);
    Steps[To].Ops.push_back(Op);
    Positions[Op] = To;
  }
  llvm::sort(Steps[To].Ops,
             [](Operation *L, Operation *R) { return L->isBeforeInBlock(R); });
}

void StepLiveness::merge(unsigned From, unsigned To) {
  // Everything whose bytes alive may change, and the steps that may gain or
  // lose the right to write over an input.
  Roots Values;
  PositionSet InPlace;
  InPlace.insert(From);
  InPlace.insert(To);
  for (const Step *S : {&Steps[From], &Steps[To]}) {
    for (Value Input : getInputs(*S)) {
      Value Root = Places.get(Input).Root;
      Values.insert(Root);
      if (auto Lifetime = getInterval(Root);
          Lifetime && Lifetime->End < static_cast<int64_t>(Steps.size()))
        InPlace.insert(Lifetime->End);
    }
    for (Value Output : getOutputs(*S))
      Values.insert(Output);
  }
  Last = {From,
          To,
          Steps[From].Ops,
          {},
          llvm::to_vector(ArrayRef(Live).slice(From, To - From + 1))};
  addContributions(Values, InPlace, -1);
  for (Operation *Op : Last.Ops)
    for (Value Operand : Op->getOperands()) {
      Value Root = Places.get(Operand).Root;
      Last.Readers.push_back({Root, Readers.get(Root)});
    }
  moveOps(From, To, Last.Ops);
  llvm::for_each(Last.Ops, [&](Operation *Op) { noteReads(Op); });
  addContributions(Values, InPlace, 1);
}

void StepLiveness::undoMerge() {
  moveOps(Last.To, Last.From, Last.Ops);
  for (auto [Root, Reader] : llvm::reverse(Last.Readers))
    Readers.set(Root, Reader);
  llvm::copy(Last.Live, Live.begin() + Last.From);
}
