//===- Embedding.cpp - rows of tables -------------------------------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Index.h"
#include "ops/Numeric.h"
#include <new>
#include <numeric>

using namespace remat::runtime;

static Status checkIds(const Value &Ids, int64_t Rows) {
  return checkIndices(Ids, Rows, "id", "a table of", "rows");
}

static Status runEmbedding(const OpCall &Op, Context &C) {
  const Value &Ids = Op.Operands[0], &Table = Op.Operands[1];
  const Value &Result = Op.Results[0];
  REMAT_TRY(checkIds(Ids, Table.Shape[0]));
  uint64_t RowBytes = Table.Shape[1] * getByteWidth(Table.Type);
  C.forBlocks(Ids.NumElements, 64, [&](int64_t First, int64_t Last) {
    for (int64_t I = First; I < Last; ++I)
      std::memcpy(Result.Data + I * RowBytes,
                  Table.Data + loadInteger(Ids.Type, Ids.Data, I) * RowBytes,
                  RowBytes);
  });
  return {};
}

/// Sums the gradient rows `Sorted[First..Last)`, all of one id, in their order.
static void sumRows(const Value &Grad, ScratchArray<int64_t> &Sorted,
                    int64_t First, int64_t Last, const Value &Result,
                    int64_t Id) {
  constexpr int64_t Block = 256;
  int64_t Columns = Result.Shape[1];
  float Total[Block], Row[Block];
  for (int64_t Column = 0; Column < Columns; Column += Block) {
    int64_t Count = std::min(Block, Columns - Column);
    std::fill(Total, Total + Count, 0.0f);
    for (int64_t I = First; I < Last; ++I) {
      loadFloats(Grad.Type, Grad.Data, Sorted[I] * Columns + Column, Count,
                 Row);
      for (int64_t J = 0; J < Count; ++J)
        Total[J] += Row[J];
    }
    storeFloats(Result.Type, Result.Data, Id * Columns + Column, Count, Total);
  }
}

static Status runEmbeddingBackward(const OpCall &Op, Context &C) {
  const Value &Ids = Op.Operands[0], &Grad = Op.Operands[1];
  const Value &Result = Op.Results[0];
  REMAT_TRY(checkIds(Ids, Result.Shape[0]));
  ScratchArray<int64_t> Sorted(C, Ids.NumElements);
  std::iota(Sorted.begin(), Sorted.end(), 0);
  auto IdOf = [&](int64_t I) { return loadInteger(Ids.Type, Ids.Data, I); };
  std::sort(Sorted.begin(), Sorted.end(), [&](int64_t A, int64_t B) {
    return std::pair(IdOf(A), A) < std::pair(IdOf(B), B);
  });
  // Each id's rows are one run of the sorted ones; a task owns table rows.
  constexpr int64_t Grain = 64;
  C.forBlocks(Result.Shape[0], Grain, [&](int64_t First, int64_t Last) {
    auto At = std::lower_bound(
        Sorted.begin(), Sorted.end(), First,
        [&](int64_t Position, int64_t Id) { return IdOf(Position) < Id; });
    int64_t Begin = At - Sorted.begin();
    for (int64_t Id = First; Id < Last; ++Id) {
      int64_t End = Begin;
      while (End < Ids.NumElements && IdOf(Sorted[End]) == Id)
        ++End;
      sumRows(Grad, Sorted, Begin, End, Result, Id);
      Begin = End;
    }
  });
  return {};
}

std::span<const HostKernel> remat::runtime::getEmbeddingKernels() {
  static const HostKernel Kernels[] = {
      {"embedding", runEmbedding},
      {"embedding_backward", runEmbeddingBackward},
  };
  return Kernels;
}
