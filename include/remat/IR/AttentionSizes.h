//===- AttentionSizes.h - the sizes of attention ----------------*- C++ -*-===//

#ifndef REMAT_IR_ATTENTIONSIZES_H
#define REMAT_IR_ATTENTIONSIZES_H

#include "mlir/IR/ValueRange.h"
#include <cstdint>
#include <optional>

namespace remat {

/// The sizes of attention's operands: query [Batch, Queries, Heads, Width], key
/// and value [Batch, Keys, KeyHeads, Width], or one packed
/// [Batch, Queries, 3, Heads, Width].
struct AttentionSizes {
  int64_t Batch = 0, Queries = 0, Keys = 0;
  int64_t Heads = 0;    ///< of the queries
  int64_t KeyHeads = 0; ///< of keys and values; divides `Heads`
  int64_t Width = 0;    ///< elements of a head

  /// Those of `Qkv`, the one or three operands of a verified operation.
  static AttentionSizes of(mlir::ValueRange Qkv);

  /// Pairs of a query and a key that it may see by its place, of all batches
  /// and heads; about half of all where attention is causal.
  double countScores(bool IsCausal, std::optional<int64_t> Window) const;
};

} // namespace remat

#endif // REMAT_IR_ATTENTIONSIZES_H
