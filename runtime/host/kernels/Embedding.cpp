//===- Embedding.cpp - rows of tables -------------------------------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "host/Rows.h"
#include "ops/Index.h"
#include "ops/Numeric.h"
#include "remat/Support/EmbeddingRun.h"
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

/// The table's row `Id`: the sum of the gradient rows `Sorted[First..Last)`, of
/// which whole runs of the sorted ones are summed first, and what is added to
/// it once it is rounded.
static void sumRows(const OpCall &Op, std::span<const int64_t> Sorted,
                    size_t First, size_t Last, int64_t Id) {
  constexpr size_t Run = remat::EmbeddingRun;
  constexpr int64_t Block = 256;
  const Value &Result = Op.Results[0];
  int64_t Columns = Result.Shape[1];
  for (int64_t Column = 0; Column < Columns; Column += Block) {
    int64_t Count = std::min(Block, Columns - Column);
    float Total[Block] = {};
    for (size_t I = First; I < Last;) {
      bool IsRun = I % Run == 0 && I + Run <= Last;
      auto Rows = Sorted.subspan(I, IsRun ? Run : 1);
      float Sum[Block] = {};
      for (int64_t Position : Rows)
        addRow(Op.Operands[1], Position * Columns + Column, Count, Sum);
      for (int64_t J = 0; J < Count; ++J)
        Total[J] += Sum[J];
      I += Rows.size();
    }
    int64_t Place = Id * Columns + Column;
    if (Op.has(2)) {
      roundFloats(Result.Type, Total, Count);
      addRow(Op.Operands[2], Place, Count, Total);
    }
    storeFloats(Result.Type, Result.Data, Place, Count, Total);
  }
}

static Status runEmbeddingBackward(const OpCall &Op, Context &C) {
  const Value &Ids = Op.Operands[0], &Result = Op.Results[0];
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
      sumRows(Op, {Sorted.data(), size_t(Ids.NumElements)}, size_t(Begin),
              size_t(End), Id);
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
