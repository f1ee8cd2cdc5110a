//===- HostMemory.cpp - memory that a device copies from ------------------===//

#include "remat/runtime/HostMemory.h"
#include <new>

using namespace remat::runtime;

/// No element of a tensor asks for more.
static constexpr std::align_val_t PlainAlignment{64};

void *Device::allocateHost(uint64_t Bytes) {
  return ::operator new(Bytes, PlainAlignment, std::nothrow);
}

void Device::deallocateHost(void *Address) {
  ::operator delete(Address, PlainAlignment);
}

void *HostMemory::do_allocate(size_t Bytes, size_t) {
  if (void *Address = TheDevice.allocateHost(Bytes ? Bytes : 1))
    return Address;
  void *Address = ::operator new(Bytes, PlainAlignment);
  std::lock_guard Held(Lock);
  try {
    Plain.insert(Address);
  } catch (...) {
    ::operator delete(Address, PlainAlignment);
    throw;
  }
  return Address;
}

void HostMemory::do_deallocate(void *Address, size_t, size_t) {
  {
    std::lock_guard Held(Lock);
    if (Plain.erase(Address) == 0)
      return TheDevice.deallocateHost(Address);
  }
  // What was copied from it later may still be on its way.
  (void)TheDevice.synchronize();
  ::operator delete(Address, PlainAlignment);
}
