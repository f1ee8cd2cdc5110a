//===- HostMemory.h - memory that a device copies from ----------*- C++ -*-===//

#ifndef REMAT_RUNTIME_HOSTMEMORY_H
#define REMAT_RUNTIME_HOSTMEMORY_H

#include "remat/runtime/Device.h"
#include <memory_resource>
#include <mutex>
#include <set>

namespace remat::runtime {

/// The memory of Device::allocateHost for the standard library's containers,
/// and plain memory where the device has no more of it: page-locked memory is
/// scarce, and what lies in plain memory is only copied more slowly. Several
/// threads may use it.
class HostMemory : public std::pmr::memory_resource {
public:
  /// `TheDevice` is not owned and outlives it.
  explicit HostMemory(Device &TheDevice) : TheDevice(TheDevice) {}

private:
  void *do_allocate(size_t Bytes, size_t Alignment) override;
  void do_deallocate(void *Address, size_t Bytes, size_t Alignment) override;
  bool do_is_equal(const memory_resource &Other) const noexcept override {
    return this == &Other;
  }

  Device &TheDevice;
  std::mutex Lock; ///< of what follows
  std::set<void *> Plain;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_HOSTMEMORY_H
