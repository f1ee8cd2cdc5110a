//===- BatchSource.h - where the inputs of a step come from -----*- C++ -*-===//
//
//   auto Source = openData(Program, {.Paths = {"train.bin"}, .Seed = 1});
//   Prefetcher Batches(**Source, /*Threads=*/2, /*Depth=*/4);
//   auto Batch = Batches.get(/*Step=*/0);
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_DATA_BATCHSOURCE_H
#define REMAT_RUNTIME_DATA_BATCHSOURCE_H

#include "remat/runtime/Parts.h"
#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

namespace remat::runtime {

/// What one input holds in a step: the bytes of the whole tensor.
struct BatchInput {
  uint32_t Argument = 0; ///< its number in the program
  std::pmr::vector<uint8_t> Bytes;
};

using Batch = std::vector<BatchInput>;

/// Gives the batch of each step. It depends on the files, the seed and the step
/// alone, so that training goes on at any step without a record of what was
/// read before.
class BatchSource {
public:
  virtual ~BatchSource() = default;

  /// The arguments that it fills, in the order of its batches.
  const std::vector<uint32_t> &getArguments() const { return Arguments; }
  /// A rest smaller than a batch is left out of an epoch.
  virtual uint64_t getBatchesPerEpoch() const = 0;

  /// The batch of a step. Several threads may call it at once, each with a
  /// batch of its own, whose memory is used again. A bad record is an error
  /// that names its file and its place there.
  Status get(uint64_t Step, Batch &To) const {
    return get(Step, Share.Number, To);
  }
  /// The rows of another share of the same batch.
  Status get(uint64_t Step, uint64_t Number, Batch &To) const;
  const DataShare &getShare() const { return Share; }

protected:
  explicit BatchSource(const DataShare &Share = {}) : Share(Share) {}

  /// Fills `To` with share `Number`, which has an element for each of
  /// `getArguments()`. The standard library may throw for want of memory.
  virtual Status fill(uint64_t Step, uint64_t Number, Batch &To) const = 0;

  std::vector<uint32_t> Arguments;
  DataShare Share;
};

struct DataOptions {
  /// Token files, files of arrays, or a folder of pictures with a folder for
  /// each class. Other folders stand for the files in them that are not hidden,
  /// glob patterns for those that match, by name. INPUT=PATH and
  /// INPUT=PATH:ARRAY say which input an array fills, else its own name does.
  std::vector<std::string> Paths;
  /// Inputs that get their values in another way.
  std::vector<std::string> OtherInputs = {};
  /// What is done to pictures, e.g. "crop=32:4,flip,normalize=0.5/0.25".
  std::string Augment = {};
  /// Whether chance has a part in that; else pictures are not turned, and what
  /// is cut is the middle.
  bool AugmentsByChance = true;
  uint64_t Seed = 0; ///< of the order of the records, and of augmentation
  /// Which rows of a batch that several ranks share: the batch is as many times
  /// the program's inputs as there are shares.
  DataShare Share = {};
};

/// Opens data for the inputs of `Program`, which is not kept.
Result<std::unique_ptr<BatchSource>> openData(const Program &Program,
                                              const DataOptions &Options);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_DATA_BATCHSOURCE_H
