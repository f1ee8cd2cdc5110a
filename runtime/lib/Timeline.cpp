//===- Timeline.cpp - a program's memory over a step ----------------------===//

#include "remat/runtime/Timeline.h"

using namespace remat::runtime;

namespace {

/// Finds for each tensor the earlier one that it continues.
class LineFinder {
public:
  LineFinder(const Program &P, Timeline &T)
      : P(P), T(T), Continues(P.Tensors.size(), NoTensor),
        IsRecomputed(P.Tensors.size(), false) {}

  void run();

private:
  bool isSameValue(uint32_t Copy, uint32_t Original) const;
  void matchResults(const Step &Again, const Step &First);
  void continueArguments();

  const Program &P;
  Timeline &T;
  std::vector<uint32_t> Continues;
  std::vector<bool> IsRecomputed;
};

} // namespace

/// Of kernels: names say it; the compiler marks those of copies.
bool LineFinder::isSameValue(uint32_t Copy, uint32_t Original) const {
  const Tensor &L = P.Tensors[Copy], &R = P.Tensors[Original];
  return L.Type == R.Type && L.Shape == R.Shape &&
         (L.Name == R.Name || L.Name.starts_with(R.Name + ", recomputed"));
}

/// An operation gives the same results in the same order. A kernel of several
/// may give others when it runs again than it gave at first.
void LineFinder::matchResults(const Step &Again, const Step &First) {
  bool InOrder = Again.Op == First.Op && Again.Body.empty() &&
                 Again.Results.size() == First.Results.size();
  std::vector<bool> Taken(First.Results.size(), false);
  for (size_t K = 0; K < Again.Results.size(); ++K) {
    uint32_t Copy = Again.Results[K];
    IsRecomputed[Copy] = true;
    for (size_t I = 0; I < First.Results.size(); ++I) {
      uint32_t Original = First.Results[I];
      if (Taken[I] || Original >= Copy ||
          P.Tensors[Copy].Bytes != P.Tensors[Original].Bytes ||
          !(InOrder ? I == K : isSameValue(Copy, Original)))
        continue;
      Taken[I] = true;
      Continues[Copy] = Original;
      break;
    }
  }
}

void LineFinder::continueArguments() {
  for (const Argument &A : P.Arguments) {
    if (A.DonatedResult < 0)
      continue;
    uint32_t Result = P.Results[A.DonatedResult].Tensor;
    // The result may be the argument itself, or a view of other bytes.
    if (Result > A.Tensor && !P.Tensors[Result].IsView &&
        Continues[Result] == NoTensor)
      Continues[Result] = A.Tensor;
  }
}

void LineFinder::run() {
  for (const Step &S : P.Steps)
    if (S.Recomputes >= 0)
      matchResults(S, P.Steps[S.Recomputes]);
  continueArguments();
  std::vector<uint32_t> LineOf(P.Tensors.size(), NoTensor);
  for (uint32_t I = 0; I < P.Tensors.size(); ++I) {
    if (P.Tensors[I].IsView)
      continue;
    uint32_t From = Continues[I];
    LineOf[I] = From == NoTensor ? NoTensor : LineOf[From];
    if (LineOf[I] == NoTensor) {
      LineOf[I] = static_cast<uint32_t>(T.Lines.size());
      T.Lines.emplace_back();
    }
    Timeline::Line &Line = T.Lines[LineOf[I]];
    Line.Tensors.push_back(I);
    Line.Recomputations += IsRecomputed[I];
  }
}

Timeline remat::runtime::makeTimeline(const Program &P) {
  Timeline T;
  T.LiveBytes = P.getLiveBytes();
  LineFinder(P, T).run();
  return T;
}
