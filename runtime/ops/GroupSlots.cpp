//===- GroupSlots.cpp - scratch for the values of a kernel group ----------===//

#include "ops/Group.h"
#include <algorithm>

using namespace remat::runtime;

void remat::runtime::assignSlots(GroupPlan &Plan) {
  std::vector<uint32_t> LastReader(Plan.Nodes.size());
  for (uint32_t I = 0; I < Plan.Nodes.size(); ++I) {
    LastReader[I] = std::max(LastReader[I], I);
    for (uint32_t Operand : Plan.Nodes[I].Operands)
      LastReader[Operand] = I;
  }
  for (const GroupYield &Y : Plan.Yields)
    if (!Y.IsSum)
      LastReader[Y.Node] = UINT32_MAX;
  std::vector<uint32_t> Free;
  std::vector<std::vector<uint32_t>> Ending(Plan.Nodes.size());
  for (uint32_t I = 0; I < Plan.Nodes.size(); ++I) {
    GroupNode &N = Plan.Nodes[I];
    if (Free.empty())
      Free.push_back(Plan.NumSlots++);
    N.Slot = Free.back();
    Free.pop_back();
    if (LastReader[I] != UINT32_MAX)
      Ending[LastReader[I]].push_back(N.Slot);
    Free.insert(Free.end(), Ending[I].begin(), Ending[I].end());
  }
}
