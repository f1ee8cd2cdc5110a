//===- Matmul.cpp - matrix products by a BLAS -----------------------------===//
//
// The product is cut into tiles by its shape alone; each tile is one call of
// the BLAS on one thread, so that its sums do not depend on how many threads
// there are. bf16 and f16 operands are widened block by block.
//
//===----------------------------------------------------------------------===//

#include "ops/Matmul.h"
#include "host/Blas.h"
#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Numeric.h"

using namespace remat::runtime;

static constexpr int64_t TileRows = 128, TileColumns = 512;
static constexpr int64_t BlockDepth = 1024; ///< of widened operands

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

/// Adds to what `Out` holds where `Adds`, else overwrites it.
static void runFloatTile(const Matrix &Lhs, const Matrix &Rhs, const Tile &T,
                         int64_t K, bool Adds, float *Out, int64_t OutStride) {
  multiply(Lhs.Transposed, Rhs.Transposed, T.Rows, T.Columns, K, 1.0f,
           Lhs.at(T.Row, 0), Lhs.Stride, Rhs.at(0, T.Column), Rhs.Stride,
           Adds ? 1.0f : 0.0f, Out, OutStride);
}

/// The same with operands that are widened, into rows of the tile's columns.
static void runWidenedTile(const Matrix &Lhs, const Matrix &Rhs, const Tile &T,
                           int64_t K, bool Adds, float *Out, float *Scratch) {
  float *A = Scratch, *B = A + TileRows * BlockDepth;
  for (int64_t Depth = 0; Depth < K; Depth += BlockDepth) {
    int64_t Count = std::min(BlockDepth, K - Depth);
    int64_t AStride = widenBlock(Lhs, T.Row, T.Rows, Depth, Count, A);
    int64_t BStride = widenBlock(Rhs, Depth, Count, T.Column, T.Columns, B);
    multiply(Lhs.Transposed, Rhs.Transposed, T.Rows, T.Columns, Count, 1.0f, A,
             AStride, B, BStride, Adds || Depth ? 1.0f : 0.0f, Out, T.Columns);
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

/// The tile of `Addend`, of whose rows `Columns` elements each the tile's begin
/// at `First`, as f32.
static void copyAddend(const Value &Addend, const Tile &T, int64_t First,
                       int64_t Columns, float *Out, int64_t Stride) {
  for (int64_t I = 0; I < T.Rows; ++I)
    loadFloats(Addend.Type, Addend.Data, First + I * Columns, T.Columns,
               Out + I * Stride);
}

static Status run(const OpCall &Op, Context &C) {
  const Value &Lhs = Op.Operands[0], &Rhs = Op.Operands[1];
  const Value &Result = Op.Results[0];
  MatmulShape S = getMatmulShape(Op);
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
      if (Op.has(3))
        copyAddend(Op.Operands[3], T, First, S.N, Out, S.N);
      runFloatTile(A, B, T, S.K, Op.has(3), Out, S.N);
      if (Op.has(2))
        addBias(Op.Operands[2], T, Out, S.N);
      return;
    }
    if (Op.has(3))
      copyAddend(Op.Operands[3], T, First, S.N, Scratch, T.Columns);
    runWidenedTile(A, B, T, S.K, Op.has(3), Scratch, Scratch + OutFloats);
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

std::span<const HostKernel> remat::runtime::getMatmulKernels() {
  static const HostKernel Kernels[] = {
      {"matmul", run},
  };
  return Kernels;
}
