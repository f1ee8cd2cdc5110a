//===- Window.cpp - signatures of convolution and pooling -----------------===//

#include "ops/Window.h"
#include <algorithm>
#include <limits>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Entries from `Least` on, small enough that no product of two overflows.
static Status checkEntries(const OpCall &Op, std::string_view Name, size_t Rank,
                           int64_t Least) {
  std::span<const int64_t> Entries = Op.Attributes->getInts(Name);
  REMAT_REQUIRE(Entries.size() == Rank, "needs " + std::to_string(Rank) +
                                            " entries of " + std::string(Name));
  for (int64_t Entry : Entries)
    REMAT_REQUIRE(
        Entry >= Least && Entry <= std::numeric_limits<int32_t>::max(),
        "has the entry " + std::to_string(Entry) + " of " + std::string(Name));
  return {};
}

/// Whether a window of `Size` elements over `Extent` has `Count` positions.
static Status checkWindow(const OpCall &Op, std::span<const int64_t> Extent,
                          std::span<const int64_t> Size,
                          std::span<const int64_t> Count) {
  size_t Rank = Size.size();
  REMAT_REQUIRE(Rank >= 1 && Rank <= Window::Dims,
                "has a window of " + std::to_string(Rank) + " dimensions");
  for (auto [Name, Least] :
       {std::pair("strides", 1), {"dilation", 1}, {"low", 0}, {"high", 0}})
    REMAT_TRY(checkEntries(Op, Name, Rank, Least));
  auto Strides = Op.Attributes->getInts("strides"),
       Dilation = Op.Attributes->getInts("dilation"),
       Low = Op.Attributes->getInts("low"),
       High = Op.Attributes->getInts("high");
  for (size_t I = 0; I < Rank; ++I) {
    REMAT_REQUIRE(Size[I] >= 1 &&
                      Size[I] <= std::numeric_limits<int32_t>::max(),
                  "has a window of " + std::to_string(Size[I]) + " elements");
    int64_t Room =
        Extent[I] + Low[I] + High[I] - Dilation[I] * (Size[I] - 1) - 1;
    REMAT_REQUIRE(Room >= 0 && Count[I] == Room / Strides[I] + 1,
                  "moves a window of " + std::to_string(Size[I]) +
                      " elements over " + std::to_string(Extent[I]) + " to " +
                      std::to_string(Count[I]) + " positions");
  }
  return {};
}

/// The last `Rank` entries, behind ones.
static Window::Sizes align(std::span<const int64_t> Entries, size_t Rank,
                           int64_t Missing) {
  Window::Sizes Sizes;
  Sizes.fill(Missing);
  std::copy(Entries.end() - int64_t(Rank), Entries.end(),
            Sizes.end() - int64_t(Rank));
  return Sizes;
}

/// The window over `Extent` with `Count` positions.
static Window getWindow(const OpCall &Op, std::span<const int64_t> Extent,
                        std::span<const int64_t> Count,
                        std::span<const int64_t> Size) {
  auto Entries = [&](const char *Name, int64_t Missing) {
    return align(Op.Attributes->getInts(Name), Size.size(), Missing);
  };
  return {.Extent = align(Extent, Size.size(), 1),
          .Count = align(Count, Size.size(), 1),
          .Size = align(Size, Size.size(), 1),
          .Stride = Entries("strides", 1),
          .Low = Entries("low", 0),
          .Dilation = Entries("dilation", 1)};
}

static bool areChannelsLast(const OpCall &Op) {
  return Op.Attributes->getFlag("channels_last");
}

//===----------------------------------------------------------------------===//
// convolution
//===----------------------------------------------------------------------===//

/// Which tensors of the op are the convolution's.
static Convolution getTensors(const OpCall &Op) {
  Convolution C = {};
  C.X = &Op.Operands[0];
  C.Weight = &Op.Operands[1];
  C.Y = &Op.Results[0];
  if (Op.Name == "convolution_input_grad")
    std::swap(C.X, C.Y);
  if (Op.Name == "convolution_weight_grad") {
    C.Y = &Op.Operands[0];
    C.X = &Op.Operands[1];
    C.Weight = &Op.Results[0];
  }
  return C;
}

/// The sizes of a convolution's tensor, channels before those of the window.
static std::vector<int64_t> getSizes(const OpCall &Op, const Value &V) {
  std::vector<int64_t> Sizes = V.Shape;
  if (areChannelsLast(Op))
    std::rotate(Sizes.begin() + 1, Sizes.end() - 1, Sizes.end());
  return Sizes;
}

Convolution remat::runtime::getConvolution(const OpCall &Op) {
  Convolution C = getTensors(Op);
  std::vector<int64_t> X = getSizes(Op, *C.X), Y = getSizes(Op, *C.Y),
                       Weight = getSizes(Op, *C.Weight);
  C.Batch = X[0];
  C.Groups = Op.Attributes->getInt("groups", 1);
  C.Channels = Weight[1];
  C.Outputs = Weight[0] / C.Groups;
  C.ChannelsLast = areChannelsLast(Op);
  C.TheWindow = getWindow(Op, X, Y, std::span(Weight).subspan(2));
  return C;
}

static Status checkConvolution(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 2, 1));
  Convolution C = getTensors(Op);
  REMAT_TRY(checkFloat(*C.X));
  REMAT_TRY(checkType(*C.Weight, C.X->Type));
  REMAT_TRY(checkType(*C.Y, C.X->Type));
  REMAT_REQUIRE(C.X->getRank() >= 3 && C.Weight->getRank() == C.X->getRank() &&
                    C.Y->getRank() == C.X->getRank(),
                "convolves tensors of ranks " + std::to_string(C.X->getRank()) +
                    ", " + std::to_string(C.Weight->getRank()) + " and " +
                    std::to_string(C.Y->getRank()));
  std::vector<int64_t> X = getSizes(Op, *C.X), Y = getSizes(Op, *C.Y),
                       Weight = getSizes(Op, *C.Weight);
  int64_t Groups = Op.Attributes->getInt("groups", 1);
  int64_t Channels = X[1], Outputs = Weight[0];
  REMAT_REQUIRE(Groups >= 1 && Channels % Groups == 0 &&
                    Outputs % Groups == 0 && Weight[1] == Channels / Groups,
                "has " + std::to_string(Groups) + " groups of " +
                    std::to_string(Channels) + " and " +
                    std::to_string(Outputs) + " channels");
  REMAT_REQUIRE(Y[0] == X[0] && Y[1] == Outputs,
                "turns a tensor of shape " + formatShape(C.X->Shape) +
                    " into one of " + formatShape(C.Y->Shape));
  return checkWindow(Op, std::span(X).subspan(2), std::span(Weight).subspan(2),
                     std::span(Y).subspan(2));
}

//===----------------------------------------------------------------------===//
// max_pool
//===----------------------------------------------------------------------===//

/// Which tensors of the op are the pooling's: of the backward, the gradient is
/// of Y's shape.
static Pooling getPoolTensors(const OpCall &Op) {
  bool IsBackward = Op.Name == "max_pool_backward";
  Pooling P = {};
  P.X = IsBackward ? &Op.Operands[1] : &Op.Operands[0];
  P.Y = IsBackward ? &Op.Operands[0] : &Op.Results[0];
  return P;
}

/// The dimensions of a pooling's tensor but for channels behind the window's.
static std::span<const int64_t> getPlanes(const OpCall &Op, const Value &V) {
  return areChannelsLast(Op) ? dropLast(V) : std::span(V.Shape);
}

Pooling remat::runtime::getPooling(const OpCall &Op) {
  Pooling P = getPoolTensors(Op);
  P.TheWindow = getWindow(Op, getPlanes(Op, *P.X), getPlanes(Op, *P.Y),
                          Op.Attributes->getInts("window"));
  P.Channels = areChannelsLast(Op) ? P.X->Shape.back() : 1;
  P.Batch = P.X->NumElements / (P.TheWindow.getExtent() * P.Channels);
  return P;
}

static Status checkPool(const OpCall &Op) {
  bool IsBackward = Op.Name == "max_pool_backward";
  REMAT_TRY(checkCounts(Op, IsBackward ? 2 : 1, 1));
  Pooling P = getPoolTensors(Op);
  REMAT_TRY(checkFloat(*P.X));
  REMAT_TRY(checkType(*P.Y, P.X->Type));
  if (IsBackward)
    REMAT_TRY(checkSameType(Op.Results[0], *P.X));
  if (areChannelsLast(Op))
    REMAT_REQUIRE(P.X->getRank() >= 1 && P.Y->getRank() >= 1 &&
                      P.X->Shape.back() == P.Y->Shape.back(),
                  "pools channels of " + formatShape(P.X->Shape) + " to " +
                      formatShape(P.Y->Shape));
  std::span<const int64_t> Size = Op.Attributes->getInts("window");
  std::span<const int64_t> X = getPlanes(Op, *P.X), Y = getPlanes(Op, *P.Y);
  REMAT_REQUIRE(Size.size() <= X.size() && X.size() == Y.size(),
                "has a window of " + std::to_string(Size.size()) +
                    " dimensions over " + formatShape(X));
  size_t Batch = X.size() - Size.size();
  REMAT_REQUIRE(std::equal(X.begin(), X.begin() + int64_t(Batch), Y.begin()),
                "pools " + formatShape(X) + " to " + formatShape(Y));
  return checkWindow(Op, X.subspan(Batch), Size, Y.subspan(Batch));
}

std::span<const OpSignature> remat::runtime::getWindowOps() {
  static const OpSignature Signatures[] = {
      {"convolution", checkConvolution, reusesNothing},
      {"convolution_input_grad", checkConvolution, reusesNothing},
      {"convolution_weight_grad", checkConvolution, reusesNothing},
      {"max_pool", checkPool, reusesNothing},
      {"max_pool_backward", checkPool, reusesNothing},
  };
  return Signatures;
}
