//===- CUDACapture.cpp - the steps of a program as a graph ----------------===//

#include "cuda/CUDAExecutable.h"
#include "cuda/StepOrder.h"
#include <algorithm>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

/// What is captured next waits for these nodes alone.
Status CUDAExecutable::captureBehind(const std::vector<GraphNode> &Nodes) {
  constexpr unsigned Replace = 1;
  return State->D.check(
      State->D.UpdateCaptureDependencies(State->TheStream, Nodes.data(),
                                         Nodes.size(), Replace),
      "cannot order the graph of the step");
}

/// The nodes that what is captured next would wait for.
Result<std::vector<GraphNode>> CUDAExecutable::getCaptured() {
  int IsCapturing = 0;
  const GraphNode *Nodes = nullptr;
  size_t Count = 0;
  if (Status S = State->D.check(
          State->D.GetCaptureInfo(State->TheStream, &IsCapturing, nullptr,
                                  nullptr, &Nodes, &Count),
          "cannot order the graph of the step");
      !S)
    return S.getError();
  return std::vector<GraphNode>(Nodes, Nodes + Count);
}

/// Each step behind those that it must wait for.
Status CUDAExecutable::captureSteps() {
  std::vector<StepPlace> Order = orderSteps(getWork(*TheProgram));
  std::vector<std::vector<GraphNode>> Ends(Steps.size());
  std::vector<GraphNode> Before;
  std::vector<bool> IsWaitedFor(Steps.size());
  auto Add = [&](size_t Step) {
    Before.insert(Before.end(), Ends[Step].begin(), Ends[Step].end());
  };
  for (size_t I = 0; I < Steps.size(); ++I) {
    const StepPlace &Place = Order[I];
    Before.clear();
    for (uint32_t B : Place.Before) {
      Add(B);
      IsWaitedFor[B] = true;
    }
    if (Status S = captureBehind(Before); !S)
      return S;
    FollowsOne = !Place.IsBeside && Before.size() == 1;
    Status Ran = runStep(I);
    FollowsOne = true;
    if (!Ran)
      return Ran;
    Result<std::vector<GraphNode>> End = getCaptured();
    if (!End)
      return End.getError();
    Ends[I] = std::move(*End);
  }
  Before.clear();
  for (size_t I = 0; I < Steps.size(); ++I)
    if (!IsWaitedFor[I])
      Add(I);
  return captureBehind(Before);
}

Status CUDAExecutable::capture(void *Arena) {
  const Driver &D = State->D;
  dropGraph();
  Base = static_cast<char *>(Arena);
  // Relaxed: kernels and libraries may still load code at their first launch.
  if (Status S = D.check(D.BeginCapture(State->TheStream, CaptureRelaxed),
                         "cannot begin to capture the step");
      !S)
    return S;
  usePlaces(Places);
  Places.clear();
  Overlaps = true;
  Status Ran = State->TheCollectives ? runAll({}) : captureSteps();
  Overlaps = false;
  // A capture ends on the stream that it began on, with all others joined.
  if (Status Joined = joinAllCollectives(); Ran)
    Ran = Joined;
  Graph Captured = nullptr;
  Status Ended = D.check(D.EndCapture(State->TheStream, &Captured),
                         "cannot capture the step");
  if (Ran && Ended)
    Ended = D.check(D.GraphInstantiate(&TheGraph, Captured, 0),
                    "cannot make a graph of the step");
  if (Captured)
    D.GraphDestroy(Captured);
  return Ran ? Ended : Ran;
}
