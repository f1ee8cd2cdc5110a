//===- Schedule.h - A plan that can be changed in place -------------------===//
#ifndef REMAT_LIB_SOLVER_SCHEDULE_H
#define REMAT_LIB_SOLVER_SCHEDULE_H

#include "Model/Model.h"
#include "Search/Timeline.h"

#include <memory_resource>

namespace remat::solver {

/// A sequence of op instances with the lifetime of every value instance, kept
/// right under insertion, removal and moving of a node. A change costs
/// O(degree * block). Any sequence in which each read has an instance before
/// it and `Op::After` is kept is valid; only its peak may exceed the limit.
///
/// Bytes are those of `verify`, or more where an output would pass on a place
/// that it took from a resident value.
class Schedule {
public:
  /// There are tens of thousands of these lists, most with an entry or two, and
  /// they end with the schedule: their memory is taken and given back at once.
  using List = std::pmr::vector<int32_t>;
  struct Node {
    explicit Node(std::pmr::memory_resource *From) : Reads(From), Makes(From) {}
    OpId Op = None;
    int32_t Choice = 0;
    bool Alive = false;
    /// Not the only instance of its op.
    bool Extra = false;
    /// An output of the op may take an input over.
    bool Takes = false;
    /// Value instances, one an input and one an output of the op.
    List Reads, Makes;
  };
  struct Instance {
    ValueId Value = None;
    int32_t Node = -1;
    /// The instance that owns the bytes: itself, or the root of an alias.
    int32_t Storage = -1;
    /// Of a storage: where it ends and what it counts now.
    int32_t End = -1;
    int64_t Own = 0;
    /// Saved at End, because an output takes the storage over there.
    int64_t Credit = 0;
    bool Counted = false;
    /// Nothing makes the value: it is there from the start.
    bool Given = false;
  };

  Schedule(const Model &M, const Plan &S, int64_t Limit);

  const Model &model() const { return M; }
  const Timeline &timeline() const { return Time; }
  void setLimit(int64_t Limit) { Time.setLimit(Limit); }
  double time() const { return Seconds; }
  /// What `Keep::Prefer` adds to the time in the eyes of the search.
  double cost() const { return Seconds + Surcharge; }
  const Node &node(int32_t N) const { return Nodes[N]; }
  const Instance &instance(int32_t I) const { return Instances[I]; }
  /// Nodes that read the instance, in order; one entry an input.
  const List &readersOf(int32_t I) const { return Readers[I]; }
  /// Of a storage: alias instances in it.
  const List &aliasesOf(int32_t S) const { return Aliases[S]; }
  const List &instancesOf(ValueId V) const { return ByValue[V]; }
  int32_t numInstances() const { return int32_t(Instances.size()); }
  /// Nodes that stand beyond the first instance of their op.
  const std::vector<int32_t> &extras() const { return Extras; }
  /// Reads all results; always last.
  int32_t endNode() const { return Last; }
  int32_t startNode() const { return First; }
  /// The instance of the value that a node standing before `Next` would read;
  /// -1 when there is none.
  int32_t newestBefore(ValueId V, int32_t Next) const {
    const List &All = ByValue[V];
    uint32_t Key = Time.key(Next);
    for (size_t K = All.size(); K > 0; --K)
      if (Time.key(Instances[All[K - 1]].Node) < Key)
        return All[K - 1];
    return -1;
  }
  bool nodeReads(int32_t N, int32_t Storage) const;
  /// Is the instance a storage that takes bytes of its own?
  bool ownsBytes(int32_t I) const {
    const Instance &X = Instances[I];
    return X.Counted && X.Own > 0 && X.Storage == I;
  }
  /// Such a one, and it stands from before the node of this key to after it?
  bool ownsAcross(int32_t I, uint32_t Key) const {
    return ownsBytes(I) && Time.key(Instances[I].Node) < Key &&
           Time.key(Instances[I].End) > Key;
  }
  /// Bytes saved at a node that reads the storage if it ended there, because an
  /// output takes it over.
  int64_t creditAt(int32_t Storage, int32_t End) const;

  /// Runs the op before the node `Next`, which must not be the start. Every
  /// input must have an instance there. Returns the new node.
  int32_t insert(OpId O, int32_t Choice, int32_t Next);
  /// Removes an instance that is not the first of its op.
  void remove(int32_t N);
  /// True when a run of the op before `Next` keeps to `Op::After`. Its own runs
  /// that stand there do not matter.
  bool mayRun(OpId O, int32_t Next) const;
  /// The first run of an op that others name, or that names others, in
  /// `Op::After`; -1 when there is none.
  int32_t firstRun(OpId O) const {
    return Linked[O].empty() ? -1 : Linked[O].front();
  }
  /// All runs of such an op, in order.
  const List &runsOf(OpId O) const { return Linked[O]; }
  /// True when the node may stand before `Next` with the same readers.
  bool canMove(int32_t N, int32_t Next) const;
  void move(int32_t N, int32_t Next);
  void setChoice(int32_t N, int32_t Choice);
  /// True when another instance of the op stands before the node.
  bool removable(int32_t N) const;
  /// True when a node's outputs are read by none.
  bool unread(int32_t N) const;

  Plan plan() const;

private:
  /// Of the lists: gives nothing back before the end.
  std::pmr::monotonic_buffer_resource Memory;
  const Model &M;
  Timeline Time;
  double Seconds = 0, Surcharge = 0;
  int32_t First = -1, Last = -1;
  std::vector<Node> Nodes;
  std::vector<Instance> Instances;
  /// Per instance, apart from what is asked of instances more often.
  std::pmr::vector<List> Readers, Aliases;
  std::vector<int32_t> FreeNodes, FreeInstances;
  /// Per value: its instances in order.
  std::pmr::vector<List> ByValue;
  /// Per op that stands in `Op::After` or has it: its nodes in order.
  std::pmr::vector<List> Linked;
  std::vector<int32_t> Runs, Extras, ExtraSlot;
  std::vector<int32_t> Touched;
  /// Per instance. Bytes, not bits: nothing is written more often.
  std::vector<uint8_t> IsTouched;
  /// Storages that `bytesBetween` has looked at, and aliases to be bound.
  std::vector<int32_t> Ended;
  std::vector<std::pair<int32_t, int32_t>> Bound;
  /// Readers of an instance that is removed.
  std::vector<int32_t> Moved;
  std::vector<ValueId> Results;

  /// A node with its readings and what it makes; what that changes is counted
  /// by `settle`.
  int32_t place(OpId O, int32_t Choice, int32_t Next, int64_t Bytes);
  int32_t newNode(OpId O, int32_t Choice);
  int32_t newInstance(ValueId V, int32_t N);
  void freeNode(int32_t N);
  bool isLinked(OpId O) const {
    return M.AnyAfter && (!M.Enders[O].empty() || !M.P.Ops[O].After.empty());
  }
  void link(int32_t N);
  void unlink(int32_t N);
  std::span<const ValueId> inputsOf(int32_t N) const;
  void touch(int32_t S) {
    if (IsTouched[S])
      return;
    IsTouched[S] = 1;
    Touched.push_back(S);
  }
  void settle();
  void addRead(int32_t I, int32_t N);
  void dropRead(int32_t I, int32_t N);
  void bindStorage(int32_t I, int32_t N);
  void leaveStorage(int32_t I);
  int64_t bytesBetween(int32_t Prev);
  int32_t endOf(int32_t S) const;
  int32_t takerAt(int32_t S, int32_t End) const;
  int64_t ownOf(int32_t S) const;
  void count(int32_t S);
  void uncount(int32_t S);
  void account(int32_t N, double Sign);
  void setExtra(int32_t N, bool Extra);
  void refreshExtras(OpId O);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_SCHEDULE_H
