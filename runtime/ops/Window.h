//===- Window.h - windows of convolution and pooling ------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_OPS_WINDOW_H
#define REMAT_RUNTIME_OPS_WINDOW_H

#include "ops/Op.h"
#include <array>

namespace remat::runtime {

/// A window of `Size` elements that takes `Count` positions over `Extent`
/// elements, in three dimensions: those that an op lacks come first and have
/// one element.
struct Window {
  static constexpr int Dims = 3;
  using Sizes = std::array<int64_t, Dims>;
  Sizes Extent, Count, Size, Stride, Low, Dilation;

  int64_t getExtent() const { return Extent[0] * Extent[1] * Extent[2]; }
  int64_t getCount() const { return Count[0] * Count[1] * Count[2]; }
  int64_t getSize() const { return Size[0] * Size[1] * Size[2]; }
  /// Where element `Offset` of the window at `Position` lies in dimension
  /// `Dim`; outside of [0, Extent) is padding.
  int64_t locate(int Dim, int64_t Position, int64_t Offset) const {
    return Position * Stride[Dim] - Low[Dim] + Offset * Dilation[Dim];
  }
};

/// Elements from a channel of an image to the next, and from an element of a
/// channel to the next.
struct ImageLayout {
  int64_t Channel, Element;
};

/// A checked convolution, or one of its gradients.
struct Convolution {
  const Value *X, *Weight, *Y; ///< as the convolution reads and writes them
  int64_t Batch, Groups;
  int64_t Channels, Outputs; ///< of one group
  bool ChannelsLast;
  Window TheWindow;

  /// Where the elements of one image lie that has so many channels.
  ImageLayout getImage(int64_t AllChannels, int64_t Plane) const {
    return ChannelsLast ? ImageLayout{1, AllChannels} : ImageLayout{Plane, 1};
  }

  /// Elements of the weight for an output channel.
  int64_t getDepth() const { return Channels * TheWindow.getSize(); }
};
Convolution getConvolution(const OpCall &Op);

/// A checked pooling: `Batch` planes, each with the window, whose elements are
/// `Channels` elements of the tensor, each pooled by itself.
struct Pooling {
  const Value *X, *Y;
  int64_t Batch, Channels;
  Window TheWindow;
};
Pooling getPooling(const OpCall &Op);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_WINDOW_H
