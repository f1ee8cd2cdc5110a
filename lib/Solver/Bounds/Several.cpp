//===- Several.cpp - One cut over several moments -------------------------===//
#include "Bounds/Several.h"
#include "Bounds/MixProgram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace remat::solver;

/// Times become integers, parts of the base time: rounding down keeps every cut
/// a lower bound.
static constexpr int ScaleBits = 44;

SeveralMoments::SeveralMoments(const Model &M,
                               const std::vector<Moment> &Moments,
                               int64_t Budget)
    : M(M), Budget(std::max<int64_t>(Budget, 1)), Net(2) {
  double Scale = std::ldexp(1.0, ScaleBits) / std::max(M.BaseTime, 1e-250);
  if (M.sizeFactor() > 1)
    Net.setWorkLimit(WorkOfNetwork);
  std::vector<int32_t> RunNode(M.numOps(), -1);
  for (const Moment &At : Moments) {
    Parts.emplace_back(M, At, Net, Source);
    Room.push_back(Budget - At.Fixed);
    Work += WorkPerOp * M.numOps();
    for (auto [O, Node, Extra] : Parts.back().Runs) {
      if (!Extra)
        continue;
      if (RunNode[O] < 0) {
        RunNode[O] = Net.addNode();
        Runs.push_back({O, RunNode[O]});
        Net.addEdge(RunNode[O], Sink,
                    M.Again[O] ? int64_t(std::floor(M.Time[O] * Scale))
                               : FlowNetwork::Infinite);
      }
      Net.addEdge(Node, RunNode[O], FlowNetwork::Infinite);
    }
  }
}

SeveralMoments::Choice SeveralMoments::cut(const std::vector<double> &Prices) {
  constexpr int64_t Dearest = FlowNetwork::Infinite / 4096;
  constexpr double Most = double(Dearest);
  for (size_t K = 0; K < Parts.size(); ++K)
    for (const MomentNetwork::Item &I : Parts[K].Items) {
      double Part = Prices[K] * double(I.Bytes) / double(Budget);
      double Cost = std::floor(std::ldexp(Part, ScaleBits));
      Net.setCapacity(I.Edge, int64_t(std::min(Cost, Most)));
    }
  int64_t Value = Net.maxFlow(Source, Sink);
  std::vector<bool> Reached = Net.sourceSide(Source);
  Choice R;
  R.Bound = std::ldexp(double(Value), -ScaleBits);
  for (size_t K = 0; K < Parts.size(); ++K) {
    int64_t Kept = 0;
    for (const MomentNetwork::Item &I : Parts[K].Items)
      if (Reached[I.Node] && !Reached[I.OpNode])
        Kept += I.Bytes;
    R.Over.push_back(double(Kept - Room[K]) / double(Budget));
    R.Bound -= Prices[K] * double(Room[K]) / double(Budget);
  }
  R.RunsAgain.assign(M.numOps(), false);
  for (auto [O, Node] : Runs)
    if (Reached[Node]) {
      R.RunsAgain[O] = true;
      R.Time += M.Time[O] / std::max(M.BaseTime, 1e-250);
    }
  return R;
}

PricedBound SeveralMoments::search(int64_t MostWork) {
  constexpr int MostCuts = 200;
  // The latter keeps rounding errors far below the margin of the bound.
  constexpr double Enough = 1e-5, MostPrice = 1e3, MostTime = 4;
  size_t Count = Parts.size();
  if (*std::min_element(Room.begin(), Room.end()) < 0)
    return {Budget, 0, 0};
  MixProgram Mix(Count, MostTime);
  std::vector<double> BestPrices(Count, 0), Prices(Count, 1.0 / double(Count));
  double Best = 0;
  bool Halfway = false;
  for (int Cuts = 0; Cuts < MostCuts && work() < MostWork; ++Cuts) {
    Choice C = cut(Prices);
    bool Better = C.Bound > Best;
    if (Better) {
      Best = C.Bound;
      BestPrices = Prices;
    }
    Mix.add(C.Over, C.Time);
    Choices.push_back(std::move(C));
    Mix.solve();
    if (Mix.cost() < Best + Enough)
      break;
    // Half way to the best so far, which settles sooner; after one that was no
    // better, all the way.
    Halfway = !Halfway || Better;
    for (size_t K = 0; K < Count; ++K) {
      double Price = std::min(Mix.price(K), MostPrice);
      Prices[K] = Halfway ? (Price + BestPrices[K]) / 2 : Price;
    }
  }
  Shares = Mix.shares();
  Shares.erase(Shares.begin());
  // The scaled times are exact, the products of prices and bytes are rounded.
  Best -= 1e-9;
  if (Best <= 0)
    return {Budget, 0, 0};
  double Price = std::accumulate(BestPrices.begin(), BestPrices.end(), 0.0);
  return {Budget, Best * M.BaseTime, Price / double(Budget) * M.BaseTime};
}

std::vector<double> SeveralMoments::sharesOfRuns() const {
  std::vector<double> Out(M.numOps(), 0);
  for (size_t I = 0; I < Choices.size(); ++I)
    for (OpId O = 0; O < M.numOps() && Shares[I] > 0; ++O)
      Out[O] += Choices[I].RunsAgain[O] ? Shares[I] : 0;
  return Out;
}

double SeveralMoments::bytesAt(const Moment &At) {
  constexpr double LeastShare = 1e-3;
  FlowNetwork One(2);
  if (M.sizeFactor() > 1)
    One.setWorkLimit(WorkOfNetwork);
  MomentNetwork Part(M, At, One, Source);
  for (const MomentNetwork::Item &I : Part.Items)
    One.setCapacity(I.Edge, I.Bytes);
  std::vector<int32_t> Edges;
  for (const MomentNetwork::Run &X : Part.Runs)
    Edges.push_back(One.addEdge(X.Node, Sink, 0));
  double Bytes = double(At.Fixed);
  for (size_t I = 0; I < Choices.size(); ++I) {
    if (Shares[I] < LeastShare)
      continue;
    for (size_t K = 0; K < Edges.size(); ++K) {
      const MomentNetwork::Run &X = Part.Runs[K];
      bool Free = !X.Extra || Choices[I].RunsAgain[X.Op];
      One.setCapacity(Edges[K], Free ? 0 : FlowNetwork::Infinite);
    }
    Bytes += Shares[I] * double(One.maxFlow(Source, Sink));
  }
  Work += One.work() + WorkPerOp * M.numOps();
  return Bytes;
}

namespace {

/// Per op, about what stands at its run in the base order if of every op such a
/// share runs again, as late as can be, and what it makes is not kept.
class BytesWithRuns {
public:
  BytesWithRuns(const Model &M, const std::vector<double> &Share)
      : M(M), Share(Share), Last(M.numValues(), None),
        LastAgain(M.numValues(), None), ShareAgain(M.numValues(), 0),
        Change(M.numOps() + 1, 0) {}

  std::vector<double> find() {
    for (ValueId V : M.P.Results)
      Last[M.Class[V]] = M.numOps();
    for (OpId O = M.numOps() - 1; O >= 0; --O)
      look(O);
    std::vector<double> Out(M.numOps());
    double Live = 0;
    for (OpId O = 0; O < M.numOps(); ++O) {
      Live += Change[O];
      Out[O] = double(M.leastBytesAt(O)) + Live;
    }
    return Out;
  }

private:
  const Model &M;
  const std::vector<double> &Share;
  /// Per class: its last reader; until when what runs again needs it, and the
  /// largest share of such.
  std::vector<OpId> Last, LastAgain;
  std::vector<double> ShareAgain;
  /// Of the live bytes, per step.
  std::vector<double> Change;

  void look(OpId O) {
    OpId Until = None;
    for (ValueId V : M.P.Ops[O].Outputs) {
      ValueId C = M.Class[V];
      Until = std::max({Until, Last[C], LastAgain[C]});
      if (C != V || M.InPlace[C])
        continue;
      double Bytes = double(M.P.Values[C].Bytes);
      OpId Read = std::max(Last[C], O + 1);
      stand(O + 1, Read, (1 - Share[O]) * Bytes);
      stand(Read, LastAgain[C],
            std::max(0.0, ShareAgain[C] - Share[O]) * Bytes);
    }
    for (ValueId V : M.P.Ops[O].Inputs) {
      ValueId C = M.Class[V];
      Last[C] = std::max(Last[C], O);
      if (Share[O] > 0) {
        LastAgain[C] = std::max(LastAgain[C], Until);
        ShareAgain[C] = std::max(ShareAgain[C], Share[O]);
      }
    }
  }

  void stand(OpId From, OpId To, double Bytes) {
    if (From < To) {
      Change[From] += Bytes;
      Change[To] -= Bytes;
    }
  }
};

/// Ops at which most stands, a few of each part of the step, the most first.
std::vector<OpId> fullest(const Model &M, const std::vector<double> &Bytes,
                          double Least) {
  constexpr size_t NumParts = 96, MostOfPart = 8;
  std::vector<std::pair<double, OpId>> Order;
  for (OpId O = 0; O < M.numOps(); ++O)
    if (Bytes[O] > Least && M.Seen[O])
      Order.push_back({-Bytes[O], O});
  std::sort(Order.begin(), Order.end());
  std::vector<size_t> Taken(NumParts, 0);
  std::vector<OpId> Out;
  for (auto [Negative, O] : Order)
    if (Taken[size_t(O) * NumParts / size_t(M.numOps())]++ < MostOfPart)
      Out.push_back(O);
  return Out;
}

} // namespace

PricedBound remat::solver::severalBound(const Model &M,
                                        const std::vector<OpId> &Likely,
                                        int64_t Budget, const Watch &D) {
  constexpr size_t MostMoments = 6, MostLikely = 12;
  constexpr int64_t WorkOfSearch = 10'000'000, WorkOfChoice = 15'000'000;
  std::vector<Moment> Moments;
  std::vector<bool> Taken(M.numOps(), false);
  PricedBound Best{Budget, 0, 0};
  OpId Next = Likely[0];
  while (Next != None && Moments.size() < MostMoments && !D.passed()) {
    Taken[Next] = true;
    Moments.push_back(Moment::firstRun(M, Next));
    SeveralMoments S(M, Moments, Budget);
    PricedBound Here = S.search(WorkOfSearch);
    if (Here.Extra > Best.Extra)
      Best = Here;
    std::vector<double> Bytes = BytesWithRuns(M, S.sharesOfRuns()).find();
    std::vector<OpId> Try(Likely.begin(),
                          Likely.begin() + std::min(Likely.size(), MostLikely));
    for (OpId O : fullest(M, Bytes, 0.9 * double(Budget)))
      Try.push_back(O);
    int64_t Until = S.work() + WorkOfChoice;
    double Most = double(Budget) * (1 + 1e-6);
    Next = None;
    for (OpId O : Try) {
      if (Taken[O] || S.work() > Until)
        continue;
      double There = S.bytesAt(Moment::firstRun(M, O));
      if (There > Most) {
        Most = There;
        Next = O;
      }
    }
  }
  return Best;
}
