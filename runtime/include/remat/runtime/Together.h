//===- Together.h - long work that every rank does alone --------*- C++ -*-===//

#ifndef REMAT_RUNTIME_TOGETHER_H
#define REMAT_RUNTIME_TOGETHER_H

#include "remat/runtime/Ranks.h"
#include <functional>

namespace remat::runtime {

/// Success where every rank gives success; else, on every rank, the error of
/// the first by number that gives one, as "rank N: ..." if there are several.
/// Null is one rank. All ranks call it.
Status agree(Ranks *R, const Status &Own);

/// Calls `Work`, which does not use `R` and may take as long as it needs, on
/// every rank, and agrees on what it gives. Meanwhile the ranks hear from each
/// other: where one ends or hangs, the others are told within the time limit of
/// `R`, by `OnFailure` in another thread (it may be null), and fail when their
/// work has ended. All ranks call it.
Status workTogether(Ranks *R, const std::function<Status()> &Work,
                    const std::function<void(const Error &)> &OnFailure = {});

/// Calls `Poll`, which does not wait, on every rank until it has given true on
/// each. An error of one is then every rank's, as `agree` gives it; a rank that
/// ends or hangs meanwhile is named within the time limit. All ranks call it.
Status pollTogether(Ranks &R, const std::function<Result<bool>()> &Poll);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_TOGETHER_H
