//===- Modules.h - which binaries a process is made of ----------*- C++ -*-===//

#ifndef REMAT_SUPPORT_MODULES_H
#define REMAT_SUPPORT_MODULES_H

#include <span>
#include <string>
#include <string_view>

namespace remat {

/// The program or library that holds `Address`, so that no other one has the
/// same text: the build identifier that the linker wrote, else path, size and
/// time of its file. "" where no module holds the address.
std::string describeModuleOf(const void *Address);

/// The same of all loaded libraries whose file names begin with one of
/// `Prefixes`, in an order that does not depend on when they were loaded.
std::string describeModules(std::span<const std::string_view> Prefixes);

} // namespace remat

#endif // REMAT_SUPPORT_MODULES_H
