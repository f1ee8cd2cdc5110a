//===- Attention.cpp - scaled dot-product attention -----------------------===//

#include "host/Attention.h"
#include "host/Blas.h"
#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Numeric.h"
#include <limits>

using namespace remat::runtime;

static constexpr float MinusInfinity = -std::numeric_limits<float>::infinity();

namespace {
/// Blocks of rows of `Heads` heads: one task each.
struct Tasks {
  int64_t Blocks, Heads, Count;
  int64_t BlockRows, Rows;

  Tasks(const Attention &A, int64_t Heads, int64_t BlockRows, int64_t Rows)
      : Blocks((Rows + BlockRows - 1) / BlockRows), Heads(Heads),
        Count(A.Batches * Heads * Blocks), BlockRows(BlockRows), Rows(Rows) {}

  int64_t getFirst(int64_t Task) const { return Task % Blocks * BlockRows; }
  int64_t getRows(int64_t Task) const {
    return std::min(BlockRows, Rows - getFirst(Task));
  }
  int64_t getHead(int64_t Task) const { return Task / Blocks % Heads; }
  int64_t getBatch(int64_t Task) const { return Task / Blocks / Heads; }
};
} // namespace

static constexpr int64_t QueryBlock = Attention::QueryBlock;
static constexpr int64_t KeyBlock = Attention::KeyBlock;
static constexpr int64_t ScoreFloats = QueryBlock * KeyBlock;

/// Calls F for each block of keys that the queries of `B` see.
template <typename Function>
static void forKeyBlocks(const Attention &A, ScoreBlock B, Function F) {
  for (B.Key = 0; B.Key < A.NumKeys; B.Key += KeyBlock) {
    B.Keys = std::min(KeyBlock, A.NumKeys - B.Key);
    if (A.isSeen(B))
      F(B);
  }
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Adds a block's scores to each row's maximum and sum of exponentials.
static void addToLse(const ScoreBlock &B, const float *Scores, float *Max,
                     double *Total) {
  for (int64_t I = 0; I < B.Queries; ++I) {
    const float *Row = Scores + I * B.Keys;
    float New = Max[I];
    for (int64_t J = 0; J < B.Keys; ++J)
      New = maximum(New, Row[J]);
    if (New == MinusInfinity)
      continue;
    double Block =
        sum(B.Keys, [&](int64_t J) { return double(expf(Row[J] - New)); });
    Total[I] = Total[I] * std::exp(double(Max[I]) - double(New)) + Block;
    Max[I] = New;
  }
}

static void runForwardBlock(const Attention &A, const Heads &Out, float *AllLse,
                            const ScoreBlock &Block, float *Scratch) {
  int64_t D = A.Dim;
  float *Q = Scratch, *O = Q + QueryBlock * D, *K = O + QueryBlock * D;
  float *V = K + KeyBlock * D, *S = V + KeyBlock * D, *F = S + ScoreFloats;
  A.load(A.QueryHeads, Block, Block.Query, Block.Queries, Q);
  float Max[QueryBlock], Lse[QueryBlock];
  double Total[QueryBlock] = {};
  std::fill(Max, Max + QueryBlock, MinusInfinity);
  forKeyBlocks(A, Block, [&](const ScoreBlock &B) {
    A.load(A.KeyHeads, B, B.Key, B.Keys, K);
    A.computeScores(B, Q, K, S);
    addToLse(B, S, Max, Total);
  });
  for (int64_t I = 0; I < Block.Queries; ++I) {
    Lse[I] = Max[I] == MinusInfinity
                 ? MinusInfinity
                 : static_cast<float>(double(Max[I]) + std::log(Total[I]));
    AllLse[(Block.Batch * A.NumHeads + Block.Head) * A.NumQueries +
           Block.Query + I] = Lse[I];
  }
  std::fill(O, O + Block.Queries * D, 0.0f);
  forKeyBlocks(A, Block, [&](const ScoreBlock &B) {
    A.load(A.KeyHeads, B, B.Key, B.Keys, K);
    A.load(A.ValueHeads, B, B.Key, B.Keys, V);
    A.computeScores(B, Q, K, S);
    A.computeProbabilities(B, Lse, S);
    A.computeFactors(B, F);
    for (int64_t I = 0; I < B.Queries * B.Keys; ++I)
      S[I] *= F[I];
    multiply(false, false, B.Queries, D, B.Keys, 1.0f, S, B.Keys, V, D, 1.0f, O,
             D);
  });
  A.store(Out, Block, Block.Query, Block.Queries, O);
}

static Status runForward(const OpCall &Op, Context &C) {
  Attention A(Op, 0, countQkv(Op));
  Heads Out = A.getHeads(Op.Results[0], 0, /*IsPacked=*/false);
  REMAT_TRY(C.reserveScratch(
      sizeof(float) *
      (2 * (QueryBlock + KeyBlock) * uint64_t(A.Dim) + 2 * ScoreFloats)));
  Tasks T(A, A.NumHeads, QueryBlock, A.NumQueries);
  C.parallelFor(T.Count, [&](int64_t Task, unsigned Worker) {
    ScoreBlock B = {T.getBatch(Task),
                    T.getHead(Task),
                    T.getFirst(Task),
                    T.getRows(Task),
                    0,
                    0};
    runForwardBlock(A, Out, Op.Results[1].as<float>(), B,
                    C.getScratch<float>(Worker));
  });
  return {};
}

//===----------------------------------------------------------------------===//
// Backward: grad, query.., output, lse, mask, seed, step
//===----------------------------------------------------------------------===//

namespace {
/// The backward of one op; a task's buffers are cut from its scratch.
struct Backward {
  const Attention &A;
  Heads Grad, Output, QueryGrad, KeyGrad, ValueGrad;
  const float *Lse;

  struct Buffers {
    float *Q, *O, *K, *V, *DO, *Out1, *Out2, *P, *DS, *F;
    float Delta[QueryBlock];
    Buffers(float *Scratch, int64_t D) {
      Q = Scratch;
      O = Q + QueryBlock * D;
      DO = O + QueryBlock * D;
      K = DO + QueryBlock * D;
      V = K + KeyBlock * D;
      Out1 = V + KeyBlock * D;
      Out2 = Out1 + KeyBlock * D;
      P = Out2 + KeyBlock * D;
      DS = P + ScoreFloats;
      F = DS + ScoreFloats;
    }
    static uint64_t count(int64_t D) {
      return (3 * QueryBlock + 4 * KeyBlock) * uint64_t(D) + 3 * ScoreFloats;
    }
  };

  void loadQueries(const ScoreBlock &B, Buffers &X) const {
    int64_t D = A.Dim;
    A.load(A.QueryHeads, B, B.Query, B.Queries, X.Q);
    A.load(Grad, B, B.Query, B.Queries, X.DO);
    A.load(Output, B, B.Query, B.Queries, X.O);
    for (int64_t I = 0; I < B.Queries; ++I)
      X.Delta[I] = static_cast<float>(sum(D, [&](int64_t J) {
        return double(X.DO[I * D + J]) * double(X.O[I * D + J]);
      }));
  }

  void loadKeys(const ScoreBlock &B, Buffers &X) const {
    A.load(A.KeyHeads, B, B.Key, B.Keys, X.K);
    A.load(A.ValueHeads, B, B.Key, B.Keys, X.V);
  }

  /// P: the probabilities after dropout; DS: the scores' gradients.
  void computeBlock(const ScoreBlock &B, Buffers &X) const {
    const float *RowLse =
        Lse + (B.Batch * A.NumHeads + B.Head) * A.NumQueries + B.Query;
    A.computeScores(B, X.Q, X.K, X.P);
    A.computeProbabilities(B, RowLse, X.P);
    A.computeFactors(B, X.F);
    multiply(false, true, B.Queries, B.Keys, A.Dim, 1.0f, X.DO, A.Dim, X.V,
             A.Dim, 0.0f, X.DS, B.Keys);
    for (int64_t I = 0; I < B.Queries; ++I)
      for (int64_t J = I * B.Keys; J < (I + 1) * B.Keys; ++J) {
        X.DS[J] = X.P[J] * (X.DS[J] * X.F[J] - X.Delta[I]);
        X.P[J] *= X.F[J];
      }
  }

  void runQueries(ScoreBlock Block, Buffers X) const {
    int64_t D = A.Dim;
    loadQueries(Block, X);
    std::fill(X.Out1, X.Out1 + Block.Queries * D, 0.0f);
    forKeyBlocks(A, Block, [&](const ScoreBlock &B) {
      loadKeys(B, X);
      computeBlock(B, X);
      multiply(false, false, B.Queries, D, B.Keys, A.Scale, X.DS, B.Keys, X.K,
               D, 1.0f, X.Out1, D);
    });
    A.store(QueryGrad, Block, Block.Query, Block.Queries, X.Out1);
  }

  /// Adds what the queries of one head give to the gradients of a block of
  /// keys, Out1, and of values, Out2.
  void addHead(ScoreBlock B, Buffers &X) const {
    int64_t D = A.Dim;
    for (B.Query = 0; B.Query < A.NumQueries; B.Query += QueryBlock) {
      B.Queries = std::min(QueryBlock, A.NumQueries - B.Query);
      if (!A.isSeen(B))
        continue;
      loadQueries(B, X);
      computeBlock(B, X);
      multiply(true, false, B.Keys, D, B.Queries, A.Scale, X.DS, B.Keys, X.Q, D,
               1.0f, X.Out1, D);
      multiply(true, false, B.Keys, D, B.Queries, 1.0f, X.P, B.Keys, X.DO, D,
               1.0f, X.Out2, D);
    }
  }

  /// A block of keys of the head that is read from head `B.Head` of the queries
  /// on.
  void runKeys(ScoreBlock B, Buffers X) const {
    loadKeys(B, X);
    std::fill(X.Out1, X.Out1 + B.Keys * A.Dim, 0.0f);
    std::fill(X.Out2, X.Out2 + B.Keys * A.Dim, 0.0f);
    for (int64_t I = 0; I < A.KeyHeads.Group; ++I) {
      ScoreBlock Of = B;
      Of.Head += I;
      addHead(Of, X);
    }
    A.store(KeyGrad, B, B.Key, B.Keys, X.Out1);
    A.store(ValueGrad, B, B.Key, B.Keys, X.Out2);
  }
};
} // namespace

static Status runBackward(const OpCall &Op, Context &C) {
  size_t Qkv = countQkv(Op);
  Attention A(Op, 1, Qkv + 3);
  bool Packed = A.Packed;
  auto GradOf = [&](unsigned Which) {
    return A.getHeads(Op.Results[Packed ? 0 : Which], Which, Packed);
  };
  Backward Run = {A,
                  A.getHeads(Op.Operands[0], 0, false),
                  A.getHeads(Op.Operands[Qkv + 1], 0, false),
                  GradOf(0),
                  GradOf(1),
                  GradOf(2),
                  Op.Operands[Qkv + 2].as<float>()};
  REMAT_TRY(C.reserveScratch(sizeof(float) * Backward::Buffers::count(A.Dim)));
  Tasks Queries(A, A.NumHeads, QueryBlock, A.NumQueries);
  Tasks Keys(A, A.NumKeyHeads, KeyBlock, A.NumKeys);
  // The gradients of queries and of keys are made apart, each by one task a
  // block: no sum is shared between tasks.
  C.parallelFor(Queries.Count + Keys.Count, [&](int64_t Task, unsigned Worker) {
    Backward::Buffers X(C.getScratch<float>(Worker), A.Dim);
    if (Task < Queries.Count) {
      Run.runQueries({Queries.getBatch(Task), Queries.getHead(Task),
                      Queries.getFirst(Task), Queries.getRows(Task), 0, 0},
                     X);
      return;
    }
    Task -= Queries.Count;
    Run.runKeys({Keys.getBatch(Task), Keys.getHead(Task) * A.KeyHeads.Group, 0,
                 0, Keys.getFirst(Task), Keys.getRows(Task)},
                X);
  });
  return {};
}

std::span<const HostKernel> remat::runtime::getAttentionKernels() {
  static const HostKernel Kernels[] = {
      {"attention", runForward},
      {"attention_backward", runBackward},
  };
  return Kernels;
}
