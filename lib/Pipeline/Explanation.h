//===- Explanation.h - an explained plan as JSON ----------------*- C++ -*-===//

#ifndef REMAT_LIB_PIPELINE_EXPLANATION_H
#define REMAT_LIB_PIPELINE_EXPLANATION_H

#include "remat/Transforms/PlanExplanation.h"
#include "llvm/Support/JSON.h"

namespace remat {

/// One object a decision.
llvm::json::Array toJSON(const PlanExplanation &Explained);

} // namespace remat

#endif // REMAT_LIB_PIPELINE_EXPLANATION_H
