//===- Attention.cpp - own attention, forward and backward ----------------===//
//
// For f32, masks, dropout, or where cuDNN is absent. Tiles of the score matrix
// live in shared memory and are never written (FlashAttention, Dao et al.,
// 2022); arithmetic is f32. The backward makes the scores twice, once for the
// gradients of key and value and once for that of query, so that every sum has
// one order and no atomics are needed.
//
// 256 threads are a 16 x 16 grid over a tile of M = 16 R queries and M keys:
// thread (ty, tx) has rows ty + 16 a and columns tx + 16 b.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

static constexpr const char *Header = R"cuda(
  constexpr int64 T = @T@, S = @S@;
  constexpr int H = @H@, D = @D@, R = @R@, M = 16 * R, Columns = (D + 15) / 16;
  REMAT_SHARED(memory);
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  int64 tile = blockIdx.x % @TILES@, head = blockIdx.x / @TILES@, b = head / H, h = head % H;
)cuda";

static constexpr const char *ForwardSource = R"cuda(
// Attention of @B@ x @H@ heads of @D@: a tile of queries a block.
extern "C" __global__ void __launch_bounds__(256) @NAME@(
    const @E@ *q, const @E@ *k, const @E@ *v, @EXTRA@@E@ *out, float *lse) {@HEADER@
  float *tileQ = (float *)memory, *tileK = tileQ + M * (D + 1), *tileV = tileK + M * (D + 1);
  float *tileP = tileV + M * (D + 1);
  int64 first = tile * M;
  q += @QOFFSET@ + (b * T + first) * @QSTRIDE@ + h * D;
  k += @KOFFSET@ + b * S * @KSTRIDE@ + h * D;
  v += @VOFFSET@ + b * S * @KSTRIDE@ + h * D;
  loadTile<M, D, 256>(tileQ, q, @QSTRIDE@, T - first);
  float sum[R], high[R], acc[R][Columns];
#pragma unroll
  for (int a = 0; a < R; ++a) {
    sum[a] = 0.0f;
    high[a] = -infinity();
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      acc[a][j] = 0.0f;
  }
  for (int64 begin = 0; begin < S@CAUSALEND@; begin += M) {
    __syncthreads();
    loadTile<M, D, 256>(tileK, k + begin * @KSTRIDE@, @KSTRIDE@, S - begin);
    loadTile<M, D, 256>(tileV, v + begin * @KSTRIDE@, @KSTRIDE@, S - begin);
    __syncthreads();
    float score[R][R] = {};
    for (int d = 0; d < D; ++d) {
      float x[R], y[R];
#pragma unroll
      for (int a = 0; a < R; ++a) {
        x[a] = tileQ[(ty + 16 * a) * (D + 1) + d];
        y[a] = tileK[(tx + 16 * a) * (D + 1) + d];
      }
#pragma unroll
      for (int a = 0; a < R; ++a)
#pragma unroll
        for (int c = 0; c < R; ++c)
          score[a][c] += x[a] * y[c];
    }
#pragma unroll
    for (int a = 0; a < R; ++a) {
      int64 t = first + ty + 16 * a;
      float top = -infinity();
#pragma unroll
      for (int c = 0; c < R; ++c) {
        int64 s = begin + tx + 16 * c;
        score[a][c] = @SEEN@ ? score[a][c] * @SCALE@@MASKADD@ : -infinity();
        top = fmaxf(top, score[a][c]);
      }
      top = fmaxf(high[a], halfWarpMax(top));
      float shrink = top == -infinity() ? 1.0f : expf(high[a] - top), total = 0.0f;
#pragma unroll
      for (int c = 0; c < R; ++c) {
        int64 s = begin + tx + 16 * c;
        float p = score[a][c] == -infinity() ? 0.0f : expf(score[a][c] - top);
        total += p;
        tileP[(ty + 16 * a) * (M + 1) + tx + 16 * c] = p@DROPOUT@;
      }
      sum[a] = sum[a] * shrink + halfWarpSum(total);
      high[a] = top;
#pragma unroll
      for (int j = 0; j < Columns; ++j)
        acc[a][j] *= shrink;
    }
    __syncthreads();
    for (int c = 0; c < M; ++c) {
      float p[R];
#pragma unroll
      for (int a = 0; a < R; ++a)
        p[a] = tileP[(ty + 16 * a) * (M + 1) + c];
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        float value = tx + 16 * j < D ? tileV[c * (D + 1) + tx + 16 * j] : 0.0f;
#pragma unroll
        for (int a = 0; a < R; ++a)
          acc[a][j] += p[a] * value;
      }
    }
  }
#pragma unroll
  for (int a = 0; a < R; ++a) {
    int64 t = first + ty + 16 * a;
    if (t >= T)
      continue;
    float inverse = sum[a] > 0.0f ? 1.0f / sum[a] : 0.0f;
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      if (tx + 16 * j < D)
        out[((b * T + t) * H + h) * D + tx + 16 * j] = fromFloat<@E@>(acc[a][j] * inverse);
    if (tx == 0)
      lse[head * T + t] = sum[a] > 0.0f ? high[a] + logf(sum[a]) : -infinity();
  }
}
)cuda";

static constexpr const char *DeltaSource = R"cuda(
// delta[b, h, t] = sum of grad * output over the head's @D@ elements.
extern "C" __global__ void __launch_bounds__(256) @NAME@(
    const @E@ *grad, const @E@ *output, float *delta) {
  constexpr int64 T = @T@, H = @H@, D = @D@;
  int64 row = (int64)blockIdx.x * 8 + threadIdx.x / 32;
  if (row >= @ROWS@)
    return;
  float sum = 0.0f;
  for (int d = threadIdx.x % 32; d < D; d += 32)
    sum += toFloat(grad[row * D + d]) * toFloat(output[row * D + d]);
  sum = warpSum(sum);
  if (threadIdx.x % 32 == 0)
    delta[(row / (T * H) * H + row % H) * T + row / H % T] = sum;
}
)cuda";

/// The probabilities of one tile and the gradients of its scores, in the
/// backward: tileP gets the former after dropout, tileS the latter.
static constexpr const char *ScoresSource = R"cuda(
    float score[R][R] = {}, gradP[R][R] = {};
    for (int d = 0; d < D; ++d) {
      float x[R], y[R], g[R], w[R];
#pragma unroll
      for (int a = 0; a < R; ++a) {
        x[a] = tileQ[(ty + 16 * a) * (D + 1) + d];
        g[a] = tileG[(ty + 16 * a) * (D + 1) + d];
        y[a] = tileK[(tx + 16 * a) * (D + 1) + d];
        w[a] = tileV[(tx + 16 * a) * (D + 1) + d];
      }
#pragma unroll
      for (int a = 0; a < R; ++a)
#pragma unroll
        for (int c = 0; c < R; ++c) {
          score[a][c] += x[a] * y[c];
          gradP[a][c] += g[a] * w[c];
        }
    }
#pragma unroll
    for (int a = 0; a < R; ++a) {
      int64 t = first + ty + 16 * a;
      float rowLse = t < T ? lse[head * T + t] : -infinity();
      float rowDelta = t < T ? delta[head * T + t] : 0.0f;
#pragma unroll
      for (int c = 0; c < R; ++c) {
        int64 s = begin + tx + 16 * c;
        bool seen = rowLse > -infinity() && @SEEN@;
        float p = seen ? expf(score[a][c] * @SCALE@@MASKADD@ - rowLse) : 0.0f;
        float keep = 1.0f@DROPOUT@;
        int at = (ty + 16 * a) * (M + 1) + tx + 16 * c;
        tileP[at] = p * keep;
        tileS[at] = p * (gradP[a][c] * keep - rowDelta) * @SCALE@;
      }
    }
    __syncthreads();
)cuda";

static constexpr const char *BackwardPointers = R"cuda(
  float *tileQ = (float *)memory, *tileK = tileQ + M * (D + 1), *tileV = tileK + M * (D + 1);
  float *tileG = tileV + M * (D + 1), *tileP = tileG + M * (D + 1), *tileS = tileP + M * (M + 1);
  q += @QOFFSET@ + b * T * @QSTRIDE@ + h * D;
  k += @KOFFSET@ + b * S * @KSTRIDE@ + h * D;
  v += @VOFFSET@ + b * S * @KSTRIDE@ + h * D;
  grad += b * T * H * D + h * D;
)cuda";

static constexpr const char *KeySource = R"cuda(
// Gradients of key and value: a tile of keys a block.
extern "C" __global__ void __launch_bounds__(256) @NAME@(
    const @E@ *grad, const @E@ *q, const @E@ *k, const @E@ *v, const float *lse,
    const float *delta, @EXTRA@@E@ *gradK, @E@ *gradV) {@HEADER@@POINTERS@
  int64 begin = tile * M;
  loadTile<M, D, 256>(tileK, k + begin * @KSTRIDE@, @KSTRIDE@, S - begin);
  loadTile<M, D, 256>(tileV, v + begin * @KSTRIDE@, @KSTRIDE@, S - begin);
  float accK[R][Columns] = {}, accV[R][Columns] = {};
  for (int64 first = @CAUSALBEGIN@; first < T; first += M) {
    __syncthreads();
    loadTile<M, D, 256>(tileQ, q + first * @QSTRIDE@, @QSTRIDE@, T - first);
    loadTile<M, D, 256>(tileG, grad + first * H * D, H * D, T - first);
    __syncthreads();@SCORES@
    for (int r = 0; r < M; ++r) {
      float p[R], s[R];
#pragma unroll
      for (int a = 0; a < R; ++a) {
        p[a] = tileP[r * (M + 1) + ty + 16 * a];
        s[a] = tileS[r * (M + 1) + ty + 16 * a];
      }
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        bool inside = tx + 16 * j < D;
        float x = inside ? tileQ[r * (D + 1) + tx + 16 * j] : 0.0f;
        float g = inside ? tileG[r * (D + 1) + tx + 16 * j] : 0.0f;
#pragma unroll
        for (int a = 0; a < R; ++a) {
          accV[a][j] += p[a] * g;
          accK[a][j] += s[a] * x;
        }
      }
    }
  }
#pragma unroll
  for (int a = 0; a < R; ++a) {
    int64 s = begin + ty + 16 * a;
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      if (s < S && tx + 16 * j < D) {
        int64 at = (b * S + s) * @KSTRIDE@ + h * D + tx + 16 * j;
        gradK[@KOFFSET@ + at] = fromFloat<@E@>(accK[a][j]);
        gradV[@VOFFSET@ + at] = fromFloat<@E@>(accV[a][j]);
      }
  }
}
)cuda";

static constexpr const char *QuerySource = R"cuda(
// Gradient of query: a tile of queries a block.
extern "C" __global__ void __launch_bounds__(256) @NAME@(
    const @E@ *grad, const @E@ *q, const @E@ *k, const @E@ *v, const float *lse,
    const float *delta, @EXTRA@@E@ *gradQ) {@HEADER@@POINTERS@
  int64 first = tile * M;
  loadTile<M, D, 256>(tileQ, q + first * @QSTRIDE@, @QSTRIDE@, T - first);
  loadTile<M, D, 256>(tileG, grad + first * H * D, H * D, T - first);
  float acc[R][Columns] = {};
  for (int64 begin = 0; begin < S@CAUSALEND@; begin += M) {
    __syncthreads();
    loadTile<M, D, 256>(tileK, k + begin * @KSTRIDE@, @KSTRIDE@, S - begin);
    loadTile<M, D, 256>(tileV, v + begin * @KSTRIDE@, @KSTRIDE@, S - begin);
    __syncthreads();@SCORES@
    for (int c = 0; c < M; ++c) {
      float s[R];
#pragma unroll
      for (int a = 0; a < R; ++a)
        s[a] = tileS[(ty + 16 * a) * (M + 1) + c];
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        float x = tx + 16 * j < D ? tileK[c * (D + 1) + tx + 16 * j] : 0.0f;
#pragma unroll
        for (int a = 0; a < R; ++a)
          acc[a][j] += s[a] * x;
      }
    }
  }
#pragma unroll
  for (int a = 0; a < R; ++a) {
    int64 t = first + ty + 16 * a;
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      if (t < T && tx + 16 * j < D)
        gradQ[@QOFFSET@ + (b * T + t) * @QSTRIDE@ + h * D + tx + 16 * j] = fromFloat<@E@>(acc[a][j]);
  }
}
)cuda";

namespace {
/// What the forward and the backward operation have in common.
struct Problem {
  int64_t Batch, Queries, Keys, Heads, Width;
  bool IsPacked, IsCausal;
  double Scale, DropoutP;
  int64_t Id;
  Value Mask;
  bool IsRandom;
  unsigned FirstQkv, MaskIndex, SeedIndex; ///< operand numbers
  std::string Type;
};
} // namespace

template <typename OpT> static Problem describe(OpT Op, unsigned FirstQkv) {
  Problem P;
  auto Qkv = Op.getQkv();
  RankedTensorType Query = getType(Qkv[0]);
  P.IsPacked = Qkv.size() == 1;
  P.Batch = Query.getDimSize(0);
  P.Queries = Query.getDimSize(1);
  P.Keys = P.IsPacked ? P.Queries : getType(Qkv[1]).getDimSize(1);
  P.Heads = Query.getDimSize(P.IsPacked ? 3 : 2);
  P.Width = Query.getShape().back();
  P.IsCausal = Op.getCausal();
  P.Scale = Op.getScale() ? Op.getScale()->convertToDouble()
                          : 1.0 / std::sqrt(static_cast<double>(P.Width));
  P.DropoutP = Op.getDropoutP().convertToDouble();
  P.Id = Op.getId();
  P.Mask = Op.getMask();
  P.IsRandom = P.DropoutP > 0 && Op.getSeed();
  P.FirstQkv = FirstQkv;
  P.MaskIndex = P.Mask ? Op.getMaskMutable()[0].getOperandNumber() : 0;
  P.SeedIndex = P.IsRandom ? Op.getSeedMutable()[0].getOperandNumber() : 0;
  P.Type = getName(Qkv[0]);
  return P;
}

/// The mask's element for (b, h, t, s), whose size-1 dimensions repeat.
static std::string printMaskElement(Value Mask) {
  llvm::ArrayRef<int64_t> Shape = getType(Mask).getShape();
  constexpr llvm::StringLiteral Indices[] = {"b", "h", "t", "s"};
  std::string Text = "mask[0";
  int64_t Stride = 1;
  for (size_t Dim = Shape.size(); Dim-- > 0;) {
    if (Shape[Dim] > 1)
      Text += (" + " + Indices[4 - Shape.size() + Dim] + " * " +
               std::to_string(Stride))
                  .str();
    Stride *= Shape[Dim];
  }
  return Text + "]";
}

/// R, the rows and columns a thread has of a tile: the most for which `Tiles`
/// tiles of rows and `Squares` of scores fit in the shared memory that every
/// supported GPU has (99 KiB a block); 0 if none does.
static int64_t getTileRows(int64_t Width, int64_t Tiles, int64_t Squares,
                           int64_t &Bytes) {
  for (int64_t R : {4, 2, 1}) {
    int64_t M = 16 * R;
    Bytes = (Tiles * M * (Width + 1) + Squares * M * (M + 1)) * 4;
    if (Bytes <= 99 * 1024)
      return R;
  }
  return 0;
}

bool remat::cuda::hasAttentionKernels(int64_t Width) {
  int64_t Bytes;
  return getTileRows(Width, 4, 2, Bytes) > 0;
}

int64_t remat::cuda::getWidestAttention() {
  int64_t Width = 1;
  while (hasAttentionKernels(Width + 1))
    ++Width;
  return Width;
}

static std::string replaceAll(std::string Text, llvm::StringRef Key,
                              llvm::StringRef With) {
  for (size_t At = Text.find(Key); At != std::string::npos;
       At = Text.find(Key, At + With.size()))
    Text.replace(At, Key.size(), With);
  return Text;
}

static std::string assemble(std::string Source) {
  Source = replaceAll(Source, "@HEADER@", Header);
  Source = replaceAll(Source, "@POINTERS@", BackwardPointers);
  return replaceAll(Source, "@SCORES@", ScoresSource);
}

/// Fills in what all kernels of attention share. `Tiled` is how many rows the
/// blocks share out: queries or keys.
static void setProblem(Writer &W, const Problem &P, int64_t Tiled,
                       int64_t Tiles, int64_t Squares) {
  int64_t Bytes = 0;
  int64_t R = getTileRows(P.Width, Tiles, Squares, Bytes);
  int64_t Blocks = llvm::divideCeil(Tiled, 16 * R);
  int64_t Head = P.Heads * P.Width;
  W.set("T", P.Queries).set("S", P.Keys).set("H", P.Heads).set("D", P.Width);
  W.set("B", P.Batch).set("R", R).set("TILES", Blocks).set("E", P.Type);
  W.set("QSTRIDE", P.IsPacked ? 3 * Head : Head);
  W.set("KSTRIDE", P.IsPacked ? 3 * Head : Head).set("QOFFSET", int64_t(0));
  W.set("KOFFSET", P.IsPacked ? Head : 0);
  W.set("VOFFSET", P.IsPacked ? 2 * Head : 0);
  W.set("SCALE", printFloat(P.Scale));

  std::string Seen = "t < T && s < S";
  if (P.IsCausal)
    Seen += " && s <= t";
  bool IsBool = P.Mask && getType(P.Mask).getElementType().isInteger(1);
  if (IsBool)
    Seen += " && " + printMaskElement(P.Mask);
  W.set("SEEN", "(" + Seen + ")");
  W.set("MASKADD", P.Mask && !IsBool
                       ? " + toFloat(" + printMaskElement(P.Mask) + ")"
                       : "");
  W.set("CAUSALEND", P.IsCausal ? " && begin < first + M" : "");
  W.set("CAUSALBEGIN", P.IsCausal ? "begin" : "0");
  std::string Extra;
  if (P.Mask)
    Extra += "const " + getName(P.Mask) + " *mask, ";
  if (P.IsRandom)
    Extra += "const int64 *seed, const int64 *step, int64 id, ";
  W.set("EXTRA", Extra);
  W.set("DROPOUT", !P.IsRandom
                       ? ""
                       : " * (randomUniform(*seed, id, *step, "
                         "(head * T + t) * S + s) >= " +
                             printFloat(P.DropoutP) + " ? " +
                             printFloat(1.0 / (1.0 - P.DropoutP)) + " : 0.0f)");
  W.block(256).grid(Blocks * P.Batch * P.Heads).shared(Bytes);
}

static void passQkv(Writer &W, const Problem &P) {
  for (unsigned Index = 0; Index < 3; ++Index)
    W.operand(P.FirstQkv + (P.IsPacked ? 0 : Index));
}
static void passExtra(Writer &W, const Problem &P) {
  if (P.Mask)
    W.operand(P.MaskIndex);
  if (P.IsRandom)
    // The id is an argument, so that all layers share one kernel.
    W.operand(P.SeedIndex).operand(P.SeedIndex + 1).integer(P.Id);
}

void remat::cuda::addAttention(AttentionOp Op, Launches &Out) {
  Problem P = describe(Op, 0);
  Writer W("attention", assemble(ForwardSource));
  setProblem(W, P, P.Queries, 3, 1);
  passQkv(W, P);
  passExtra(W, P);
  W.result(0).result(1).finish(Out);
}

void remat::cuda::addAttentionBackward(AttentionBackwardOp Op, Launches &Out) {
  Problem P = describe(Op, 1);
  unsigned Output = P.FirstQkv + (P.IsPacked ? 1 : 3), Lse = Output + 1;
  int64_t Rows = P.Batch * P.Queries * P.Heads;
  Writer Delta("attention_delta", DeltaSource);
  Delta.set("E", P.Type).set("T", P.Queries).set("H", P.Heads);
  Delta.set("D", P.Width).set("ROWS", Rows);
  Delta.block(256).grid(llvm::divideCeil(Rows, 8));
  Delta.operand(0).operand(Output).workspace().finish(Out);

  auto Pass = [&](Writer &W, int64_t Tiled) {
    setProblem(W, P, Tiled, 4, 2);
    W.operand(0);
    passQkv(W, P);
    W.operand(Lse).workspace();
    passExtra(W, P);
  };
  Writer Keys("attention_backward_key_value", assemble(KeySource));
  Pass(Keys, P.Keys);
  Keys.result(P.IsPacked ? 0 : 1).result(P.IsPacked ? 0 : 2).finish(Out);
  Writer Queries("attention_backward_query", assemble(QuerySource));
  Pass(Queries, P.Queries);
  Queries.result(0).finish(Out);
}
