//===- ImageFile.h - pictures in files --------------------------*- C++ -*-===//
//
// PNG by libpng, JPEG by libjpeg-turbo's TurboJPEG, both loaded when the first
// picture of their kind is read.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_LIB_DATA_IMAGEFILE_H
#define REMAT_RUNTIME_LIB_DATA_IMAGEFILE_H

#include "remat/runtime/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace remat::runtime {

/// Larger pictures are neither read nor made.
inline constexpr uint64_t MaxPixels = uint64_t(1) << 28;

/// Bytes of a picture, [Height, Width, Channels].
struct Pixels {
  uint64_t Height = 0, Width = 0, Channels = 0;
  std::vector<uint8_t> Bytes;
};

/// Reads a picture in grey (one channel) or red, green and blue (three); grey
/// is made of colours as ITU-R BT.601 weighs them, and opacity is left out.
/// Files are untrusted; an error names the file.
Result<Pixels> readImage(const std::string &Path, uint64_t Channels);

/// Whether a file's name ends as a picture's that is read.
bool isImageName(const std::string &Path);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_DATA_IMAGEFILE_H
