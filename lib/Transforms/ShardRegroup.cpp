//===- ShardRegroup.cpp - blocks of what is cut, moved --------------------===//
//
// Where a dimension is cut block by block, each rank has the same part of every
// block. A reshape that splits or joins dimensions keeps these parts together,
// and so do slices, padding and joins whose borders are those of blocks.
//
//===----------------------------------------------------------------------===//

#include "ShardPlan.h"
#include <set>

using namespace mlir;
using namespace remat;

static RankedTensorType getType(Value V) {
  return cast<RankedTensorType>(V.getType());
}

/// In row-major order a cut is one of so many runs of elements as there are
/// blocks; the reshape cuts the same runs.
static std::optional<Layout> reshapeCut(ArrayRef<int64_t> From, Layout Made,
                                        ArrayRef<int64_t> To, int64_t Count) {
  int64_t Runs = Made.Blocks, Before = 1;
  for (int64_t Size : From.take_front(Made.Dim))
    Runs *= Size;
  for (auto [Dim, Size] : llvm::enumerate(To)) {
    if (Runs % Before != 0 || Before > Runs)
      break;
    int64_t Blocks = Runs / Before;
    if (Size % (Blocks * Count) == 0)
      return Layout::cut(Dim, Blocks);
    Before *= Size;
  }
  return std::nullopt;
}

static std::optional<Layout> sliceCut(SliceOp Op, Layout Made) {
  int64_t Block = getType(Op.getOperand()).getDimSize(Made.Dim) / Made.Blocks;
  int64_t Offset = Op.getOffsets()[Made.Dim], Size = Op.getSizes()[Made.Dim];
  if (Offset % Block != 0 || Size % Block != 0)
    return std::nullopt;
  return Layout::cut(Made.Dim, Size / Block);
}

static std::optional<Layout> padCut(PadOp Op, Layout Made) {
  int64_t Block = getType(Op.getOperand()).getDimSize(Made.Dim) / Made.Blocks;
  if (Op.getLow()[Made.Dim] % Block != 0 || Op.getHigh()[Made.Dim] % Block != 0)
    return std::nullopt;
  return Layout::cut(Made.Dim,
                     getType(Op.getResult()).getDimSize(Made.Dim) / Block);
}

/// All operands are cut into blocks of one size.
static std::optional<Way> concatCut(ConcatOp Op, int64_t Block) {
  int64_t Dim = Op.getDim();
  Way W;
  W.Is = Way::Regroup;
  for (Value Operand : Op.getOperands()) {
    int64_t Size = getType(Operand).getDimSize(Dim);
    if (Size % Block != 0)
      return std::nullopt;
    W.Operands.push_back(Layout::cut(Dim, Size / Block));
  }
  W.Results = {
      Layout::cut(Dim, getType(Op.getResult()).getDimSize(Dim) / Block)};
  return W;
}

std::optional<Way> remat::regroup(Operation *Op,
                                  function_ref<Layout(Value)> GetLayout,
                                  int64_t Count) {
  if (!isa<ReshapeOp, SliceOp, PadOp, ConcatOp>(Op))
    return std::nullopt;
  for (Value Operand : Op->getOperands()) {
    Layout Made = GetLayout(Operand);
    if (Made.Is != Layout::Cut)
      continue;
    std::optional<Layout> Cut;
    if (auto Concat = dyn_cast<ConcatOp>(Op)) {
      if (Made.Dim == static_cast<int64_t>(Concat.getDim()))
        return concatCut(Concat,
                         getType(Operand).getDimSize(Made.Dim) / Made.Blocks);
    } else if (auto Slice = dyn_cast<SliceOp>(Op)) {
      Cut = sliceCut(Slice, Made);
    } else if (auto Pad = dyn_cast<PadOp>(Op)) {
      Cut = padCut(Pad, Made);
    } else {
      Cut = reshapeCut(getType(Operand).getShape(), Made,
                       getType(Op->getResult(0)).getShape(), Count);
    }
    if (!Cut)
      return std::nullopt;
    Way W;
    W.Is = Way::Regroup;
    W.Operands = {Made};
    W.Results = {*Cut};
    return W;
  }
  return std::nullopt;
}

static SmallVector<int64_t> divide(ArrayRef<int64_t> Sizes, int64_t Dim,
                                   int64_t Count) {
  SmallVector<int64_t> Divided(Sizes);
  Divided[Dim] /= Count;
  return Divided;
}

void remat::becomeRegrouped(Operation *Op, const Way &W, int64_t Count) {
  int64_t From = W.Operands[0].Dim, To = W.Results[0].Dim;
  if (auto Slice = dyn_cast<SliceOp>(Op)) {
    Slice.setOffsets(divide(Slice.getOffsets(), From, Count));
    Slice.setSizes(divide(Slice.getSizes(), From, Count));
  } else if (auto Pad = dyn_cast<PadOp>(Op)) {
    Pad.setLow(divide(Pad.getLow(), From, Count));
    Pad.setHigh(divide(Pad.getHigh(), From, Count));
  }
  Value Result = Op->getResult(0);
  Result.setType(
      getType(Result).clone(divide(getType(Result).getShape(), To, Count)));
}

SmallVector<int64_t> remat::listBlocks(func::FuncOp Graph, int64_t Size,
                                       int64_t Count) {
  std::set<int64_t> Found;
  auto Add = [&](int64_t Blocks) {
    if (Blocks > 1 && Size % (Blocks * Count) == 0)
      Found.insert(Blocks);
  };
  Graph.walk([&](Operation *Op) {
    if (auto Slice = dyn_cast<SliceOp>(Op)) {
      for (auto [Whole, Part] : llvm::zip_equal(
               getType(Slice.getOperand()).getShape(), Slice.getSizes()))
        if (Whole == Size && Size % Part == 0)
          Add(Size / Part);
      return;
    }
    auto Reshape = dyn_cast<ReshapeOp>(Op);
    if (!Reshape)
      return;
    // What stands before a dimension of the result within one of the operand.
    ArrayRef<int64_t> To = getType(Reshape.getResult()).getShape();
    int64_t Before = 1;
    for (int64_t Own : getType(Reshape.getOperand()).getShape()) {
      int64_t Until = 1;
      for (int64_t Made : To) {
        if (Own == Size && Until > Before && Until < Before * Own &&
            Until % Before == 0)
          Add(Until / Before);
        Until *= Made;
      }
      Before *= Own;
    }
  });
  return SmallVector<int64_t>(Found.begin(), Found.end());
}
