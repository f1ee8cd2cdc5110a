//===- Rows.cpp - Offsets of many buffers by rows and gravity -------------===//
#include "Packing/Pack.h"

#include <algorithm>
#include <bit>
#include <set>

using namespace remat::solver;

namespace {

/// The tops of what is placed, per moment: the largest of a range, and setting
/// a range, in O(log n).
class Tops {
public:
  explicit Tops(int32_t N)
      : Size(int32_t(std::bit_ceil(uint32_t(std::max(N, 1))))),
        Most(2 * size_t(Size), 0), All(2 * size_t(Size), None) {}

  int64_t most(int32_t A, int32_t B) const { return most(1, 0, Size, A, B); }
  void set(int32_t A, int32_t B, int64_t Top) { set(1, 0, Size, A, B, Top); }

private:
  static constexpr int64_t None = -1;
  int32_t Size;
  std::vector<int64_t> Most;
  std::vector<int64_t> All; // the top of the whole range, if it has one

  int64_t most(size_t K, int32_t L, int32_t R, int32_t A, int32_t B) const {
    if (All[K] != None || (A <= L && R <= B))
      return Most[K];
    int32_t M = L + (R - L) / 2;
    int64_t Top = 0;
    if (A < M)
      Top = most(2 * K, L, M, A, B);
    if (B > M)
      Top = std::max(Top, most(2 * K + 1, M, R, A, B));
    return Top;
  }
  void set(size_t K, int32_t L, int32_t R, int32_t A, int32_t B, int64_t Top) {
    if (A <= L && R <= B) {
      Most[K] = All[K] = Top;
      return;
    }
    if (All[K] != None) {
      for (size_t Half : {2 * K, 2 * K + 1})
        Most[Half] = All[Half] = All[K];
      All[K] = None;
    }
    int32_t M = L + (R - L) / 2;
    if (A < M)
      set(2 * K, L, M, A, B, Top);
    if (B > M)
      set(2 * K + 1, M, R, A, B, Top);
    Most[K] = std::max(Most[2 * K], Most[2 * K + 1]);
  }
};

/// Free rectangles of rows, found by time in O(log n).
class Gaps {
public:
  struct Gap {
    int32_t End;
    int64_t Height, Offset;
    bool operator<(const Gap &G) const {
      if (End != G.End)
        return End < G.End;
      return Height != G.Height ? Height < G.Height : Offset < G.Offset;
    }
  };

  explicit Gaps(int32_t N)
      : Size(int32_t(std::bit_ceil(uint32_t(std::max(N, 1))))), At(Size),
        Latest(2 * size_t(Size), -1) {}

  void add(int32_t Start, const Gap &G) {
    if (Start >= G.End)
      return;
    At[Start].insert(G);
    update(Start);
  }

  /// Takes out the gap that starts last, of those the one that ends first, that
  /// holds the range; its start is -1 when there is none.
  std::pair<int32_t, Gap> take(int32_t From, int32_t To) {
    int32_t Start = last(From, To);
    if (Start < 0)
      return {-1, Gap()};
    auto It = At[Start].lower_bound({To, 0, 0});
    Gap G = *It;
    At[Start].erase(It);
    update(Start);
    return {Start, G};
  }

private:
  int32_t Size;
  std::vector<std::multiset<Gap>> At; // by start
  std::vector<int32_t> Latest;        // a tree over starts: the last end

  void update(int32_t Start) {
    size_t K = size_t(Start) + Size;
    Latest[K] = At[Start].empty() ? -1 : At[Start].rbegin()->End;
    while (K /= 2)
      Latest[K] = std::max(Latest[2 * K], Latest[2 * K + 1]);
  }
  int32_t last(int32_t From, int32_t To) const {
    size_t K = size_t(From) + Size;
    if (Latest[K] >= To)
      return From;
    for (; K > 1; K /= 2) {
      if (K % 2 == 0 || Latest[K - 1] < To)
        continue;
      for (--K; K < size_t(Size);)
        K = 2 * K + (Latest[2 * K + 1] >= To);
      return int32_t(K) - Size;
    }
    return -1;
  }
};

/// A buffer with its lifetime as ranks of moments.
struct Piece {
  int32_t From, To;
  int32_t Buffer;
  int32_t Class; // 0 has the largest sizes
  int64_t Size, Offset;
};

} // namespace

/// Sizes fall into classes whose limits fall by the factor.
static std::vector<int64_t> classify(std::vector<Piece> &Pieces,
                                     double Factor) {
  std::sort(Pieces.begin(), Pieces.end(), [](const Piece &A, const Piece &B) {
    return A.Size != B.Size ? A.Size > B.Size : A.Buffer < B.Buffer;
  });
  std::vector<int64_t> Largest;
  for (Piece &P : Pieces) {
    if (Largest.empty() || double(P.Size) < double(Largest.back()) * Factor)
      Largest.push_back(P.Size);
    P.Class = int32_t(Largest.size()) - 1;
  }
  std::sort(Pieces.begin(), Pieces.end(), [](const Piece &A, const Piece &B) {
    if (A.Class != B.Class)
      return A.Class < B.Class;
    if (A.From != B.From)
      return A.From < B.From;
    return A.To != B.To ? A.To > B.To : A.Buffer < B.Buffer;
  });
  return Largest;
}

Placement remat::solver::placeInRows(const std::vector<Buffer> &Buffers,
                                     double Factor, bool Backward) {
  std::vector<int64_t> Times = timesOf(Buffers);
  auto RankOf = [&](int64_t T) {
    auto It = std::lower_bound(Times.begin(), Times.end(), T);
    return int32_t(Backward ? Times.end() - 1 - It : It - Times.begin());
  };
  Placement R;
  R.Offsets.assign(Buffers.size(), 0);
  int32_t NumTimes = int32_t(Times.size());
  Tops Placed(NumTimes);
  std::vector<Piece> Pieces, Fixed;
  for (size_t I = 0; I < Buffers.size(); ++I) {
    const Buffer &B = Buffers[I];
    Piece P{RankOf(B.Lower), RankOf(B.Upper), int32_t(I), 0, B.Size, 0};
    if (Backward)
      std::swap(P.From, P.To);
    R.Offsets[I] = P.Offset = B.Fixed.value_or(0);
    if (B.Size > 0)
      (B.Fixed ? Fixed : Pieces).push_back(P);
    R.Height = std::max(R.Height, B.Fixed ? *B.Fixed + B.Size : 0);
  }
  // Everything else lies above what is fixed. The highest is set last.
  std::sort(Fixed.begin(), Fixed.end(), [](const Piece &A, const Piece &B) {
    int64_t X = A.Offset + A.Size, Y = B.Offset + B.Size;
    return X != Y ? X < Y : A.Buffer < B.Buffer;
  });
  for (const Piece &P : Fixed)
    Placed.set(P.From, P.To, P.Offset + P.Size);

  // Rows as high as the largest of a class, filled from left to right, the
  // largest class first. A gap of a higher row holds several lower ones.
  std::vector<int64_t> Largest = classify(Pieces, Factor);
  Gaps Free(NumTimes);
  int64_t Top = 0;
  for (Piece &P : Pieces) {
    int64_t Height = Largest[P.Class];
    auto [Start, G] = Free.take(P.From, P.To);
    if (Start < 0) {
      Start = 0;
      G = {NumTimes - 1, Height, Top};
      Top += Height;
    } else if (G.Height >= 2 * Height) {
      Free.add(Start, {G.End, G.Height - Height, G.Offset + Height});
      G.Height = Height;
    }
    P.Offset = G.Offset;
    Free.add(Start, {P.From, G.Height, G.Offset});
    Free.add(P.To, G);
  }

  // Then each falls as far as it can, the lowest first.
  std::sort(Pieces.begin(), Pieces.end(), [](const Piece &A, const Piece &B) {
    return A.Offset != B.Offset ? A.Offset < B.Offset : A.Buffer < B.Buffer;
  });
  for (const Piece &P : Pieces) {
    int64_t Offset =
        alignUp(Placed.most(P.From, P.To), Buffers[P.Buffer].Alignment);
    Placed.set(P.From, P.To, Offset + P.Size);
    R.Offsets[P.Buffer] = Offset;
    R.Height = std::max(R.Height, Offset + P.Size);
  }
  return R;
}
