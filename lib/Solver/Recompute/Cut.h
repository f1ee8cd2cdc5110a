//===- Cut.h - The parametric min-cut at one op ---------------------------===//
#ifndef REMAT_LIB_SOLVER_CUT_H
#define REMAT_LIB_SOLVER_CUT_H

#include "Flow.h"
#include "Model.h"

namespace remat::solver {

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

  /// One vertex of the lower convex hull of (kept bytes, recompute time).
  struct Point {
    int64_t Kept = 0;
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
  double rootBound(int64_t Budget);
  /// The same bound without the gap between the hull and whole values: branch
  /// and bound on what is kept. Stops after about MaxCuts cuts with what is
  /// proven by then.
  double exactBound(int64_t Budget, int MaxCuts);

  /// Finds `leastBudget` alone: one cut.
  void findLeast() { cutAll(); }
  /// No plan has a smaller budget; after `frontier` or `findLeast`.
  int64_t leastBudget() const { return Fixed + LeastKept; }

private:
  const Model &M;
  FlowNetwork Net;
  int32_t Source = 0, Sink = 1;
  double Scale = 1;
  /// Bytes at the op whatever is kept: residents, its own operands, workspace.
  int64_t Fixed = 0;
  int64_t LeastKept = 0;
  struct Item {
    ValueId Class;
    int32_t Node, OpNode, Edge;
    int64_t Bytes;
  };
  std::vector<Item> Items;
  /// Per item, while branching: must it be kept or dropped.
  enum class Ruling : int8_t { Open, Keep, Drop };
  std::vector<Ruling> Rulings;
  struct Run {
    OpId Op;
    int32_t Node;
    /// It ran before the moment: to run it again costs its time.
    bool Extra;
  };
  std::vector<Run> Ops;
  std::vector<int32_t> OpEdges;

  struct Branch {
    std::vector<std::pair<int32_t, Ruling>> Ruled;
    double Bound = 0;
    /// Price at which the bound was found, time of the best whole solution.
    double Price = 0;
    double Whole = 0;
    int32_t Next = -1;
  };
  int CutsLeft = 0;

  void bisect(Branch &B, int64_t Room);
  void build(const std::vector<int8_t> &Side, OpId At);
  Point cut(double Price, bool WantDropped);
  Point cutAll();
  Point read(bool WantDropped);
  void refine(std::vector<Point> &Out, const Point &A, const Point &B,
              int32_t &Left, bool WantDropped);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_CUT_H
