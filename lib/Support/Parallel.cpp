//===- Parallel.cpp - how a step is spread over ranks ---------------------===//

#include "remat/Support/Parallel.h"
#include "remat/Support/Numbers.h"
#include <algorithm>

using namespace remat;

/// "tensor=N".
static std::optional<int64_t> parseTensorRanks(std::string_view Text) {
  constexpr std::string_view Prefix = "tensor=";
  if (!Text.starts_with(Prefix))
    return std::nullopt;
  Text.remove_prefix(Prefix.size());
  return parseInteger<int64_t>(Text, 1, MaxRanks);
}

std::optional<Parallel> Parallel::parse(std::string_view Text) {
  Parallel P;
  P.IsGiven = true;
  size_t Comma = Text.find(',');
  std::string_view First = Text.substr(0, Comma);
  const auto *Name = std::ranges::find(ShardingNames, First);
  std::optional<int64_t> Ranks;
  if (Name == ShardingNames.end()) {
    Ranks = parseTensorRanks(Text);
  } else {
    P.Sharded = static_cast<Sharding>(Name - ShardingNames.begin());
    Ranks = Comma == Text.npos ? 1 : parseTensorRanks(Text.substr(Comma + 1));
  }
  if (!Ranks)
    return std::nullopt;
  P.TensorRanks = *Ranks;
  return P;
}

std::string Parallel::str() const {
  if (!IsGiven)
    return "";
  std::string Text(ShardingNames[static_cast<size_t>(Sharded)]);
  if (TensorRanks > 1)
    Text += ",tensor=" + std::to_string(TensorRanks);
  return Text;
}
