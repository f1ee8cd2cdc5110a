//===- Architecture.h - names of GPU architectures --------------*- C++ -*-===//

#ifndef REMAT_SUPPORT_ARCHITECTURE_H
#define REMAT_SUPPORT_ARCHITECTURE_H

#include <algorithm>
#include <string_view>

namespace remat {

/// Whether `Text` reads as a CUDA architecture: "sm_" and two to four digits.
/// Which ones there are, NVRTC knows.
constexpr bool isCUDAArchitecture(std::string_view Text) {
  if (!Text.starts_with("sm_") || Text.size() < 5 || Text.size() > 7)
    return false;
  return std::all_of(Text.begin() + 3, Text.end(),
                     [](char C) { return C >= '0' && C <= '9'; });
}

} // namespace remat

#endif // REMAT_SUPPORT_ARCHITECTURE_H
