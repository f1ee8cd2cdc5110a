//===- NumberOptions.h - numbers as options of a tool -----------*- C++ -*-===//

#ifndef REMAT_TOOL_NUMBEROPTIONS_H
#define REMAT_TOOL_NUMBEROPTIONS_H

#include "remat/Support/Numbers.h"
#include <CLI/CLI.hpp>
#include <string>

namespace remat {

/// An option whose value is an integer of [Min, Max]; `Target` can be optional.
template <typename T, typename To>
CLI::Option *addInteger(CLI::App &App, const std::string &Name, To &Target,
                        T Min, T Max, const std::string &Help) {
  auto Parse = [&Target, Min, Max, Name](const std::string &Text) {
    std::optional<T> Value = parseInteger<T>(Text, Min, Max);
    if (!Value)
      throw CLI::ValidationError(
          Name, "expected an integer from " + std::to_string(Min) + " to " +
                    std::to_string(Max) + ", got '" + Text + "'");
    // NOLINTNEXTLINE(bugprone-optional-value-conversion): few are optional
    Target = *Value;
  };
  return App.add_option_function<std::string>(Name, Parse, Help)
      ->type_name("N");
}

/// An option whose value is a finite number that is not negative.
inline CLI::Option *addNonNegative(CLI::App &App, const std::string &Name,
                                   double &Target, const std::string &Help) {
  auto Parse = [&Target, Name](const std::string &Text) {
    std::optional<double> Value = parseReal(Text, 0);
    if (!Value)
      throw CLI::ValidationError(Name, "expected a number from 0, got '" +
                                           Text + "'");
    Target = *Value;
  };
  return App.add_option_function<std::string>(Name, Parse, Help)
      ->type_name("X");
}

} // namespace remat

#endif // REMAT_TOOL_NUMBEROPTIONS_H
