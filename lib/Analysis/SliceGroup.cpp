//===- SliceGroup.cpp - operations that can run slice by slice ------------===//

#include "remat/Analysis/SliceGroup.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace remat;

/// A value this many times smaller than the seed is whole where the group ends.
static constexpr int64_t LargeShare = 4;

static int64_t getBytes(Value V) { return getByteSize(V.getType()).value(); }

namespace {

class Growth {
public:
  Growth(Value Seed, int64_t Count)
      : Block(Seed.getParentBlock()), Count(Count),
        Large(getBytes(Seed) / LargeShare) {}

  std::optional<SliceGroup> run(Value Seed, int64_t Dim);

private:
  bool cut(Value V, int64_t Dim);
  bool add(Operation *Op, Loop Along);
  bool addProducer(Value V, int64_t Dim);
  bool addReaders(Value V, int64_t Dim);
  bool isConsistent() const;
  bool isConvex() const;

  Block *Block;
  int64_t Count, Large;
  llvm::DenseMap<Operation *, Loop> Ops;
  llvm::DenseMap<Value, int64_t> Cut;
  SmallVector<Value> Work; ///< large values whose neighbours are to be added
};

} // namespace

/// The loop that `Runs` through a dimension of an operand or result.
static std::optional<Loop>
findLoop(Operation *Op, llvm::function_ref<bool(const Loop &)> Runs) {
  auto Loops = dyn_cast<LoopOpInterface>(Op);
  if (!Loops)
    return std::nullopt;
  for (Loop &L : Loops.getLoops())
    if (!L.Once && Runs(L))
      return std::move(L);
  return std::nullopt;
}

/// Notes that `V` is cut; false if it cannot be, or is along another dimension.
bool Growth::cut(Value V, int64_t Dim) {
  auto [At, IsNew] = Cut.try_emplace(V, Dim);
  if (!IsNew)
    return At->second == Dim;
  if (cast<RankedTensorType>(V.getType()).getDimSize(Dim) % Count != 0)
    return false;
  if (getBytes(V) >= Large && !isa<BlockArgument>(V))
    Work.push_back(V);
  return true;
}

bool Growth::add(Operation *Op, Loop Along) {
  auto Random = dyn_cast<RandomOpInterface>(Op);
  // The numbers of an element depend on its place in the whole.
  if (Op->getBlock() != Block || (Random && Random.drawsNumbers()) ||
      Op->hasTrait<RunsOnce>())
    return false;
  for (auto [Operand, Dim] : llvm::zip_equal(Op->getOperands(), Along.Operands))
    if (Dim != Loop::None && !cut(Operand, Dim))
      return false;
  for (auto [Result, Dim] : llvm::zip_equal(Op->getResults(), Along.Results))
    if (Dim != Loop::None && !cut(Result, Dim))
      return false;
  Ops.try_emplace(Op, std::move(Along));
  return true;
}

bool Growth::addProducer(Value V, int64_t Dim) {
  auto Result = cast<OpResult>(V);
  if (Ops.contains(Result.getOwner()))
    return true;
  std::optional<Loop> Along = findLoop(Result.getOwner(), [&](const Loop &L) {
    return L.Results[Result.getResultNumber()] == Dim;
  });
  return Along && add(Result.getOwner(), std::move(*Along));
}

bool Growth::addReaders(Value V, int64_t Dim) {
  for (OpOperand &Use : V.getUses()) {
    if (Ops.contains(Use.getOwner()))
      continue;
    std::optional<Loop> Along = findLoop(Use.getOwner(), [&](const Loop &L) {
      return L.Operands[Use.getOperandNumber()] == Dim;
    });
    if (!Along || !add(Use.getOwner(), std::move(*Along)))
      return false;
  }
  return true;
}

/// Whether each operation reads what the others make as they make it: a slice
/// where they leave slices, and nowhere a sum that is not whole yet.
bool Growth::isConsistent() const {
  for (const auto &[Op, Along] : Ops)
    for (auto [Operand, Dim] :
         llvm::zip_equal(Op->getOperands(), Along.Operands)) {
      Operation *Producer = Operand.getDefiningOp();
      if (!Producer || !Ops.contains(Producer))
        continue;
      auto At = Cut.find(Operand);
      if (At == Cut.end() || At->second != Dim)
        return false;
    }
  return true;
}

/// Whether no operation of the group needs one outside it that needs another of
/// the group.
bool Growth::isConvex() const {
  llvm::DenseSet<Operation *> After;
  for (Operation &Op : *Block) {
    bool NeedsGroup = false, NeedsAfter = false;
    Op.walk([&](Operation *Inner) {
      for (Value Operand : Inner->getOperands())
        if (Operation *Producer = Operand.getDefiningOp()) {
          NeedsGroup |= Ops.contains(Producer);
          NeedsAfter |= After.contains(Producer);
        }
    });
    if (!Ops.contains(&Op)) {
      if (NeedsGroup || NeedsAfter)
        After.insert(&Op);
    } else if (NeedsAfter) {
      return false;
    }
  }
  return true;
}

std::optional<SliceGroup> Growth::run(Value Seed, int64_t Dim) {
  if (!cut(Seed, Dim))
    return std::nullopt;
  while (!Work.empty()) {
    Value V = Work.pop_back_val();
    int64_t At = Cut.at(V);
    if (!addProducer(V, At) || !addReaders(V, At))
      return std::nullopt;
  }
  if (!isConsistent() || !isConvex())
    return std::nullopt;
  SliceGroup Group;
  for (Operation &Op : *Block)
    if (auto At = Ops.find(&Op); At != Ops.end())
      Group.Ops.insert(*At);
  Group.Cut = std::move(Cut);
  return Group;
}

bool SliceGroup::isReadElsewhere(Value V) const {
  return llvm::any_of(V.getUsers(),
                      [&](Operation *User) { return !Ops.contains(User); });
}

/// What a result takes beside itself: the f32 sum and what is added to it, or
/// the slices that are joined.
static int64_t getAddedBytes(Value Result, bool IsSum) {
  int64_t Own = getBytes(Result);
  if (!IsSum)
    return Own;
  auto Type = cast<RankedTensorType>(Result.getType());
  return 2 * 4 * Type.getNumElements() - Own;
}

int64_t SliceGroup::getGain(int64_t Count) const {
  int64_t Largest = 0, Added = 0;
  for (const auto &[Op, Along] : Ops)
    for (auto [Result, Dim] :
         llvm::zip_equal(Op->getResults(), Along.Results)) {
      if (isReadElsewhere(Result))
        Added += getAddedBytes(Result, Dim == Loop::None);
      else if (Dim != Loop::None)
        Largest = std::max(Largest, getBytes(Result));
    }
  return Largest - Largest / Count - Added;
}

std::optional<SliceGroup> remat::findSliceGroup(Value Seed, int64_t Dim,
                                                int64_t Count) {
  return Growth(Seed, Count).run(Seed, Dim);
}
