//===- HeadSeeds.h - how heads of attention draw apart ----------*- C++ -*-===//

#ifndef REMAT_SUPPORT_HEADSEEDS_H
#define REMAT_SUPPORT_HEADSEEDS_H

#include <cstdint>

namespace remat {

/// Head h of an attention operation drops probabilities by the stream of its
/// seed plus h times this number: who has some of the heads draws what is
/// theirs with another seed and nothing else. Seeds of users are small and
/// micro-batches are counted in the upper half, so that none of them is a head
/// of another; 2^16 heads fit in 64 bits. The leading bits of Knuth's
/// multiplier in MMIX; AttentionTiles.cuh has it too.
inline constexpr int64_t HeadSeedStride = 0x5851F42D4C95;

} // namespace remat

#endif // REMAT_SUPPORT_HEADSEEDS_H
