//===- Matmul.cpp - matrix products by a BLAS -----------------------------===//
//
// The product is cut into tiles by its shape alone; each tile is one call of
// the BLAS on one thread, so that its sums do not depend on how many threads
// there are. bf16 and f16 operands are widened block by block.
//
//===----------------------------------------------------------------------===//

#include "host/Blas.h"
#include "host/Context.h"
#include "host/Numeric.h"
#include "host/Op.h"

using namespace remat::runtime;

static constexpr int64_t TileRows = 128, TileColumns = 512;
static constexpr int64_t BlockDepth = 1024; ///< of widened operands

namespace {
/// The product as the kernel sees it.
struct Shape {
  int64_t Batch = 1, M = 0, N = 0, K = 0;
  bool TransposeLhs = false, TransposeRhs = false;
  bool LhsBatched = false, RhsBatched = false;
};
} // namespace

static Shape getShape(const OpCall &Op) {
  const Value &Lhs = Op.Operands[0], &Rhs = Op.Operands[1];
  Shape S;
  S.TransposeLhs = Op.Attributes->getFlag("transpose_lhs");
  S.TransposeRhs = Op.Attributes->getFlag("transpose_rhs");
  int64_t L = Lhs.getRank(), R = Rhs.getRank();
  S.M = Lhs.Shape[S.TransposeLhs ? L - 1 : L - 2];
  S.K = Lhs.Shape[S.TransposeLhs ? L - 2 : L - 1];
  S.N = Rhs.Shape[S.TransposeRhs ? R - 2 : R - 1];
  S.LhsBatched = L > 2;
  S.RhsBatched = R > 2;
  const Value &Wide = S.LhsBatched ? Lhs : Rhs;
  S.Batch = countElements(std::span(Wide.Shape).first(Wide.Shape.size() - 2));
  return S;
}

static Status check(const OpCall &Op) {
  REMAT_TRY(checkOptionalCounts(Op, 2, 3, 1));
  const Value &Lhs = Op.Operands[0], &Rhs = Op.Operands[1];
  const Value &Result = Op.Results[0];
  REMAT_TRY(checkFloat(Lhs));
  REMAT_TRY(checkType(Rhs, Lhs.Type));
  if (Result.Type != DType::F32)
    REMAT_TRY(checkType(Result, Lhs.Type));
  REMAT_REQUIRE(Lhs.getRank() >= 2 && Rhs.getRank() >= 2,
                "multiplies tensors of ranks " + std::to_string(Lhs.getRank()) +
                    " and " + std::to_string(Rhs.getRank()));
  Shape S = getShape(Op);
  for (const Value *V : {&Lhs, &Rhs})
    for (int64_t Dim : V->Shape)
      REMAT_REQUIRE(Dim <= INT32_MAX, "has a dimension of " +
                                          std::to_string(Dim) +
                                          ", more than the BLAS takes");
  std::vector<int64_t> Batch(Lhs.Shape.begin(), Lhs.Shape.end() - 2);
  std::vector<int64_t> RhsBatch(Rhs.Shape.begin(), Rhs.Shape.end() - 2);
  REMAT_REQUIRE(Batch.empty() || RhsBatch.empty() || Batch == RhsBatch,
                "multiplies batches " + formatShape(Batch) + " and " +
                    formatShape(RhsBatch));
  int64_t RhsK =
      Rhs.Shape[S.TransposeRhs ? Rhs.getRank() - 1 : Rhs.getRank() - 2];
  REMAT_REQUIRE(S.K == RhsK, "sums over " + std::to_string(S.K) + " and " +
                                 std::to_string(RhsK) + " elements");
  std::vector<int64_t> Expected = Batch.empty() ? RhsBatch : Batch;
  Expected.push_back(S.M);
  Expected.push_back(S.N);
  REMAT_TRY(checkShape(Result, Expected));
  if (Op.has(2)) {
    REMAT_TRY(checkFloat(Op.Operands[2]));
    REMAT_TRY(checkShape(Op.Operands[2], {{S.N}}));
  }
  return {};
}

namespace {
/// One tile of the result: rows [Row, Row + Rows), columns [Column, ...).
struct Tile {
  int64_t Batch, Row, Rows, Column, Columns;
};

/// A matrix stored row-major with `Stride` elements a row, perhaps transposed.
struct Matrix {
  DType Type;
  const char *Data;
  int64_t First, Stride;
  bool Transposed;

  /// The element at a row and column of the matrix as it is multiplied.
  int64_t locate(int64_t Row, int64_t Column) const {
    return First + (Transposed ? Column * Stride + Row : Row * Stride + Column);
  }
  const float *at(int64_t Row, int64_t Column) const {
    return reinterpret_cast<const float *>(Data) + locate(Row, Column);
  }
};
} // namespace

/// Widens a block of `M`, keeping its storage order; gives the row stride.
static int64_t widenBlock(const Matrix &M, int64_t Row, int64_t Rows,
                          int64_t Column, int64_t Columns, float *Out) {
  int64_t Lines = M.Transposed ? Columns : Rows;
  int64_t Width = M.Transposed ? Rows : Columns;
  int64_t First = M.locate(Row, Column);
  for (int64_t I = 0; I < Lines; ++I)
    loadFloats(M.Type, M.Data, First + I * M.Stride, Width, Out + I * Width);
  return Width;
}

static void runFloatTile(const Matrix &Lhs, const Matrix &Rhs, const Tile &T,
                         int64_t K, float *Out, int64_t OutStride) {
  multiply(Lhs.Transposed, Rhs.Transposed, T.Rows, T.Columns, K, 1.0f,
           Lhs.at(T.Row, 0), Lhs.Stride, Rhs.at(0, T.Column), Rhs.Stride, 0.0f,
           Out, OutStride);
}

static void runWidenedTile(const Matrix &Lhs, const Matrix &Rhs, const Tile &T,
                           int64_t K, float *Out, float *Scratch) {
  float *A = Scratch, *B = A + TileRows * BlockDepth;
  for (int64_t Depth = 0; Depth < K; Depth += BlockDepth) {
    int64_t Count = std::min(BlockDepth, K - Depth);
    int64_t AStride = widenBlock(Lhs, T.Row, T.Rows, Depth, Count, A);
    int64_t BStride = widenBlock(Rhs, Depth, Count, T.Column, T.Columns, B);
    multiply(Lhs.Transposed, Rhs.Transposed, T.Rows, T.Columns, Count, 1.0f, A,
             AStride, B, BStride, Depth ? 1.0f : 0.0f, Out, T.Columns);
  }
}

static void addBias(const Value &Bias, const Tile &T, float *Out,
                    int64_t Stride) {
  float Row[TileColumns];
  loadFloats(Bias.Type, Bias.Data, T.Column, T.Columns, Row);
  for (int64_t I = 0; I < T.Rows; ++I)
    for (int64_t J = 0; J < T.Columns; ++J)
      Out[I * Stride + J] += Row[J];
}

static Status run(const OpCall &Op, Context &C) {
  const Value &Lhs = Op.Operands[0], &Rhs = Op.Operands[1];
  const Value &Result = Op.Results[0];
  Shape S = getShape(Op);
  bool Widen = Lhs.Type != DType::F32;
  constexpr int64_t OutFloats = TileRows * TileColumns;
  if (Widen)
    REMAT_TRY(C.reserveScratch(
        sizeof(float) * ((TileRows + TileColumns) * BlockDepth + OutFloats)));

  auto RunTile = [&](const Tile &T, float *Scratch) {
    Matrix A = {Lhs.Type, Lhs.Data, S.LhsBatched ? T.Batch * S.M * S.K : 0,
                S.TransposeLhs ? S.M : S.K, S.TransposeLhs};
    Matrix B = {Rhs.Type, Rhs.Data, S.RhsBatched ? T.Batch * S.K * S.N : 0,
                S.TransposeRhs ? S.K : S.N, S.TransposeRhs};
    int64_t First = (T.Batch * S.M + T.Row) * S.N + T.Column;
    if (!Widen) {
      float *Out = Result.as<float>() + First;
      runFloatTile(A, B, T, S.K, Out, S.N);
      if (Op.has(2))
        addBias(Op.Operands[2], T, Out, S.N);
      return;
    }
    runWidenedTile(A, B, T, S.K, Scratch, Scratch + OutFloats);
    if (Op.has(2))
      addBias(Op.Operands[2], T, Scratch, T.Columns);
    for (int64_t I = 0; I < T.Rows; ++I)
      storeFloats(Result.Type, Result.Data, First + I * S.N, T.Columns,
                  Scratch + I * T.Columns);
  };

  int64_t RowTiles = (S.M + TileRows - 1) / TileRows;
  int64_t ColumnTiles = (S.N + TileColumns - 1) / TileColumns;
  C.parallelFor(S.Batch * RowTiles * ColumnTiles, [&](int64_t Index,
                                                      unsigned Worker) {
    int64_t Column = Index % ColumnTiles * TileColumns;
    int64_t Row = Index / ColumnTiles % RowTiles * TileRows;
    RunTile({Index / ColumnTiles / RowTiles, Row, std::min(TileRows, S.M - Row),
             Column, std::min(TileColumns, S.N - Column)},
            C.getScratch<float>(Worker));
  });
  return {};
}

std::span<const OpRecord> remat::runtime::getMatmulOps() {
  static const OpRecord Records[] = {{"matmul", check, reusesNothing, run}};
  return Records;
}
