//===- NamePattern.h - patterns of names of values --------------*- C++ -*-===//

#ifndef REMAT_ANALYSIS_NAMEPATTERN_H
#define REMAT_ANALYSIS_NAMEPATTERN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/GlobPattern.h"
#include <optional>
#include <string>

namespace remat {

/// What a user writes to name values: a name or a glob ("h.*/gelu": * stands
/// for any characters, ? for one, [ab] for one of these), or the path of a
/// scope, which stands for all within.
class NamePattern {
public:
  /// Nothing if `Text` is empty, has a character that no such name has, or an
  /// open bracket.
  static std::optional<NamePattern> parse(llvm::StringRef Text);

  /// Whether it is the name, matches it, or names a scope around it. Of "a/n#1"
  /// "a/n" is one.
  bool matches(llvm::StringRef Name) const;

  llvm::StringRef getText() const { return Text; }
  /// Whether it names one thing only.
  bool isPlain() const;

private:
  NamePattern(llvm::StringRef Text, llvm::GlobPattern Glob)
      : Text(Text), Glob(std::move(Glob)) {}

  std::string Text;
  llvm::GlobPattern Glob;
};

/// What `NamePattern::parse` takes, for messages.
inline constexpr llvm::StringLiteral NamePatternHelp =
    "the name of a value or scope, or a glob such as h.*/gelu";

/// "; near names: 'a', 'b'", the names that are spelled most like a pattern
/// which matched none; "" where none is.
std::string describeNearNames(const NamePattern &Pattern,
                              llvm::ArrayRef<std::string> Names);

} // namespace remat

#endif // REMAT_ANALYSIS_NAMEPATTERN_H
