//===- Collective.cpp - the host's ops over several ranks -----------------===//
//
// Every rank talks to every other one of its group directly. What is reduced
// is cut into as many pieces as there are ranks; rank r adds up piece r, in the
// order of ranks, ((x0 + x1) + x2) ..., and gives it to the others. That is the
// order in which gradients of micro-batches are added one after the other.
//
//===----------------------------------------------------------------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "host/Segments.h"
#include "ops/Numeric.h"
#include <cstring>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
enum class Kind { Sum, Max };
} // namespace

/// Elements that a task reduces.
static constexpr int64_t Grain = 1 << 14;

static float combine(Kind K, float A, float B) {
  return K == Kind::Sum ? A + B : maximum(A, B);
}
static int64_t combine(Kind K, int64_t A, int64_t B) {
  // Sums wrap.
  return K == Kind::Sum ? int64_t(uint64_t(A) + uint64_t(B)) : std::max(A, B);
}

/// To[i] = From[0][i] + From[1][i] + ..., rounded once; `To` may be one of
/// them.
template <typename Computed, typename Load, typename Store>
static void reduceRun(Kind K, const std::vector<const char *> &From,
                      int64_t First, int64_t Last, Load LoadRun,
                      Store StoreRun) {
  constexpr int64_t Block = 512;
  Computed Sum[Block], Next[Block];
  for (; First < Last; First += Block) {
    int64_t Count = std::min(Block, Last - First);
    LoadRun(From[0], First, Count, Sum);
    for (size_t Source = 1; Source < From.size(); ++Source) {
      LoadRun(From[Source], First, Count, Next);
      for (int64_t I = 0; I < Count; ++I)
        Sum[I] = combine(K, Sum[I], Next[I]);
    }
    StoreRun(First, Count, Sum);
  }
}

static void reduce(Context &C, DType Type, Kind K,
                   const std::vector<const char *> &From, char *To,
                   int64_t Count) {
  C.forBlocks(Count, Grain, [&](int64_t First, int64_t Last) {
    if (isFloat(Type))
      return reduceRun<float>(
          K, From, First, Last,
          [&](const char *Data, int64_t At, int64_t Run, float *Out) {
            loadFloats(Type, Data, At, Run, Out);
          },
          [&](int64_t At, int64_t Run, const float *In) {
            storeFloats(Type, To, At, Run, In);
          });
    reduceRun<int64_t>(
        K, From, First, Last,
        [&](const char *Data, int64_t At, int64_t Run, int64_t *Out) {
          for (int64_t I = 0; I < Run; ++I)
            Out[I] = loadInteger(Type, Data, At + I);
        },
        [&](int64_t At, int64_t Run, const int64_t *In) {
          for (int64_t I = 0; I < Run; ++I)
            if (Type == DType::I32)
              reinterpret_cast<int32_t *>(To)[At + I] = int32_t(In[I]);
            else
              reinterpret_cast<int64_t *>(To)[At + I] = In[I];
        });
  });
}

/// What an item does with its pieces: their sum is the contiguous `To`.
static auto makeReduce(const OpCall &Op, Context &C, DType Type, char *To) {
  Kind K = Op.Attributes->getText("kind") == "max" ? Kind::Max : Kind::Sum;
  auto Width = static_cast<int64_t>(getByteWidth(Type));
  return [=, &C](const std::vector<const char *> &From, int64_t First,
                 int64_t Last) {
    reduce(C, Type, K, From, To + First, (Last - First) / Width);
  };
}

/// Piece `Part` of `V`, flattened and cut into `Parts`: the last ones may be
/// shorter, or empty.
static Strip getPiece(const Value &V, int64_t Parts, int64_t Part) {
  auto Width = static_cast<int64_t>(getByteWidth(V.Type));
  int64_t Each = (V.NumElements + Parts - 1) / Parts;
  int64_t First = std::min(V.NumElements, Part * Each);
  int64_t Last = std::min(V.NumElements, First + Each);
  return Strip::of(V.Data + First * Width, (Last - First) * Width);
}

static Status runAllReduce(const OpCall &Op, Context &C) {
  Segments Sum(Op, C), Gather(Op, C);
  int64_t Parts = Sum.getCount(), Own = Sum.getPosition();
  for (size_t I = 0; I < Op.Operands.size(); ++I) {
    const Value &X = Op.Operands[I], &Y = Op.Results[I];
    Segments::Item Pieces, Sums;
    for (int64_t Part = 0; Part < Parts; ++Part) {
      Pieces.Out.push_back(getPiece(X, Parts, Part));
      Pieces.In.push_back(getPiece(X, Parts, Own)); // only its length
      Sums.Out.push_back(getPiece(Y, Parts, Own));
      Sums.In.push_back(getPiece(Y, Parts, Part));
    }
    Pieces.Largest = Sums.Largest = Pieces.Out[0].getBytes();
    Pieces.Reduce = makeReduce(Op, C, X.Type, Sums.Out[Own].Data);
    Sum.add(std::move(Pieces));
    Gather.add(std::move(Sums));
  }
  REMAT_TRY(Sum.run());
  return Gather.run();
}

static Status runReduceScatter(const OpCall &Op, Context &C) {
  Segments Sum(Op, C);
  int64_t Parts = Sum.getCount(), Dim = Op.Attributes->getInt("dim", 0);
  for (size_t I = 0; I < Op.Operands.size(); ++I) {
    const Value &X = Op.Operands[I], &Y = Op.Results[I];
    Segments::Item Pieces;
    for (int64_t Part = 0; Part < Parts; ++Part)
      Pieces.Out.push_back(Strip::of(X, Dim, Parts, Part));
    Pieces.Largest = Pieces.Out[0].getBytes();
    Pieces.In.assign(Parts, Strip::of(Y.Data, Pieces.Largest));
    Pieces.Reduce = makeReduce(Op, C, X.Type, Y.Data);
    Sum.add(std::move(Pieces));
  }
  return Sum.run();
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// Copies strips of equal length, run by run.
static void copy(const Strip &From, const Strip &To) {
  if (From.isContiguous())
    return To.copyIn(0, To.getBytes(), From.Data);
  if (To.isContiguous())
    return From.copyOut(0, From.getBytes(), To.Data);
  for (int64_t Run = 0; Run < From.Runs; ++Run)
    To.copyIn(Run * From.RunBytes, (Run + 1) * From.RunBytes,
              From.Data + Run * From.Distance);
}

static void copy(const Value &From, const Value &To) {
  if (From.Data != To.Data)
    std::memcpy(To.Data, From.Data, To.getBytes());
}

static Status runAllGather(const OpCall &Op, Context &C) {
  Segments Parts(Op, C);
  int64_t Count = Parts.getCount(), Own = Parts.getPosition();
  int64_t Dim = Op.Attributes->getInt("dim", 0);
  for (size_t I = 0; I < Op.Operands.size(); ++I) {
    const Value &X = Op.Operands[I], &Y = Op.Results[I];
    Segments::Item Of;
    Of.Largest = static_cast<int64_t>(X.getBytes());
    Of.Out.assign(Count, Strip::of(X.Data, Of.Largest));
    for (int64_t Part = 0; Part < Count; ++Part)
      Of.In.push_back(Strip::of(Y, Dim, Count, Part));
    copy(Of.Out[Own], Of.In[Own]);
    Parts.add(std::move(Of));
  }
  return Parts.run();
}

static Status runAllToAll(const OpCall &Op, Context &C) {
  Segments Parts(Op, C);
  int64_t Count = Parts.getCount(), Own = Parts.getPosition();
  Segments::Item Of;
  for (int64_t Part = 0; Part < Count; ++Part) {
    Of.Out.push_back(Strip::of(
        Op.Operands[0], Op.Attributes->getInt("split_dim", 0), Count, Part));
    Of.In.push_back(Strip::of(
        Op.Results[0], Op.Attributes->getInt("concat_dim", 0), Count, Part));
  }
  Of.Largest = Of.Out[0].getBytes();
  copy(Of.Out[Own], Of.In[Own]);
  Parts.add(std::move(Of));
  return Parts.run();
}

static Status runBroadcast(const OpCall &Op, Context &C) {
  Segments Parts(Op, C);
  const Value &X = Op.Operands[0], &Y = Op.Results[0];
  int64_t Root = Op.Attributes->getInt("root", 0);
  Segments::Item Of;
  Of.Largest = static_cast<int64_t>(Y.getBytes());
  Of.Out.resize(Parts.getCount());
  Of.In.resize(Parts.getCount());
  if (Parts.getPosition() == Root) {
    std::ranges::fill(Of.Out, Strip::of(X.Data, Of.Largest));
    copy(X, Y);
  } else {
    Of.In[Root] = Strip::of(Y.Data, Of.Largest);
  }
  Parts.add(std::move(Of));
  return Parts.run();
}

/// A rank that no pair sends to gets zeros.
static Status runCollectivePermute(const OpCall &Op, Context &C) {
  Segments Parts(Op, C);
  const Value &X = Op.Operands[0], &Y = Op.Results[0];
  int64_t Own = Parts.getPosition();
  Segments::Item Of;
  Of.Largest = static_cast<int64_t>(Y.getBytes());
  Of.Out.resize(Parts.getCount());
  Of.In.resize(Parts.getCount());
  std::span<const int64_t> Pairs = Op.Attributes->getInts("pairs");
  bool IsTarget = false;
  for (size_t I = 0; I < Pairs.size(); I += 2) {
    int64_t Source = Pairs[I], Target = Pairs[I + 1];
    if (Source == Own)
      Of.Out[Target] = Strip::of(X.Data, Of.Largest);
    if (Target == Own)
      Of.In[Source] = Strip::of(Y.Data, Of.Largest);
    if (Source == Own && Target == Own)
      copy(X, Y);
    IsTarget |= Target == Own;
  }
  if (!IsTarget)
    std::memset(Y.Data, 0, Y.getBytes());
  Parts.add(std::move(Of));
  return Parts.run();
}

//===----------------------------------------------------------------------===//
// Where this rank is
//===----------------------------------------------------------------------===//

static int64_t getOwnPosition(const OpCall &Op, Context &C) {
  return getPosition(Op.Attributes->getInts("group"),
                     C.getRanks() ? C.getRanks()->getRank() : 0);
}

static Status runRankPart(const OpCall &Op, Context &C) {
  const Value &X = Op.Operands[0], &Y = Op.Results[0];
  int64_t Parts = countRanks(Op.Attributes->getInts("group"));
  copy(Strip::of(X, Op.Attributes->getInt("dim", 0), Parts,
                 getOwnPosition(Op, C)),
       Strip::of(Y.Data, static_cast<int64_t>(Y.getBytes())));
  return {};
}

static Status runRankIndex(const OpCall &Op, Context &C) {
  *Op.Results[0].as<int64_t>() = getOwnPosition(Op, C);
  return {};
}

std::span<const HostKernel> remat::runtime::getCollectiveKernels() {
  static const HostKernel Kernels[] = {
      {"all_reduce", runAllReduce},
      {"reduce_scatter", runReduceScatter},
      {"all_gather", runAllGather},
      {"all_to_all", runAllToAll},
      {"collective_broadcast", runBroadcast},
      {"collective_permute", runCollectivePermute},
      {"rank_part", runRankPart},
      {"rank_index", runRankIndex},
  };
  return Kernels;
}
