//===- SafetensorsHeader.h - what a weight file holds -----------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_SAFETENSORSHEADER_H
#define REMAT_RUNTIME_LIB_SAFETENSORSHEADER_H

#include "remat/runtime/Safetensors.h"

namespace remat::runtime {

/// The size of the header, from the first bytes of a file of `FileBytes` bytes.
Result<uint64_t> readSafetensorsHeaderSize(std::span<const uint8_t> Start,
                                           uint64_t FileBytes);

/// Parses a header that `DataBytes` bytes follow.
Result<SafetensorsHeader> parseSafetensorsHeader(std::span<const uint8_t> Text,
                                                 uint64_t DataBytes);

/// Size and text of a header; offsets are computed, those given are not read.
Result<std::string> formatSafetensorsHeader(const SafetensorsHeader &Header);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_SAFETENSORSHEADER_H
