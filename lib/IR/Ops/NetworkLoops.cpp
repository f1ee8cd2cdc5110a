//===- NetworkLoops.cpp - loops of layers, windows, indices -----*- C++ -*-===//
//
// What operations whose dimensions have different parts to play answer to
// LoopOpInterface.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

static constexpr int64_t None = Loop::None;

static ArrayRef<int64_t> getShape(Value V) {
  return getTensorType(V).getShape();
}

//===----------------------------------------------------------------------===//
// Operations that leave most dimensions alone
//===----------------------------------------------------------------------===//

/// One loop for each dimension of the first operand that `Keeps` says is left
/// alone; it runs through all operands and results.
static SmallVector<Loop>
getParallelLoops(Operation *Op, llvm::function_ref<bool(int64_t Dim)> Keeps) {
  SmallVector<Loop> Loops;
  for (int64_t Dim = 0; Dim < getTensorType(Op->getOperand(0)).getRank(); ++Dim)
    if (Keeps(Dim))
      Loops.push_back({SmallVector<int64_t>(Op->getNumOperands(), Dim),
                       SmallVector<int64_t>(Op->getNumResults(), Dim)});
  return Loops;
}

/// Those of an operation along the lines of one dimension.
static SmallVector<Loop> getLineLoops(Operation *Op, int64_t Line) {
  return getParallelLoops(Op, [&](int64_t Dim) { return Dim != Line; });
}

SmallVector<Loop> GatherOp::getLoops() { return getLineLoops(*this, getDim()); }
SmallVector<Loop> ScatterAddOp::getLoops() {
  return getLineLoops(*this, getDim());
}
SmallVector<Loop> TopKOp::getLoops() { return getLineLoops(*this, getDim()); }
SmallVector<Loop> CumsumOp::getLoops() { return getLineLoops(*this, getDim()); }
SmallVector<Loop> ConcatOp::getLoops() { return getLineLoops(*this, getDim()); }
SmallVector<Loop> RollOp::getLoops() { return getLineLoops(*this, getDim()); }

SmallVector<Loop> PadOp::getLoops() {
  return getParallelLoops(*this, [&](int64_t Dim) {
    return getLow()[Dim] == 0 && getHigh()[Dim] == 0;
  });
}

/// Statistics are of the dimensions that have size 1 in them.
SmallVector<Loop> MomentsOp::getLoops() {
  return getParallelLoops(
      *this, [&](int64_t Dim) { return !llvm::is_contained(getDims(), Dim); });
}

SmallVector<Loop> NormalizeSumsOp::getLoops() {
  ArrayRef<int64_t> Kept = getShape(getMean());
  SmallVector<Loop> Loops;
  for (auto [Place, Size] : llvm::enumerate(getShape(getGrad()))) {
    int64_t Dim = Place, OfMean = Kept[Dim] == Size ? Dim : None;
    SmallVector<int64_t> Operands = {Dim, Dim, OfMean};
    for (Value Affine : getAffine())
      Operands.push_back(getShape(Affine)[Dim] == Size ? Dim : None);
    if (Size != 1)
      Loops.push_back({std::move(Operands), {OfMean, OfMean}});
  }
  return Loops;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Where batch and heads stand in each value of attention.
static int64_t getHeads(Value V) { return getTensorType(V).getRank() - 2; }

/// The dimension of a mask along dimension `Dim` of the scores [B, H, T, S].
static int64_t getMaskDim(Value Mask, int64_t Dim) {
  int64_t Own = Dim - (4 - getTensorType(Mask).getRank());
  return Own >= 0 && getShape(Mask)[Own] != 1 ? Own : None;
}

/// Loops over batch and heads. All values but `Lse` and `Mask`, either of which
/// may be null, and scalars are [B, ..., H, D]; lse is [B, H, T]. Keys may have
/// fewer heads: where both numbers can be cut, a slice has the keys of its
/// heads.
static SmallVector<Loop> getAttentionLoops(Operation *Op, Value Lse,
                                           Value Mask) {
  SmallVector<Loop> Loops(2);
  auto Place = [&](Value V, int64_t Which) -> int64_t {
    if (V == Mask)
      return getMaskDim(V, Which);
    if (V == Lse)
      return Which;
    if (getTensorType(V).getRank() == 0)
      return None;
    return Which == 0 ? 0 : getHeads(V);
  };
  for (auto [Which, L] : llvm::enumerate(Loops)) {
    for (Value Operand : Op->getOperands())
      L.Operands.push_back(Place(Operand, Which));
    for (Value Result : Op->getResults())
      L.Results.push_back(Place(Result, Which));
  }
  return Loops;
}

SmallVector<Loop> AttentionOp::getLoops() {
  return getAttentionLoops(*this, getLse(), getMask());
}
SmallVector<Loop> AttentionBackwardOp::getLoops() {
  return getAttentionLoops(*this, getLse(), getMask());
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

SmallVector<Loop> EmbeddingOp::getLoops() {
  SmallVector<Loop> Loops;
  int64_t Rows = getTensorType(getIds()).getRank();
  for (int64_t Dim = 0; Dim < Rows; ++Dim)
    Loops.push_back({{Dim, None}, {Dim}});
  Loops.push_back({{None, 1}, {Rows}});
  return Loops;
}

/// An addend is added once, so that parts of a sum with one are none of it.
SmallVector<Loop> EmbeddingBackwardOp::getLoops() {
  int64_t Rows = getTensorType(getIds()).getRank();
  if (getAddend())
    return {{{None, Rows, 1}, {1}}};
  SmallVector<Loop> Loops;
  for (int64_t Dim = 0; Dim < Rows; ++Dim)
    Loops.push_back({{Dim, Dim}, {None}});
  Loops.push_back({{None, Rows}, {1}});
  return Loops;
}

//===----------------------------------------------------------------------===//
// Convolution and pooling
//===----------------------------------------------------------------------===//

/// Where the channels stand in an image, or the inner ones in a weight.
static int64_t getChannelDim(Value V, bool ChannelsLast) {
  return ChannelsLast ? getTensorType(V).getRank() - 1 : 1;
}

namespace {
/// The operands and the result of a convolution, whichever its gradient makes.
struct Convolution {
  Value Image, Weight, Result;
  bool ChannelsLast;
  int64_t Groups;

  /// Loops over batch, output and input channels; with groups over the groups,
  /// where each has one input channel. `Runs` puts the dimensions of image,
  /// weight and result in the operation's order.
  SmallVector<Loop>
  getLoops(llvm::function_ref<Loop(int64_t, int64_t, int64_t)> Runs) const {
    int64_t In = getChannelDim(Image, ChannelsLast);
    int64_t Out = getChannelDim(Result, ChannelsLast);
    SmallVector<Loop> Loops = {Runs(0, None, 0)};
    if (Groups == 1) {
      Loops.push_back(Runs(None, 0, Out));
      Loops.push_back(Runs(In, getChannelDim(Weight, ChannelsLast), None));
    } else if (getShape(Image)[In] == Groups) {
      Loops.push_back(Runs(In, 0, Out));
    }
    return Loops;
  }
};
} // namespace

/// A slice of channels in groups has so many groups fewer.
template <typename OpT>
static void becomeConvolutionSlice(OpT Op, int64_t ImageDim, int64_t WeightDim,
                                   const Loop &Along, int64_t Count) {
  remat::detail::cutResults(Op, Along, Count);
  if (ImageDim > 0 && WeightDim == 0)
    Op.setGroups(Op.getGroups() / Count);
}

SmallVector<Loop> ConvolutionOp::getLoops() {
  return Convolution{getOperand(), getWeight(), getResult(), getChannelsLast(),
                     int64_t(getGroups())}
      .getLoops([](int64_t Image, int64_t Weight, int64_t Result) {
        return Loop{{Image, Weight}, {Result}};
      });
}
void ConvolutionOp::becomeSlice(const Loop &Along, int64_t Count) {
  becomeConvolutionSlice(*this, Along.Operands[0], Along.Operands[1], Along,
                         Count);
}

SmallVector<Loop> ConvolutionInputGradOp::getLoops() {
  return Convolution{getResult(), getWeight(), getGrad(), getChannelsLast(),
                     int64_t(getGroups())}
      .getLoops([](int64_t Image, int64_t Weight, int64_t Result) {
        return Loop{{Result, Weight}, {Image}};
      });
}
void ConvolutionInputGradOp::becomeSlice(const Loop &Along, int64_t Count) {
  becomeConvolutionSlice(*this, Along.Results[0], Along.Operands[1], Along,
                         Count);
}

SmallVector<Loop> ConvolutionWeightGradOp::getLoops() {
  return Convolution{getOperand(), getResult(), getGrad(), getChannelsLast(),
                     int64_t(getGroups())}
      .getLoops([](int64_t Image, int64_t Weight, int64_t Result) {
        return Loop{{Result, Image}, {Weight}};
      });
}
void ConvolutionWeightGradOp::becomeSlice(const Loop &Along, int64_t Count) {
  becomeConvolutionSlice(*this, Along.Operands[1], Along.Results[0], Along,
                         Count);
}

/// Along batch and channels: the window runs over the other dimensions.
static SmallVector<Loop> getPoolLoops(Operation *Op, int64_t Windows,
                                      bool ChannelsLast) {
  int64_t Rank = getTensorType(Op->getOperand(0)).getRank();
  int64_t First = Rank - Windows - (ChannelsLast ? 1 : 0);
  return getParallelLoops(
      Op, [&](int64_t Dim) { return Dim < First || Dim >= First + Windows; });
}

SmallVector<Loop> MaxPoolOp::getLoops() {
  return getPoolLoops(*this, getWindow().size(), getChannelsLast());
}
SmallVector<Loop> MaxPoolBackwardOp::getLoops() {
  return getPoolLoops(*this, getWindow().size(), getChannelsLast());
}
