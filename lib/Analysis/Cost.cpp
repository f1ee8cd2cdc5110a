//===- Cost.cpp - arithmetic and traffic of operations --------------------===//

#include "remat/Analysis/Cost.h"
#include "remat/Analysis/Liveness.h"
#include "remat/IR/RematOps.h"

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

double RooflineModel::getElementwiseMicroseconds(double Flops,
                                                 double Bytes) const {
  return getRooflineMicroseconds(Rates, Rates.ScalarFlops, {Flops, Bytes});
}

double RooflineModel::getMicroseconds(Operation *Op) const {
  if (isView(Op) || isResidentConstant(Op))
    return 0;
  double Rate = Rates.ScalarFlops;
  if (Op->hasTrait<UsesMatrixUnits>()) {
    auto Type = cast<RankedTensorType>(Op->getOperand(0).getType());
    Rate = Type.getElementTypeBitWidth() <= 16 ? Rates.MatrixFlops16
                                               : Rates.MatrixFlops32;
  }
  return getRooflineMicroseconds(Rates, Rate, getCost(Op));
}

SmallVector<KernelChoice> RooflineModel::getChoices(Operation *Op) const {
  return {KernelChoice{"", 0, getMicroseconds(Op)}};
}

KernelChoice remat::getChoice(const TargetModel &Model, Operation *Op) {
  SmallVector<KernelChoice> Choices = Model.getChoices(Op);
  if (auto Name = Op->getAttrOfType<StringAttr>(ChoiceAttrName))
    for (const KernelChoice &Choice : Choices)
      if (Choice.Name == Name.getValue())
        return Choice;
  return Choices.front();
}

std::unique_ptr<TargetModel> remat::createHostModel() {
  // One desktop core's order of magnitude; only ratios matter to the planner.
  Roofline Rates;
  Rates.MatrixFlops32 = 5e10;
  Rates.MatrixFlops16 = 2.5e10;
  Rates.ScalarFlops = 2e9;
  Rates.BytesPerSecond = 1e10;
  Rates.LaunchMicroseconds = 0.5;
  return std::make_unique<RooflineModel>("host", "", Rates);
}

std::unique_ptr<TargetModel>
TargetModel::create(StringRef Device, StringRef Arch, StringRef Attention) {
  if (Device == "host")
    return createHostModel();
  if (Device == "cuda")
    return createCUDAModel(Arch, Attention);
  return nullptr;
}
