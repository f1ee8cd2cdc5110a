//===- Budget.h - a memory budget as a user writes it -----------*- C++ -*-===//

#ifndef REMAT_SUPPORT_BUDGET_H
#define REMAT_SUPPORT_BUDGET_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace remat {

struct Budget {
  enum class Kind { Unlimited, Bytes, PercentOfUnplanned, Smallest, Max };
  enum Kind Kind = Kind::Unlimited;
  int64_t Bytes = 0;
  double Percent = 100.0;

  /// So many bytes; without a number of them unlimited.
  static Budget ofBytes(std::optional<int64_t> Bytes) {
    Budget B;
    B.Kind = Bytes ? Kind::Bytes : Kind::Unlimited;
    B.Bytes = Bytes.value_or(0);
    return B;
  }

  /// Parses "unlimited", "123", "4GiB" or "4G" (2^30 bytes each), "4GB" (10^9
  /// each), the same with K, M and T, "50%", "smallest", "max" (what the device
  /// has free).
  /// Returns nothing if the text is none of these or does not fit int64_t.
  static std::optional<Budget> parse(std::string_view Text);

  /// What `parse` reads as this budget.
  std::string str() const;
};

/// What `parse` takes, for messages.
inline constexpr std::string_view BudgetHelp =
    "bytes such as 4GiB or 4G (2^30 each), 4GB (10^9 each) or 1000000, a "
    "percentage of the unplanned peak such as 50%, smallest, max or unlimited";

} // namespace remat

#endif // REMAT_SUPPORT_BUDGET_H
