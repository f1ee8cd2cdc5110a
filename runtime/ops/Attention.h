//===- Attention.h - operands of attention ----------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_OPS_ATTENTION_H
#define REMAT_RUNTIME_OPS_ATTENTION_H

#include "ops/Op.h"

namespace remat::runtime {

/// Operands that are query, key and value: one if they are packed.
size_t countQkv(const OpCall &Op);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_ATTENTION_H
