//===- Parts.h - what of a tensor one rank holds ----------------*- C++ -*-===//
//
// A tensor that several ranks hold together is cut, once or several times
// (Program.fbs). Where a part lies in the whole is an increasing map of element
// numbers, whatever the cuts: the n-th element of a part comes before its
// n+1-st in the whole, too. So what a part has of a run of the whole is one run
// of the part, and parts are joined and cut anew run by run, in bounded memory.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_PARTS_H
#define REMAT_RUNTIME_PARTS_H

#include "remat/runtime/Program.h"
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace remat::runtime {

/// The part of a tensor of shape `Whole` that a rank holds.
class Part {
public:
  /// The cuts are verified (Program::load) or checked with `checkCuts`.
  Part(std::span<const int64_t> Whole, std::span<const Cut> Cuts,
       uint32_t Rank);
  /// Of an argument; all of it where it is not cut.
  static Part of(const Program &P, const Argument &A, uint32_t Rank);

  int64_t getNumWhole() const { return NumWhole; } ///< elements of the whole
  /// Elements of the part; behind those of the whole it has zeros, where the
  /// flattened whole was padded.
  int64_t getNumElements() const { return NumElements; }
  /// Whether no rank of a lower number holds the same part.
  bool isFirst() const { return IsFirst; }

  /// How many elements of the part lie before element `Whole` of the whole.
  int64_t countBefore(int64_t Whole) const;
  int64_t getNumFilled() const { return countBefore(NumWhole); }

  /// Elements that are neighbours in the part and in the whole.
  struct Run {
    int64_t Own, Whole, Count;
  };
  /// The longest run that begins with element `Own` of the part, which is not
  /// of the padding.
  Run getRun(int64_t Own) const;

  /// Calls Visit(run) for elements [First, First + Count) of the part, in
  /// order; the padding has none.
  template <typename Function>
  void forRuns(int64_t First, int64_t Count, Function Visit) const {
    int64_t End = std::min(First + Count, getNumFilled());
    for (int64_t At = First; At < End;) {
      Run Next = getRun(At);
      Next.Count = std::min(Next.Count, End - At);
      Visit(Next);
      At += Next.Count;
    }
  }

  /// Whether both have the same elements at the same places.
  bool operator==(const Part &Other) const {
    return NumWhole == Other.NumWhole && Levels == Other.Levels;
  }

private:
  /// Of each `Parts` pieces of `Inner` elements the one of number `Place`.
  struct Level {
    int64_t Parts, Place, Inner;
    bool operator==(const Level &) const = default;
  };
  std::vector<Level> Levels;
  int64_t NumWhole = 1, NumElements = 1;
  bool IsFirst = true;
};

/// Each part that ranks hold, once, by the first rank that holds it.
using AllParts = std::vector<std::pair<uint32_t, Part>>;
AllParts listParts(const Program &P, const Argument &A);

/// Puts elements [At, End) of the whole in order, of which `From` has those of
/// one part behind those of the other.
void joinElements(const AllParts &Parts, int64_t At, int64_t End,
                  uint64_t Width, const char *From, char *To);

/// Which of the global batch a rank computes: share `Number` of `Count` equal
/// ones, behind those of lower numbers.
struct DataShare {
  uint64_t Number = 0, Count = 1;
};

/// The share of a rank. Ranks that differ along the axis `tensor` only compute
/// one share together.
DataShare getDataShare(const Program &P, uint32_t Rank);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_PARTS_H
