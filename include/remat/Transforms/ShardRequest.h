//===- ShardRequest.h - how to cut parameters, as users say it --*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_SHARDREQUEST_H
#define REMAT_TRANSFORMS_SHARDREQUEST_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace remat {

/// "h.*.mlp.c_fc.weight=1": parameters, and the dimension along which ranks cut
/// them; "h.*.attn.c_attn.weight=1/3": each of its three blocks.
struct ShardRequest {
  std::string Name; ///< as `NamePattern` takes it
  int64_t Dim = 0, Blocks = 1;

  static std::optional<ShardRequest> parse(llvm::StringRef Text);
};

/// What `parse` takes, for messages.
inline constexpr llvm::StringLiteral ShardRequestHelp =
    "NAME=DIM, a parameter or a glob and the dimension to cut, such as "
    "h.*.mlp.c_fc.weight=1, or NAME=DIM/BLOCKS to cut each of its equal blocks";

} // namespace remat

#endif // REMAT_TRANSFORMS_SHARDREQUEST_H
