//===- Flow.cpp - Dinic's algorithm ---------------------------------------===//
#include "Bounds/Flow.h"

#include <algorithm>

using namespace remat::solver;

int32_t FlowNetwork::addEdge(int32_t From, int32_t To, int64_t Capacity) {
  int32_t Id = int32_t(Edges.size());
  Edges.push_back({To, First[From]});
  First[From] = Id;
  Edges.push_back({From, First[To]});
  First[To] = Id + 1;
  Original.push_back(Capacity);
  Original.push_back(0);
  return Id;
}

/// Distances to the sink: searching backward visits only what can reach it.
bool FlowNetwork::findLevels(int32_t Source, int32_t Sink) {
  Level.assign(First.size(), -1);
  std::vector<int32_t> Queue = {Sink};
  Level[Sink] = 0;
  for (size_t I = 0; I < Queue.size(); ++I) {
    int32_t N = Queue[I];
    for (int32_t E = First[N]; E != -1; E = Edges[E].Next, ++Work)
      if (Residual[E ^ 1] > 0 && Level[Edges[E].To] < 0) {
        Level[Edges[E].To] = Level[N] + 1;
        Queue.push_back(Edges[E].To);
      }
  }
  return Level[Source] >= 0;
}

/// One blocking flow, with an explicit path so that depth is no matter.
int64_t FlowNetwork::augment(int32_t Source, int32_t Sink) {
  int64_t Total = 0;
  Current = First;
  Path.clear();
  int32_t N = Source;
  while (true) {
    if (N == Sink) {
      int64_t Bottleneck = Infinite;
      for (int32_t E : Path)
        Bottleneck = std::min(Bottleneck, Residual[E]);
      size_t Cut = Path.size();
      for (size_t I = 0; I < Path.size(); ++I) {
        Residual[Path[I]] -= Bottleneck;
        Residual[Path[I] ^ 1] += Bottleneck;
        if (Residual[Path[I]] == 0 && Cut == Path.size())
          Cut = I;
      }
      Total += Bottleneck;
      if (Total >= Infinite || Cut == Path.size())
        return Infinite;
      N = Edges[Path[Cut] ^ 1].To;
      Path.resize(Cut);
      continue;
    }
    int32_t &E = Current[N];
    while (E != -1 && (Residual[E] <= 0 || Level[Edges[E].To] != Level[N] - 1))
      E = Edges[E].Next;
    ++Work;
    if (E != -1) {
      Path.push_back(E);
      N = Edges[E].To;
    } else if (N == Source) {
      return Total;
    } else {
      int32_t Last = Path.back();
      Path.pop_back();
      N = Edges[Last ^ 1].To;
      Current[N] = Edges[Current[N]].Next;
    }
  }
}

int64_t FlowNetwork::maxFlow(int32_t Source, int32_t Sink) {
  reset();
  int64_t Total = 0;
  Stopped = false;
  while (Total < Infinite) {
    Stopped = Work >= WorkLimit;
    if (Stopped || !findLevels(Source, Sink))
      break;
    Total += augment(Source, Sink);
  }
  return std::min(Total, Infinite);
}

std::vector<bool> FlowNetwork::sourceSide(int32_t Source) const {
  std::vector<bool> Side(First.size(), false);
  std::vector<int32_t> Stack = {Source};
  Side[Source] = true;
  while (!Stack.empty()) {
    int32_t N = Stack.back();
    Stack.pop_back();
    for (int32_t E = First[N]; E != -1; E = Edges[E].Next)
      if (Residual[E] > 0 && !Side[Edges[E].To]) {
        Side[Edges[E].To] = true;
        Stack.push_back(Edges[E].To);
      }
  }
  return Side;
}
