//===- TextMutator.cpp - changes texts by their tokens --------------------===//
//
// Most texts with a changed byte are refused at once. A number that makes way
// for another, a line that stands twice or a word from elsewhere is refused
// later, or not at all.
//
//===----------------------------------------------------------------------===//

#include "Target.h"
#include <cctype>
#include <vector>

using namespace remat::fuzz;

namespace {

struct Token {
  size_t Begin = 0, Length = 0;
};

bool isWord(char C) {
  return std::isalnum(static_cast<unsigned char>(C)) || C == '_' || C == '.' ||
         C == '#' || C == '%' || C == '!' || C == '-';
}

bool isNumber(std::string_view Text) {
  return !Text.empty() && (std::isdigit(static_cast<unsigned char>(Text[0])) ||
                           (Text[0] == '-' && Text.size() > 1));
}

/// Words and numbers; shapes fall into theirs.
std::vector<Token> findTokens(const std::string &Text) {
  std::vector<Token> Tokens;
  for (size_t At = 0; At < Text.size();) {
    size_t Begin = At;
    bool Digits = std::isdigit(static_cast<unsigned char>(Text[At]));
    auto Belongs = [&](char C) {
      return Digits ? std::isdigit(static_cast<unsigned char>(C)) || C == '.'
                    : isWord(C);
    };
    while (At < Text.size() && Belongs(Text[At]))
      ++At;
    if (At > Begin)
      Tokens.push_back({Begin, At - Begin});
    else
      ++At;
  }
  return Tokens;
}

const std::string_view Numbers[] = {"0",
                                    "1",
                                    "-1",
                                    "2",
                                    "3",
                                    "7",
                                    "8",
                                    "16",
                                    "255",
                                    "256",
                                    "257",
                                    "512",
                                    "65536",
                                    "2147483647",
                                    "2147483648",
                                    "4294967295",
                                    "4294967296",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "9223372036854775808",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "4611686018427387904",
                                    "0.5",
                                    "1.0e-30",
                                    "1e400",
                                    "nan",
                                    "0x7FC00000",
                                    "10000000"};

std::string_view viewOf(const std::string &Text, Token T) {
  return std::string_view(Text).substr(T.Begin, T.Length);
}

/// What may stand in the place of what: words of different kinds do not.
enum class Kind { Number, Size, Shape, Element, Value, Name, Syntax, Word };

Kind kindOf(const std::string &Text, Token T) {
  std::string_view Word = viewOf(Text, T);
  auto Digit = [&](size_t At) {
    return At < Word.size() &&
           std::isdigit(static_cast<unsigned char>(Word[At]));
  };
  char Behind = T.Begin + T.Length < Text.size() ? Text[T.Begin + T.Length] : 0;
  if (isNumber(Word))
    return Behind == 'x' ? Kind::Size : Kind::Number;
  if (Word[0] == 'x')
    return Digit(1) ? Kind::Shape : Kind::Word;
  if (((Word[0] == 'f' || Word[0] == 'i') && Digit(1)) ||
      (Word.starts_with("bf") && Digit(2)))
    return Kind::Element;
  if (Word[0] == '%')
    return Kind::Value;
  if (Word.find('.') != std::string_view::npos)
    return Kind::Name;
  for (std::string_view Fixed :
       {"tensor", "array", "dense", "func", "return", "attributes", "to"})
    if (Word == Fixed)
      return Kind::Syntax;
  return Kind::Word;
}

/// Another token of the kind of `Old`, or an odd number. Nothing if there is
/// none.
std::string pickLike(const std::string &Text, const std::vector<Token> &Tokens,
                     Token Old, Random &R) {
  static constexpr std::string_view Sizes[] = {
      "1", "2", "3", "4", "8", "1000000", "0", "4611686018427387904"};
  Kind Wanted = kindOf(Text, Old);
  if (Wanted == Kind::Number && R.oneIn(2))
    return std::string(R.pick(Numbers));
  if (Wanted == Kind::Size && R.oneIn(2))
    return std::string(R.pick(Sizes));
  for (int Try = 0; Try < 40; ++Try) {
    Token Other = R.pick(Tokens);
    if (viewOf(Text, Other) != viewOf(Text, Old) &&
        (kindOf(Text, Other) == Wanted || R.oneIn(400)))
      return std::string(viewOf(Text, Other));
  }
  return std::string();
}

/// A number becomes another number, a word another of the same kind.
void replaceToken(std::string &Text, Random &R) {
  std::vector<Token> Tokens = findTokens(Text);
  if (Tokens.empty())
    return;
  Token Old = R.pick(Tokens);
  if (std::string New = pickLike(Text, Tokens, Old, R); !New.empty())
    Text.replace(Old.Begin, Old.Length, New);
}

/// The same for all places of a word or number.
void replaceEverywhere(std::string &Text, Random &R) {
  std::vector<Token> Tokens = findTokens(Text);
  if (Tokens.empty())
    return;
  Token Chosen = R.pick(Tokens);
  std::string Old(viewOf(Text, Chosen));
  std::string New = pickLike(Text, Tokens, Chosen, R);
  if (New.empty())
    return;
  std::string Out;
  size_t At = 0;
  for (Token T : Tokens)
    if (viewOf(Text, T) == Old) {
      Out += Text.substr(At, T.Begin - At) + New;
      At = T.Begin + T.Length;
    }
  Text = Out + Text.substr(At);
}

/// A line is removed, repeated or changes places with another.
void changeLines(std::string &Text, Random &R) {
  std::vector<std::string> Lines(1);
  for (char C : Text)
    if (C == '\n')
      Lines.emplace_back();
    else
      Lines.back() += C;
  size_t At = R.draw(Lines.size()), Other = R.draw(Lines.size());
  switch (R.draw(3)) {
  case 0:
    Lines.erase(Lines.begin() + static_cast<ptrdiff_t>(At));
    break;
  case 1:
    Lines.insert(Lines.begin() + static_cast<ptrdiff_t>(Other),
                 std::string(Lines[At]));
    break;
  default:
    std::swap(Lines[At], Lines[Other]);
  }
  Text.clear();
  for (const std::string &Line : Lines)
    Text += (Text.empty() ? "" : "\n") + Line;
}

/// What stands between two marks moves to another place.
void copyRange(std::string &Text, Random &R) {
  static constexpr std::string_view Marks = ",{}[]()<> \n";
  size_t Begin = Text.find_first_of(Marks, R.draw(Text.size()));
  size_t To = Text.find_first_of(Marks, R.draw(Text.size()));
  if (Begin == std::string::npos || To == std::string::npos)
    return;
  size_t End = Begin;
  for (uint64_t N = 1 + R.draw(4); N > 0 && End != std::string::npos; --N)
    End = Text.find_first_of(Marks, End + 1);
  if (End == std::string::npos || End - Begin > 200)
    return;
  Text.insert(To, Text.substr(Begin, End - Begin));
}

void removeRange(std::string &Text, Random &R) {
  std::vector<Token> Tokens = findTokens(Text);
  if (Tokens.empty())
    return;
  size_t First = R.draw(Tokens.size());
  size_t Last = std::min(First + R.draw(4), Tokens.size() - 1);
  size_t Begin = Tokens[First].Begin;
  Text.erase(Begin, Tokens[Last].Begin + Tokens[Last].Length - Begin);
}

} // namespace

void remat::fuzz::mutateText(std::string &Input, Random &R) {
  if (Input.empty())
    return;
  switch (R.draw(8)) {
  case 0:
    return changeLines(Input, R);
  case 1:
    return copyRange(Input, R);
  case 2:
    return removeRange(Input, R);
  case 3:
  case 4:
    return replaceEverywhere(Input, R);
  default:
    return replaceToken(Input, R);
  }
}
