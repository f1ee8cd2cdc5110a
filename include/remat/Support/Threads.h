//===- Threads.h - independent work at the same time ------------*- C++ -*-===//

#ifndef REMAT_SUPPORT_THREADS_H
#define REMAT_SUPPORT_THREADS_H

#include <cstddef>
#include <functional>

namespace remat {

/// Whether the process may have only some of all addresses. A thread reserves
/// far more than it uses, for its stack and its heap: where addresses are
/// limited, memory would seem exhausted. The planner, which includes nothing of
/// this library, asks for itself (lib/Solver/Workers.cpp).
bool hasLimitedAddresses();

/// Calls `Run`, which throws nothing, for each number below `Count`: on as many
/// threads as there are processors, or fewer where the system does not give
/// them.
void runInParallel(std::size_t Count,
                   const std::function<void(std::size_t)> &Run);

} // namespace remat

#endif // REMAT_SUPPORT_THREADS_H
