//===- ChannelsLast.cpp - images whose channels come last -----------------===//
//
// One walk in the block's order. Convolutions that a library runs faster so get
// their tensors as [N, X..., C], and what lies between them follows: an
// operation that reads such a tensor and can work on it in that order does, and
// makes another. Where an operation needs the written order a transpose stands.
//
//===----------------------------------------------------------------------===//

#include "Permute.h"
#include "remat/Analysis/StepLiveness.h"
#include "remat/IR/RematOps.h"
#include "remat/Target/Targets.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_CHANNELSLAST
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

/// Dimensions of [N, C, X...] that images may have.
static constexpr int64_t LeastRank = 3, MostRank = 5;

static RankedTensorType getTensorType(Value V) {
  return cast<RankedTensorType>(V.getType());
}

/// Which dimension of the written order each one is: 0, 2, 3, ..., 1.
static SmallVector<int64_t> getOrder(int64_t Rank) {
  SmallVector<int64_t> Order = {0};
  for (int64_t Dim = 2; Dim < Rank; ++Dim)
    Order.push_back(Dim);
  Order.push_back(1);
  return Order;
}
/// And back: 0, Rank - 1, 1, 2, ...
static SmallVector<int64_t> getWrittenOrder(int64_t Rank) {
  SmallVector<int64_t> Order = {0, Rank - 1};
  for (int64_t Dim = 1; Dim + 1 < Rank; ++Dim)
    Order.push_back(Dim);
  return Order;
}
/// The new number of a dimension.
static int64_t getPlace(int64_t Dim, int64_t Rank) {
  return Dim == 0 ? 0 : Dim == 1 ? Rank - 1 : Dim - 1;
}

static bool hasImageRank(RankedTensorType Type) {
  return Type.getRank() >= LeastRank && Type.getRank() <= MostRank;
}

namespace {

class ChannelsLast {
public:
  explicit ChannelsLast(func::FuncOp Func)
      : Func(Func), Where(createTarget(Func)), B(Func.getContext(), &Marker) {}

  void run();

private:
  bool visit(Operation *Op);
  bool isFaster(Operation *Op) const;
  bool readsLast(Operation *Op) const;
  bool mayFollow(Operation *Op) const;
  bool reduce(ReduceOp Op);
  void convert(Operation *Op);
  Value getLast(Value V, int64_t Rank);
  Value getWritten(Value V);

  func::FuncOp Func;
  std::unique_ptr<Target> Where;
  PhaseOfSource Marker;
  OpBuilder B;
  /// What stands for a value in the new order.
  DenseMap<Value, Value> Last;
  /// For the results of operations that have been written anew: null as long as
  /// nobody has asked for the written order.
  DenseMap<Value, Value> Written;
  llvm::SmallPtrSet<Operation *, 32> Converted;
};

} // namespace

/// Whether a library runs the convolution, and in 16 bits: the matrix units
/// want the channels last, and f32 does not use them.
bool ChannelsLast::isFaster(Operation *Op) const {
  if (!isa<ConvolutionOp, ConvolutionInputGradOp, ConvolutionWeightGradOp>(
          Op) ||
      Op->hasAttr("channels_last"))
    return false;
  SmallVector<KernelAttr> Kernels = Where->getImplementations(Op);
  return !Kernels.empty() && Kernels.front().getKind() == KernelKind::cudnn &&
         getTensorType(Op->getResult(0)).getElementTypeBitWidth() == 16;
}

/// Whether an operand of the largest size is there in the new order.
bool ChannelsLast::readsLast(Operation *Op) const {
  return llvm::any_of(Op->getOperands(), [&](Value V) {
    return Last.contains(V) &&
           llvm::all_of(Op->getOperands(), [&](Value Other) {
             return getTensorType(Other).getNumElements() <=
                    getTensorType(V).getNumElements();
           });
  });
}

/// Whether the operation can work in the new order.
bool ChannelsLast::mayFollow(Operation *Op) const {
  for (Value V : Op->getResults())
    if (!hasImageRank(getTensorType(V)))
      return false;
  auto IsOverImage = [&](auto Pool) {
    return !Pool.getChannelsLast() &&
           static_cast<int64_t>(Pool.getWindow().size()) + 2 ==
               getTensorType(Pool.getResult()).getRank();
  };
  if (auto Pool = dyn_cast<MaxPoolOp>(Op))
    return IsOverImage(Pool);
  if (auto Pool = dyn_cast<MaxPoolBackwardOp>(Op))
    return IsOverImage(Pool);
  return isa<MomentsOp, NormalizeSumsOp>(Op) || mayWriteInOrder(Op);
}

/// `V` in the new order, of `Rank` dimensions; scalars stay.
Value ChannelsLast::getLast(Value V, int64_t Rank) {
  RankedTensorType Type = getTensorType(V);
  if (Type.getRank() == 0)
    return V;
  if (Value Known = Last.lookup(V); Known && Type.getRank() == Rank)
    return Known;
  if (isSplatConstant(V.getDefiningOp()) && Type.getRank() == Rank) {
    auto Elements =
        cast<SplatElementsAttr>(cast<ConstantOp>(V.getDefiningOp()).getValue());
    return ConstantOp::create(
        B, V.getLoc(), Elements.resizeSplat(permute(Type, getOrder(Rank))));
  }
  if (Type.getRank() < Rank)
    return reorder(B, extendRank(B, getWritten(V), Rank), getOrder(Rank));
  // Repeating few elements costs less than moving many.
  if (auto Broadcast = V.getDefiningOp<BroadcastOp>()) {
    Value From = getLast(Broadcast.getOperand(), Rank);
    Value Made =
        BroadcastOp::create(B, V.getLoc(), permute(Type, getOrder(Rank)), From);
    Last[V] = Made;
    return Made;
  }
  Value Made = reorder(B, V, getOrder(Rank));
  Last[V] = Made;
  return Made;
}

/// `V` in the written order.
Value ChannelsLast::getWritten(Value V) {
  // A value whose operation stays has been in the written order all along.
  auto It = Written.find(V);
  if (It == Written.end())
    return V;
  if (!It->second)
    It->second =
        reorder(B, Last.at(V), getWrittenOrder(getTensorType(V).getRank()));
  return It->second;
}

/// Says in the attributes of an operation that its tensors are in the new
/// order.
static void moveDims(Operation *New) {
  llvm::TypeSwitch<Operation *>(New)
      .Case<ConvolutionOp, ConvolutionInputGradOp, ConvolutionWeightGradOp,
            MaxPoolOp, MaxPoolBackwardOp>(
          [&](auto Window) { Window.setChannelsLast(true); })
      .Case([&](MomentsOp Moments) {
        int64_t Rank = getTensorType(Moments.getOperand()).getRank();
        auto Dims = llvm::map_to_vector(Moments.getDims(), [&](int64_t Dim) {
          return getPlace(Dim, Rank);
        });
        llvm::sort(Dims);
        Moments.setDims(Dims);
      });
}

/// Writes the operation anew, in the new order.
void ChannelsLast::convert(Operation *Op) {
  int64_t Rank = getTensorType(Op->getResult(0)).getRank();
  auto Operands = llvm::map_to_vector(
      Op->getOperands(), [&](Value V) { return getLast(V, Rank); });
  Operation *New = writeInOrder(B, Op, Operands, getOrder(Rank));
  moveDims(New);
  for (auto [Old, Made] : llvm::zip(Op->getResults(), New->getResults())) {
    Last[Old] = Made;
    Written[Old] = Value();
  }
  Converted.insert(Op);
}

/// A reduction reads the new order where what it makes needs no reordering.
bool ChannelsLast::reduce(ReduceOp Op) {
  RankedTensorType Type = getTensorType(Op.getOperand());
  if (!Last.contains(Op.getOperand()) || !hasImageRank(Type))
    return false;
  int64_t Rank = Type.getRank(), Before = -1;
  SmallVector<int64_t> Dims;
  bool IsInOrder = true;
  for (int64_t Dim = 0; Dim < Rank; ++Dim) {
    int64_t Place = getPlace(Dim, Rank);
    if (llvm::is_contained(Op.getDims(), Dim)) {
      Dims.push_back(Place);
    } else if (Type.getDimSize(Dim) != 1) {
      IsInOrder &= Place > Before;
      Before = Place;
    }
  }
  if (!IsInOrder)
    return false;
  llvm::sort(Dims);
  auto Made =
      ReduceOp::create(B, Op.getLoc(), Op.getKind(), Last.at(Op.getOperand()),
                       Dims, Op.getKeepDims());
  Made->setDiscardableAttrs(Op->getDiscardableAttrDictionary());
  Value Result = Made.getResult();
  if (Result.getType() != Op.getResult().getType())
    Result = ReshapeOp::create(B, Op.getLoc(), Op.getResult().getType(), Made);
  Op.getResult().replaceAllUsesWith(Result);
  Converted.insert(Op);
  return true;
}

/// Whether the operation has been written anew.
bool ChannelsLast::visit(Operation *Op) {
  if (auto Reduce = dyn_cast<ReduceOp>(Op))
    return reduce(Reduce);
  if (!isFaster(Op) && !(mayFollow(Op) && readsLast(Op)))
    return false;
  convert(Op);
  return true;
}

void ChannelsLast::run() {
  SmallVector<Operation *> Ops;
  for (Operation &Op : Func.getBody().front())
    Ops.push_back(&Op);
  for (Operation *Op : Ops) {
    B.setInsertionPoint(Op);
    Marker.Phase = Op->getAttr(PhaseAttrName);
    if (!visit(Op))
      for (OpOperand &Operand : Op->getOpOperands())
        Operand.set(getWritten(Operand.get()));
  }
  // Of the others, what was made anew beside its reader may be left unread.
  for (Operation *Op : llvm::reverse(Ops))
    if (Converted.contains(Op) ||
        (isa<BroadcastOp, ConstantOp>(Op) && Op->use_empty()))
      Op->erase();
}

namespace {
struct ChannelsLastPass : remat::impl::ChannelsLastBase<ChannelsLastPass> {
  void runOnGraph() override { ChannelsLast(getOperation()).run(); }
};
} // namespace
