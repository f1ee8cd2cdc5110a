//===- Parallel.cpp - how a step is spread over ranks ---------------------===//

#include "remat/Support/Parallel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace remat;

ArrayRef<StringRef> remat::getShardingNames() {
  static const StringRef Names[] = {"data", "zero1", "zero2", "zero3"};
  return Names;
}

std::optional<Parallel> Parallel::parse(StringRef Text) {
  Parallel P;
  P.IsGiven = true;
  auto [First, Second] = Text.split(',');
  if (const auto *Name = find(getShardingNames(), First);
      Name != getShardingNames().end()) {
    P.Sharded = static_cast<Sharding>(Name - getShardingNames().begin());
    if (Second.empty())
      return Text.contains(',') ? std::nullopt : std::optional(P);
  } else if (Text.contains(',')) {
    return std::nullopt;
  } else {
    Second = First;
  }
  if (!Second.consume_front("tensor=") ||
      Second.getAsInteger(10, P.TensorRanks) || P.TensorRanks < 1)
    return std::nullopt;
  return P;
}

std::string Parallel::str() const {
  if (!IsGiven)
    return "";
  std::string Text = getShardingNames()[static_cast<size_t>(Sharded)].str();
  if (TensorRanks > 1)
    Text += ",tensor=" + std::to_string(TensorRanks);
  return Text;
}
