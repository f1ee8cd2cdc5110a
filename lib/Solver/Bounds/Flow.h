//===- Flow.h - Minimum cuts on integer capacities ------------------------===//
#ifndef REMAT_LIB_SOLVER_FLOW_H
#define REMAT_LIB_SOLVER_FLOW_H

#include <cstdint>
#include <vector>

namespace remat::solver {

/// A directed network and its minimum cut by Dinic's algorithm (1970).
/// Capacities are integers, so that the result is exact and the same on every
/// machine.
class FlowNetwork {
public:
  static constexpr int64_t Infinite = INT64_MAX / 4;

  explicit FlowNetwork(int32_t NumNodes) : First(NumNodes, -1) {}

  int32_t addNode() {
    First.push_back(-1);
    return int32_t(First.size() - 1);
  }
  /// Returns the edge's id.
  int32_t addEdge(int32_t From, int32_t To, int64_t Capacity);
  /// Sets a new capacity; call `reset` before the next cut.
  void setCapacity(int32_t Edge, int64_t Capacity) {
    Original[Edge] = Capacity;
  }
  void reset() { Residual = Original; }

  /// The value of the minimum cut, at most `Infinite`; less where the work ran
  /// out on the way.
  int64_t maxFlow(int32_t Source, int32_t Sink);
  /// Did the work run out before the last cut was found?
  bool stopped() const { return Stopped; }
  /// From so much work on, no more flow is looked for.
  void setWorkLimit(int64_t Limit) { WorkLimit = Limit; }
  /// After maxFlow: nodes that the source still reaches (the least such set).
  std::vector<bool> sourceSide(int32_t Source) const;

  /// Edges looked at so far.
  int64_t work() const { return Work; }

private:
  struct Edge {
    int32_t To;
    int32_t Next;
  };
  std::vector<int32_t> First;
  std::vector<Edge> Edges;
  std::vector<int64_t> Original, Residual;
  std::vector<int32_t> Level, Current, Path;
  int64_t Work = 0, WorkLimit = INT64_MAX;
  bool Stopped = false;

  bool findLevels(int32_t Source, int32_t Sink);
  int64_t augment(int32_t Source, int32_t Sink);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_FLOW_H
