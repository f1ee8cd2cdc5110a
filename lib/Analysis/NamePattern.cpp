//===- NamePattern.cpp - patterns of names of values ----------------------===//

#include "remat/Analysis/NamePattern.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace llvm;
using namespace remat;

/// Near names that a message lists.
static constexpr size_t MaxNear = 3;
/// The longest pattern: names of arguments and results are no longer.
static constexpr size_t MaxLength = 255;

/// Texts of options pass through text forms that blanks, commas, quotes and
/// braces would end.
static bool isNameCharacter(char Char) {
  return isAlnum(Char) || StringRef("_.-/:+@#$%()<>=|[]*?^!~").contains(Char);
}

std::optional<NamePattern> NamePattern::parse(StringRef Text) {
  if (Text.empty() || Text.size() > MaxLength || !all_of(Text, isNameCharacter))
    return std::nullopt;
  Expected<GlobPattern> Glob = GlobPattern::create(Text);
  if (!Glob) {
    consumeError(Glob.takeError());
    return std::nullopt;
  }
  return NamePattern(Text, std::move(*Glob));
}

bool NamePattern::isPlain() const {
  return StringRef(Text).find_first_of("*?[") == StringRef::npos;
}

bool NamePattern::matches(StringRef Name) const {
  if (Name == Text || Glob.match(Name))
    return true;
  for (size_t I = 1; I < Name.size(); ++I)
    if ((Name[I] == '/' || Name[I] == '#') &&
        (Name.take_front(I) == Text || Glob.match(Name.take_front(I))))
      return true;
  return false;
}

std::string remat::describeNearNames(const NamePattern &Pattern,
                                     ArrayRef<std::string> Names) {
  unsigned Most = std::max<size_t>(2, Pattern.getText().size() / 3);
  std::set<std::pair<unsigned, StringRef>> Near;
  auto Add = [&](StringRef Name) {
    unsigned Distance = Pattern.getText().edit_distance(
        Name, /*AllowReplacements=*/true, /*MaxEditDistance=*/Most);
    if (Distance <= Most)
      Near.insert({Distance, Name});
  };
  for (StringRef Name : Names) {
    Add(Name);
    for (size_t At = Name.find('/'); At != StringRef::npos;
         At = Name.find('/', At + 1))
      Add(Name.take_front(At));
  }
  std::string Text;
  size_t Listed = 0;
  for (auto [Distance, Name] : Near) {
    if (++Listed > MaxNear)
      break;
    Text += (Text.empty() ? "; near names: '" : ", '") + Name.str() + "'";
  }
  return Text;
}
