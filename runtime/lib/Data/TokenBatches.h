//===- TokenBatches.h - windows of token files ------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_DATA_TOKENBATCHES_H
#define REMAT_RUNTIME_LIB_DATA_TOKENBATCHES_H

#include "lib/Data/Shuffle.h"
#include "remat/runtime/Data/BatchSource.h"
#include "remat/runtime/Data/Tokens.h"

namespace remat::runtime {

/// Batches of [Batch, Length] tokens and their successors. Each file is cut
/// into windows of `Length` tokens, window w being tokens [w L, w L + L] (its
/// last one is only a target); each epoch visits all whole windows of all files
/// once in an order drawn from (seed, epoch), and a rest smaller than a batch
/// is left out.
class TokenBatches {
public:
  struct Sizes {
    uint64_t Batch = 0, Length = 0;
    uint64_t Bound = 0;  ///< every token is below it; 0: not checked
    uint64_t Shares = 1; ///< of so many rows each a step's batch is made
  };

  /// InvalidArgument if the files do not fill one batch. The first tokens of
  /// all are compared with the bound at once, to say so before any work, the
  /// others when they are read.
  static Result<std::unique_ptr<TokenBatches>>
  create(std::vector<TokenFile> Files, const Sizes &Sizes, uint64_t Seed);

  /// Share `Share` of the batch for step `Step`. Both spans hold Batch * Length
  /// numbers; either may be empty when it is not wanted. Several threads may
  /// ask at once.
  Status get(uint64_t Step, std::span<int64_t> Inputs,
             std::span<int64_t> Targets, uint64_t Share = 0) const;

  uint64_t getBatchesPerEpoch() const { return NumWindows / getRows(); }

private:
  TokenBatches(std::vector<TokenFile> Files, const Sizes &Sizes,
               uint64_t NumWindows, uint64_t Seed);
  uint64_t getRows() const { return S.Batch * S.Shares; }
  Status readWindow(uint64_t Window, std::span<int64_t> Tokens) const;
  Status checkFirst() const;
  Status check(const TokenFile &File, uint64_t First,
               std::span<const int64_t> Tokens) const;

  std::vector<TokenFile> Files;
  std::vector<uint64_t> FirstWindow; ///< of each file, among those of all
  Sizes S;
  uint64_t NumWindows;
  Shuffle Order;
};

/// The data for the inputs that ask for tokens or targets.
Result<std::unique_ptr<BatchSource>>
openTokens(const Program &Program, const std::vector<std::string> &Paths,
           uint64_t Seed, const DataShare &Share);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_DATA_TOKENBATCHES_H
