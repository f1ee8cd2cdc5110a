//===- Numbers.h - numbers that a user writes -------------------*- C++ -*-===//
//
// The one parser of numbers on command lines and in files: the whole text is a
// decimal number of the range, or there is none. Nothing wraps or is cut off,
// no leading zero means octal, and no number is infinite or NaN.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_NUMBERS_H
#define REMAT_SUPPORT_NUMBERS_H

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace remat {

/// The longest text of a number; nobody writes tens of thousands of digits.
inline constexpr std::size_t MaxNumberLength = 512;

/// Counts of steps stay so small that twice one is far from wrapping.
inline constexpr int64_t MaxSteps = 1'000'000'000;

template <typename T> std::optional<T> parseNumber(std::string_view Text) {
  if (Text.size() > MaxNumberLength)
    return std::nullopt;
  T Value{};
  const char *Begin = Text.data(), *End = Begin + Text.size();
  auto [Rest, Code] = std::from_chars(Begin, End, Value);
  if (Code != std::errc() || Rest != End)
    return std::nullopt;
  return Value;
}

/// An integer of [Min, Max].
template <typename T>
std::optional<T> parseInteger(std::string_view Text, T Min, T Max) {
  std::optional<T> Value = parseNumber<T>(Text);
  return Value && *Value >= Min && *Value <= Max ? Value : std::nullopt;
}

/// A finite number of [Min, Below).
inline std::optional<double>
parseReal(std::string_view Text, double Min,
          double Below = std::numeric_limits<double>::infinity()) {
  std::optional<double> Value = parseNumber<double>(Text);
  return Value && std::isfinite(*Value) && *Value >= Min && *Value < Below
             ? Value
             : std::nullopt;
}

/// The shortest text that is read as this number again.
inline std::string formatReal(double Value) {
  char Text[32]; // 17 digits, sign, point and exponent
  auto [End, Code] = std::to_chars(Text, Text + sizeof(Text), Value);
  return std::string(Text, Code == std::errc() ? End : Text);
}

} // namespace remat

#endif // REMAT_SUPPORT_NUMBERS_H
