//===- EmbeddingRun.h - how an embedding's gradient is summed ---*- C++ -*-===//

#ifndef REMAT_SUPPORT_EMBEDDINGRUN_H
#define REMAT_SUPPORT_EMBEDDINGRUN_H

#include <cstdint>

namespace remat {

/// Positions sorted by their ids are cut into runs of so many. Where a whole
/// run names one row of the table, its gradients are summed first, on all
/// devices.
inline constexpr int64_t EmbeddingRun = 32;

} // namespace remat

#endif // REMAT_SUPPORT_EMBEDDINGRUN_H
