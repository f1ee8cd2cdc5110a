//===- Budget.cpp - a memory budget as a user writes it -------------------===//

#include "remat/Support/Budget.h"
#include "remat/Support/Numbers.h"
#include <cmath>

using namespace remat;

/// Takes `Suffix` off the end of `Text` if it stands there.
static bool consumeBack(std::string_view &Text, std::string_view Suffix) {
  if (!Text.ends_with(Suffix))
    return false;
  Text.remove_suffix(Suffix.size());
  return true;
}

std::optional<Budget> Budget::parse(std::string_view Text) {
  Budget Result;
  if (Text == "unlimited")
    return Result;
  if (Text == "smallest" || Text == "max") {
    Result.Kind = Text == "max" ? Kind::Max : Kind::Smallest;
    return Result;
  }
  std::string_view Number = Text;
  if (consumeBack(Number, "%")) {
    Result.Kind = Kind::PercentOfUnplanned;
    std::optional<double> Percent = parseReal(Number, 0);
    if (!Percent || *Percent == 0)
      return std::nullopt;
    Result.Percent = *Percent;
    return Result;
  }

  struct Unit {
    std::string_view Suffix;
    int64_t Bytes;
  };
  static constexpr Unit Units[] = {{"KiB", int64_t(1) << 10},
                                   {"MiB", int64_t(1) << 20},
                                   {"GiB", int64_t(1) << 30},
                                   {"TiB", int64_t(1) << 40},
                                   {"KB", 1000},
                                   {"MB", 1000000},
                                   {"GB", 1000000000},
                                   {"TB", 1000000000000},
                                   {"B", 1},
                                   {"K", int64_t(1) << 10},
                                   {"M", int64_t(1) << 20},
                                   {"G", int64_t(1) << 30},
                                   {"T", int64_t(1) << 40}};
  Result.Kind = Kind::Bytes;
  int64_t Scale = 1;
  for (const Unit &U : Units)
    if (consumeBack(Number, U.Suffix)) {
      Scale = U.Bytes;
      break;
    }
  if (std::optional<int64_t> Whole =
          parseInteger<int64_t>(Number, 0, INT64_MAX)) {
    if (*Whole > INT64_MAX / Scale)
      return std::nullopt;
    Result.Bytes = *Whole * Scale;
    return Result;
  }
  // "1.5GiB": a fraction needs a unit, and is rounded down to whole bytes.
  std::optional<double> Fraction = parseReal(Number, 0, 9.2e18 / double(Scale));
  if (Scale == 1 || !Fraction)
    return std::nullopt;
  Result.Bytes = int64_t(std::floor(*Fraction * double(Scale)));
  return Result;
}

std::string Budget::str() const {
  switch (Kind) {
  case Kind::Unlimited:
    return "unlimited";
  case Kind::Bytes:
    return std::to_string(Bytes);
  case Kind::PercentOfUnplanned:
    return formatReal(Percent) + "%";
  case Kind::Smallest:
    return "smallest";
  case Kind::Max:
    return "max";
  }
  return "";
}
