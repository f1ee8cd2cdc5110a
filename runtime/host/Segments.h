//===- Segments.h - tensors that ranks exchange piece by piece --*- C++ -*-===//

#ifndef REMAT_RUNTIME_HOST_SEGMENTS_H
#define REMAT_RUNTIME_HOST_SEGMENTS_H

#include "ops/Collective.h"
#include "remat/runtime/Ranks.h"
#include <functional>
#include <memory>
#include <vector>

namespace remat::runtime {

class Context;
template <typename T> class ScratchArray;

/// Bytes that lie in runs of equal length and distance.
struct Strip {
  char *Data = nullptr;
  int64_t Runs = 1, RunBytes = 0, Distance = 0;

  /// `Bytes` bytes that lie together.
  static Strip of(char *Data, int64_t Bytes) { return {Data, 1, Bytes, Bytes}; }
  /// Piece `Part` of `Whole`, cut into `Parts` along `Dim`.
  static Strip of(const Value &Whole, int64_t Dim, int64_t Parts, int64_t Part);

  int64_t getBytes() const { return Runs * RunBytes; }
  bool isContiguous() const { return Runs == 1 || RunBytes == Distance; }
  /// Copies its bytes [First, Last) to or from where they lie together.
  void copyOut(int64_t First, int64_t Last, char *To) const;
  void copyIn(int64_t First, int64_t Last, const char *From) const;

private:
  template <typename Function>
  void forRuns(int64_t First, int64_t Last, Function F) const;
};

/// One op of this rank and its group: what it gives to and takes from each
/// member, in segments, so that the scratch beside the arena is small.
class Segments {
public:
  Segments(const OpCall &Op, Context &C);
  ~Segments();

  int64_t getCount() const { return static_cast<int64_t>(Members.size()); }
  int64_t getPosition() const { return Position; }

  /// A tensor's strips by position in the group. Both ends of a strip give it
  /// the same length; a length of 0 is not exchanged. `Largest` is the longest
  /// strip that any member has.
  struct Item {
    std::vector<Strip> Out, In;
    int64_t Largest = 0;
    /// Not written to `In`, but given to this: bytes [First, Last) of all
    /// strips in the order of members, those of this rank's own piece, which is
    /// Out[getPosition()], among them.
    std::function<void(const std::vector<const char *> &From, int64_t First,
                       int64_t Last)>
        Reduce;
  };
  void add(Item New) { Items.push_back(std::move(New)); }

  /// Exchanges all items. What lies at own positions is the caller's to copy.
  Status run();

private:
  /// Bytes [First, Last) of an item's strips, and where they lie in a slot.
  struct Segment {
    const Item *Of;
    int64_t First, Last, At;
  };
  using Round = std::vector<Segment>;

  std::vector<Round> makeRounds() const;
  Status runRound(const Round &Now);
  char *getSlot(const std::unique_ptr<ScratchArray<char>> &Of, int64_t Place);
  void addSends(const Round &Now, int64_t Place);
  void addReceives(const Round &Now, int64_t Place);
  void finish(const Round &Now);

  Context &C;
  std::vector<int64_t> Members; ///< ranks
  int64_t Position = 0;
  int64_t SlotBytes = 0; ///< of a segment of all items of a round, each way
  std::vector<Item> Items;
  std::unique_ptr<ScratchArray<char>> OutSlots, InSlots; ///< where needed
  std::vector<Send> Sends;
  std::vector<Receive> Receives;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_HOST_SEGMENTS_H
