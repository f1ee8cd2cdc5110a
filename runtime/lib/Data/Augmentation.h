//===- Augmentation.h - pictures changed by chance --------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_DATA_AUGMENTATION_H
#define REMAT_RUNTIME_LIB_DATA_AUGMENTATION_H

#include "lib/Data/ImageFile.h"
#include "remat/runtime/Philox.h"
#include <optional>
#include <string_view>

namespace remat::runtime {

/// What is done to each picture, in this order whatever the order in the text:
/// the size, the part, the side, the numbers.
struct Augmentation {
  enum class Part { Whole, Random, Center, Resized };

  std::optional<uint64_t> ShorterSide;
  Part Of = Part::Whole;
  uint64_t Side = 0;    ///< of the square part
  uint64_t Padding = 0; ///< black pixels on each side, for a random part
  double LeastArea = 1; ///< of a part that is resized, of the picture's
  bool Flip = false;
  /// By channel, or one for all; empty: numbers from 0 to 255 as they are.
  std::vector<float> Mean, Deviation;

  /// "crop=32:4,flip,normalize=0.5/0.25"; the empty text changes nothing.
  static Result<Augmentation> parse(std::string_view Text);

  /// The same without chance: nothing is turned, and the part is the middle of
  /// the picture, which is as large as it was. Of what `Resized` would take,
  /// the picture's shorter side becomes the part's, unless a size is given.
  Augmentation withoutChance() const;

  /// Random words of row `Row`: two blocks of its own.
  struct Draws {
    Draws(const PhiloxStream &Stream, uint64_t Row)
        : First(Stream.getBlock(2 * Row)),
          Second(Stream.getBlock(2 * Row + 1)) {}
    std::array<uint32_t, 4> First, Second;
  };

  /// The picture as floats, [Height, Width, Channels]; with as many numbers in
  /// `Mean` as there are channels, or one, or none.
  Status apply(const Pixels &From, const Draws &D, uint64_t Height,
               uint64_t Width, std::vector<float> &To) const;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_DATA_AUGMENTATION_H
