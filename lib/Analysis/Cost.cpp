//===- Cost.cpp - arithmetic and traffic of operations --------------------===//

#include "remat/Analysis/Cost.h"
#include "remat/Analysis/Liveness.h"
#include "remat/IR/RematOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

OpCost remat::getCost(Operation *Op) {
  OpCost Cost;
  if (isView(Op) || isResidentConstant(Op))
    return Cost;
  auto Interface = dyn_cast<CostOpInterface>(Op);
  Cost.Flops = Interface ? Interface.getFlops() : 0.0;
  Cost.Bytes = Interface ? Interface.getBytes() : detail::countBytes(Op);
  return Cost;
}

static double getRooflineMicroseconds(const Roofline &Rates, double FlopRate,
                                      const OpCost &Cost) {
  return Rates.LaunchMicroseconds +
         1e6 *
             std::max(Cost.Flops / FlopRate, Cost.Bytes / Rates.BytesPerSecond);
}

double RooflineTarget::getElementwiseMicroseconds(double Flops,
                                                  double Bytes) const {
  return getRooflineMicroseconds(Rates, Rates.ScalarFlops, {Flops, Bytes});
}

/// Floating-point operations a second of the units that `Op` runs on.
double RooflineTarget::getFlopRate(Operation *Op) const {
  if (!Op->hasTrait<UsesMatrixUnits>())
    return Rates.ScalarFlops;
  auto Type = cast<RankedTensorType>(Op->getOperand(0).getType());
  return Type.getElementTypeBitWidth() <= 16 ? Rates.MatrixFlops16
                                             : Rates.MatrixFlops32;
}

double remat::getExchangeMicroseconds(const Links &L, const Traffic &Sent,
                                      ArrayRef<int64_t> Group) {
  int64_t Ranks = 1, OfHost = 1;
  for (size_t I = 0; I < Group.size(); I += 2) {
    Ranks *= Group[I + 1];
    OfHost *= std::clamp<int64_t>(L.RanksOfHost / Group[I], 1, Group[I + 1]);
  }
  if (Sent.Rounds == 0 || Ranks == 1)
    return 0;
  bool IsFar = OfHost < Ranks;
  auto Hops =
      static_cast<double>(L.HasTrees ? llvm::Log2_64_Ceil(Ranks) : Ranks - 1);
  double Hop = IsFar ? L.FarHopMicroseconds : L.HopMicroseconds;
  // All members of a host carry what leaves it.
  double Rate =
      IsFar ? std::min(L.BytesPerSecond, L.FarBytesPerSecond * double(OfHost))
            : L.BytesPerSecond;
  return L.StartMicroseconds + static_cast<double>(Sent.Rounds) * Hops * Hop +
         1e6 * Sent.Bytes / Rate;
}

double RooflineTarget::getLinkMicroseconds(Operation *Op) const {
  auto Collective = dyn_cast<CollectiveOpInterface>(Op);
  if (!Collective)
    return 0;
  SmallVector<int64_t> Group = getMesh(Op).getGroup(Collective.getAxes());
  int64_t Ranks = getMesh(Op).getGroupSize(Collective.getAxes());
  return getExchangeMicroseconds(Rates.Between, Collective.getTraffic(Ranks),
                                 Group);
}

double RooflineTarget::getMicroseconds(Operation *Op) const {
  if (isView(Op) || isResidentConstant(Op))
    return 0;
  if (double Sending = getLinkMicroseconds(Op))
    return Rates.LaunchMicroseconds + Sending;
  return getRooflineMicroseconds(Rates, getFlopRate(Op), getCost(Op));
}

Target::Ceilings RooflineTarget::getCeilings(Operation *Op) const {
  if (auto Scan = dyn_cast<ScanOp>(Op)) {
    Ceilings Sum;
    auto Steps = static_cast<double>(Scan.getSteps());
    for (Operation &Inner : Scan.getBlock().without_terminator()) {
      Ceilings Of = getCeilings(&Inner);
      Sum.ArithmeticMicroseconds += Steps * Of.ArithmeticMicroseconds;
      Sum.TrafficMicroseconds += Steps * Of.TrafficMicroseconds;
    }
    return Sum;
  }
  if (double Sending = getLinkMicroseconds(Op))
    return {0, Sending};
  OpCost Cost = getCost(Op);
  return {1e6 * Cost.Flops / getFlopRate(Op),
          getTrafficMicroseconds(Cost.Bytes)};
}
