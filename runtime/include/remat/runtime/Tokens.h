//===- Tokens.h - token files and batches -----------------------*- C++ -*-===//
//
// llm.c's format: int32[256] header {20240520, 1, count, 0...}, then `count`
// tokens of uint16, little-endian.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_TOKENS_H
#define REMAT_RUNTIME_TOKENS_H

#include "remat/runtime/Result.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace remat::runtime {

/// Parses a whole token file. InvalidFile when magic number, version or length
/// are wrong.
Result<std::vector<uint16_t>> parseTokens(std::span<const uint8_t> Bytes);
Result<std::vector<uint16_t>> readTokens(const std::string &Path);
/// Bytes of a file with these tokens; InvalidArgument beyond 2^31 - 1 tokens.
Result<std::vector<uint8_t>> formatTokens(std::span<const uint16_t> Tokens);

/// Batches of [Batch, Length] tokens and their successors. The file is cut into
/// windows of `Length` tokens, window w being tokens [w L, w L + L] (its last
/// one is only a target); each epoch visits all whole windows once in an order
/// drawn from (seed, epoch), and a rest smaller than a batch is left out.
class TokenBatches {
public:
  /// Keeps `Tokens`. InvalidArgument if they do not fill one batch, or if one
  /// is not below `Bound` (0: not checked).
  static Result<TokenBatches> create(std::vector<uint16_t> Tokens,
                                     uint64_t Batch, uint64_t Length,
                                     uint64_t Seed, uint64_t Bound = 0);

  /// The batch for step `Index`, whatever was asked before. Both spans hold
  /// Batch * Length numbers; either may be empty when it is not wanted.
  void get(uint64_t Index, std::span<int64_t> Inputs,
           std::span<int64_t> Targets);

  uint64_t getBatchesPerEpoch() const { return NumWindows / Batch; }

private:
  TokenBatches() = default;
  void shuffle(uint64_t Epoch);

  std::vector<uint16_t> Tokens;
  uint64_t Batch = 0, Length = 0, Seed = 0, NumWindows = 0;
  uint64_t ShuffledEpoch = UINT64_MAX;
  std::vector<uint64_t> Order;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_TOKENS_H
