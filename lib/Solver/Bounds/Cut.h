//===- Cut.h - The parametric min-cut at one op ---------------------------===//
#ifndef REMAT_LIB_SOLVER_CUT_H
#define REMAT_LIB_SOLVER_CUT_H

#include "Bounds/Flow.h"
#include "Model/Model.h"

namespace remat::solver {

/// A Lagrangian bound (Geoffrion, 1974): a price on the bytes above the budget
/// in place of the budget itself. The same price gives a bound within any other
/// budget, above which so many fewer bytes are.
struct PricedBound {
  int64_t Budget = 0;
  /// Every plan within the budget takes so much longer than the base time.
  double Extra = 0;
  /// Time a byte, not negative.
  double Price = 0;
  /// A bound on the extra time within another budget; negative where it says
  /// nothing.
  double at(int64_t Other) const {
    return Extra - Price * (double(Other) - double(Budget));
  }
};

/// A step of a plan, and what is known of it in every order.
struct Moment {
  /// The op that runs; `None` where one of several does.
  OpId At = None;
  /// Per op, of `MomentCut`'s: has it run for certain by then (`At` itself
  /// counts), certainly not, or neither.
  std::vector<int8_t> Side;
  /// Classes that stand there besides what `At` itself needs.
  std::vector<ValueId> Beside;
  /// Bytes there whatever is kept: residents, operands, workspace, `Beside`.
  int64_t Fixed = 0;

  /// The first run of an op. Ops of `Later` are known not to have run then.
  static Moment firstRun(const Model &M, OpId At,
                         const std::vector<OpId> &Later = {});
  /// The first run of any of these ops: none of them has run.
  static Moment firstOf(const Model &M, const std::vector<OpId> &Ops);
};

/// Work is counted in edges looked at. To build a moment's network counts as so
/// many for each op.
inline constexpr int64_t WorkPerOp = 20;

/// Where `Model::sizeFactor` is above 1, all cuts of one network end with so
/// much work. Long chains need many rounds for a cut. A flow is a lower bound
/// of the cut wherever it ends.
inline constexpr int64_t WorkOfNetwork = 60'000'000;

/// The part of a network that belongs to a moment. Source is the need of what
/// is read after it; a class node's edge to its op's node is cut where the
/// class is kept, and what is reached beyond runs again.
struct MomentNetwork {
  struct Item {
    ValueId Class;
    int32_t Node, OpNode, Edge;
    /// Of the class, if it does not stand at the moment in any case.
    int64_t Bytes;
  };
  struct Run {
    OpId Op;
    int32_t Node;
    /// It ran before the moment: to run it again costs its time. An op that may
    /// not have run yet runs for the first time, at no extra cost, but it needs
    /// its inputs like any other.
    bool Extra;
  };
  std::vector<Item> Items;
  std::vector<Run> Runs;

  /// Adds it to a network, with no capacities on items and no edges from runs.
  MomentNetwork(const Model &M, const Moment &At, FlowNetwork &Net,
                int32_t Source);
};

/// What must be kept and what may be recomputed while one op runs first: ops
/// before it have run, values read after it are kept there or rebuilt later.
/// With lambda the price of a byte it minimises
///   lambda * kept bytes + time of the ops that run again,
/// as a minimum cut: a value needed later is kept or its op runs again, which
/// needs the op's inputs. Aliases are taken to cost nothing.
class MomentCut {
public:
  enum : int8_t { Apart, Before, After };
  /// Per op: has it run for certain when `At` first does, certainly not, or
  /// neither, in every order in which the ops `Later` have not run then. Empty
  /// when there is no such order.
  static std::vector<int8_t> sides(const Model &M, OpId At,
                                   const std::vector<OpId> &Later = {});
  /// The same in one order: all are before or after.
  static std::vector<int8_t> sidesInOrder(const Model &M, OpId At,
                                          const std::vector<OpId> &Order);

  MomentCut(const Model &M, OpId At, const std::vector<int8_t> &Side);
  MomentCut(const Model &M, const Moment &At);

  /// One vertex of the lower convex hull of (kept bytes, recompute time).
  struct Point {
    int64_t Kept = 0;
    /// The same by the items' own bytes, those that must be kept included.
    int64_t Own = 0;
    double Time = 0;
    /// Classes that are needed later and not kept.
    std::vector<bool> Dropped;
    /// Time + price * kept bytes of the cut that gave it, never too large.
    double Value = 0;
  };
  /// The hull from most to fewest kept bytes, at most about MaxCuts cuts.
  /// With a limit the hull is not complete, its cuts still give bounds.
  std::vector<Point> frontier(int32_t MaxCuts, bool WantDropped);

  /// A lower bound on the extra time of every plan within the budget: the best
  /// price; infinity when even dropping all is too much. Call after
  /// `findLeast`, as the next.
  PricedBound pricedBound(int64_t Budget);
  double rootBound(int64_t Budget) { return pricedBound(Budget).Extra; }
  /// The same bound without the gap between the hull and whole values: branch
  /// and bound on what is kept, one value or how many of several equal ones.
  /// Stops after about MaxCuts cuts with what is proven by then.
  double exactBound(int64_t Budget, int MaxCuts);

  /// Finds `leastBudget` alone: one cut.
  void findLeast() { cutAll(); }
  /// No plan has a smaller budget; after `frontier` or `findLeast`.
  int64_t leastBudget() const { return Fixed + LeastKept; }

  /// How much was done: edges looked at, and what building it counts.
  int64_t work() const { return Net.work() + WorkPerOp * M.numOps(); }

private:
  const Model &M;
  FlowNetwork Net;
  int32_t Source = 0, Sink = 1;
  double Scale = 1;
  /// Bytes at the op whatever is kept: residents, its own operands, workspace.
  int64_t Fixed = 0;
  int64_t LeastKept = 0;
  using Item = MomentNetwork::Item;
  std::vector<Item> Items;
  /// Per item, while branching: must it be kept or dropped.
  enum class Ruling : int8_t { Open, Keep, Drop };
  std::vector<Ruling> Rulings;
  /// Per item: the bytes that it counts, other than its own under a `Tilt`.
  std::vector<int64_t> Weights;
  std::vector<MomentNetwork::Run> Ops;
  std::vector<int32_t> OpEdges;

  /// A branch in which at most (or at least) so many items of a group are kept.
  /// Extra times this inequality is added to that of the bytes: each of the
  /// group weighs `Extra` more, and the room grows by Extra * Count. Negative
  /// where it says at least.
  struct Tilt {
    std::vector<int32_t> Group;
    int64_t Extra = 0;
    int64_t Count = 0;
  };
  static constexpr size_t MostTilts = 4;
  struct Branch {
    std::vector<std::pair<int32_t, Ruling>> Ruled;
    std::vector<Tilt> Tilts;
    double Bound = 0;
    /// Price at which the bound was found, time of the best whole solution.
    double Price = 0;
    double Whole = 0;
    /// The items to branch on, all of the same bytes, and how many of them the
    /// best mix of cuts keeps, rounded down.
    std::vector<int32_t> Next;
    int64_t NextKept = 0;
  };
  int CutsLeft = 0;
  /// Fewer equal items are branched on one by one.
  size_t SmallestGroup = SIZE_MAX;

  int64_t weigh(const Branch &B, int64_t Room);
  void bisect(Branch &B, int64_t Room);
  void chooseNext(Branch &B, int64_t Room, const Point &Over,
                  const Point *Under) const;
  double branchAndBound(int64_t Room, double Hull, bool &Closed);
  Branch childOf(const Branch &B, bool Fewer, int64_t Room);
  Point cut(double Price, bool WantDropped);
  Point cutAll();
  Point read(bool WantDropped);
  void refine(std::vector<Point> &Out, const Point &A, const Point &B,
              int32_t &Left, bool WantDropped);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_CUT_H
