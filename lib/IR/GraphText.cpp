//===- GraphText.cpp - checks a graph text before MLIR parses it *- C++ -*-===//
//
// A scan of the tokens that matter: brackets, strings, comments, words, numbers
// of results and aliases. It understands just enough of MLIR's syntax to bound
// the parser's recursion, time and memory and the printer's output.
//
//===----------------------------------------------------------------------===//

#include "mlir/Bytecode/BytecodeReader.h"
#include "remat/IR/GraphFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace remat;

namespace {

/// What stands before a token, as far as it changes what the token means.
struct TokenBefore {
  enum { Other, Value, ValueColon, String } Kind = Other;
  StringRef Spelling; ///< a value's name, or what stands between the quotes
  size_t Begin = 0;
};

/// The definition of an alias.
struct Alias {
  uint64_t Size = 0; ///< characters, the aliases in it written out
  int64_t Depth = 0; ///< brackets and aliases around its innermost part
};

class TextScanner {
public:
  TextScanner(StringRef Text, StringRef Name, MLIRContext &Context,
              int64_t MaxDepth)
      : Text(Text), Name(Name), Context(Context), MaxDepth(MaxDepth),
        MaxWritten(uint64_t(1 << 20) + 64 * Text.size()) {}

  LogicalResult scan();

private:
  InFlightDiagnostic emit(size_t Position) const;
  size_t skipBlanks(size_t At) const;
  StringRef takeWord();
  StringRef takeName();

  LogicalResult scanToken(TokenBefore Before);
  LogicalResult scanString();
  LogicalResult scanColon(TokenBefore Before);
  LogicalResult scanWord(TokenBefore Before);
  LogicalResult scanAlias(TokenBefore Before);
  LogicalResult scanBracket(char Char);
  LogicalResult checkLocation(TokenBefore File) const;
  LogicalResult checkResults(size_t At, StringRef Value, StringRef Number);
  void endAlias();

  StringRef Text, Name;
  MLIRContext &Context;
  int64_t MaxDepth;
  uint64_t MaxWritten;
  size_t Position = 0;
  int64_t Depth = 0;
  TokenBefore Next; ///< what the scanned token is to the one after it
  /// The largest number of results that the text names, by value.
  llvm::StringMap<uint64_t> Results;
  uint64_t TotalResults = 0;
  /// The aliases defined so far, and the one whose definition is being read.
  llvm::StringMap<Alias> Aliases;
  StringRef CurrentName;
  Alias Current;
  size_t CurrentBegin = 0;
  int64_t CurrentDepth = 0; ///< brackets around the definition
  uint64_t TotalWritten = 0;
};

/// The longest number, shape or word. MLIR reads a number's digits and a
/// shape's dimensions in quadratic time, and a number with tens of thousands of
/// digits overruns the buffer in which LLVM converts it.
constexpr size_t MaxWordLength = 512;

/// Printing and walking recurse into what aliases stand for.
constexpr int64_t MaxAliasDepth = 1024;
} // namespace

/// An error at a position of the text.
InFlightDiagnostic TextScanner::emit(size_t At) const {
  StringRef Before = Text.take_front(At);
  size_t Line = Before.count('\n') + 1;
  size_t LineBegin = Before.rfind('\n');
  size_t Column = LineBegin == StringRef::npos ? At + 1 : At - LineBegin;
  return emitError(FileLineColLoc::get(&Context, Name, Line, Column));
}

/// Where the next token begins: behind blanks and comments, which end as MLIR
/// ends them.
size_t TextScanner::skipBlanks(size_t At) const {
  while (At < Text.size()) {
    if (Text.substr(At).starts_with("//"))
      At = std::min(Text.find_first_of("\n\r", At), Text.size());
    else if (llvm::isSpace(Text[At]) || Text[At] == '\0')
      ++At;
    else
      break;
  }
  return At;
}

static bool isWordCharacter(char Char) {
  return llvm::isAlnum(Char) || StringRef("_$.").contains(Char);
}

/// A bare identifier, a number, or a shape with its element type.
StringRef TextScanner::takeWord() {
  StringRef Word = Text.substr(Position).take_while(
      [](char Char) { return isWordCharacter(Char) || Char == '?'; });
  Position += Word.size();
  return Word;
}

/// What follows %, #, ! and the like: digits, or an identifier.
StringRef TextScanner::takeName() {
  StringRef Rest = Text.substr(Position);
  StringRef Taken = Rest.take_while(llvm::isDigit);
  if (Taken.empty())
    Taken = Rest.take_while(
        [](char Char) { return isWordCharacter(Char) || Char == '-'; });
  Position += Taken.size();
  return Taken;
}

//===----------------------------------------------------------------------===//
// Strings and locations
//===----------------------------------------------------------------------===//

/// Unescapes a string literal as MLIR does: \n, \t, \\, \" and \hh.
static std::string unescape(StringRef Literal) {
  std::string Result;
  for (size_t I = 0; I < Literal.size(); ++I) {
    if (Literal[I] != '\\' || I + 1 == Literal.size()) {
      Result += Literal[I];
      continue;
    }
    char Next = Literal[++I];
    if (I + 1 < Literal.size() && llvm::isHexDigit(Next) &&
        llvm::isHexDigit(Literal[I + 1]))
      Result += static_cast<char>(llvm::hexFromNibbles(Next, Literal[++I]));
    else
      Result += Next == 'n' ? '\n' : Next == 't' ? '\t' : Next;
  }
  return Result;
}

LogicalResult TextScanner::scanString() {
  size_t Begin = ++Position;
  while (Position < Text.size() && Text[Position] != '"' &&
         Text[Position] != '\n')
    Position += Text[Position] == '\\' ? 2 : 1;
  Position = std::min(Position, Text.size());
  Next = {TokenBefore::String, Text.slice(Begin, Position), Begin - 1};
  if (Position < Text.size())
    ++Position;
  // An operation in its generic form.
  if (Depth == 0 && Text.substr(skipBlanks(Position)).starts_with("("))
    endAlias();
  return success();
}

/// A string and a colon begin a location, "file":line:column, whose file a
/// diagnostic handler may open to show the line. A device would not end.
LogicalResult TextScanner::checkLocation(TokenBefore File) const {
  llvm::sys::fs::file_status Status;
  if (llvm::sys::fs::status(unescape(File.Spelling), Status) ||
      Status.type() == llvm::sys::fs::file_type::regular_file ||
      Status.type() == llvm::sys::fs::file_type::directory_file)
    return success();
  return emit(File.Begin) << "location names a device or pipe";
}

LogicalResult TextScanner::scanColon(TokenBefore Before) {
  ++Position;
  if (Before.Kind == TokenBefore::Value)
    Next = {TokenBefore::ValueColon, Before.Spelling, Before.Begin};
  return Before.Kind == TokenBefore::String ? checkLocation(Before) : success();
}

//===----------------------------------------------------------------------===//
// Numbers and words
//===----------------------------------------------------------------------===//

/// `%value#Number` or `%value:Number`: MLIR makes room for so many results of
/// the value before it knows how many there are. As each result's type stands
/// in the text, the numbers of all values together are below its size.
LogicalResult TextScanner::checkResults(size_t At, StringRef Value,
                                        StringRef Number) {
  uint64_t Count = 0;
  bool TooLarge = Number.getAsInteger(10, Count) || Count > Text.size();
  if (!TooLarge) {
    uint64_t &Known = Results[Value];
    TotalResults += std::max(Known, Count) - Known;
    Known = std::max(Known, Count);
    TooLarge = TotalResults > Text.size();
  }
  if (!TooLarge)
    return success();
  return emit(At) << "result number " << Number << " of value '%" << Value
                  << "' is more than a text of " << Text.size()
                  << " bytes can define";
}

/// The bits of an integer type such as i64 or ui8, also behind a shape; 0 if
/// the word is something else.
static uint64_t getIntegerWidth(StringRef Word) {
  StringRef Type = Word.substr(Word.rfind('x') + 1);
  if (!Type.consume_front("s"))
    Type.consume_front("u");
  uint64_t Width = 0;
  if (!Type.consume_front("i") || Type.empty() ||
      !llvm::all_of(Type, llvm::isDigit))
    return 0;
  return Type.getAsInteger(10, Width) ? UINT64_MAX : Width;
}

LogicalResult TextScanner::scanWord(TokenBefore Before) {
  size_t Begin = Position;
  StringRef Word = takeWord();
  if (Word.size() > MaxWordLength)
    return emit(Begin) << "a number, shape or word has " << Word.size()
                       << " characters; at most " << MaxWordLength
                       << " are read";
  if (Before.Kind == TokenBefore::ValueColon && llvm::isDigit(Word.front()))
    return checkResults(Begin, Before.Spelling, Word.take_while(llvm::isDigit));
  if (Depth == 0 && (Word == "module" || Word.contains('.')))
    endAlias();
  if (getIntegerWidth(Word) > 64)
    return emit(Begin) << "integer type '" << Word.substr(Word.rfind('x') + 1)
                       << "' is wider than 64 bits";
  if (Word != "affine_map" && Word != "affine_set")
    return success();
  return emit(Begin) << "'" << Word << "' is not supported in graph files";
}

//===----------------------------------------------------------------------===//
// Aliases
//===----------------------------------------------------------------------===//

/// What uses an alias outside of definitions does not add to the last one.
void TextScanner::endAlias() {
  if (CurrentName.empty())
    return;
  Current.Size += Position - CurrentBegin;
  Aliases[CurrentName] = Current;
  CurrentName = "";
}

LogicalResult TextScanner::scanAlias(TokenBefore Before) {
  size_t Begin = Position++;
  StringRef Taken = takeName();
  if (Before.Kind == TokenBefore::Value && Text[Begin] == '#' &&
      !Taken.empty() && llvm::isDigit(Taken.front()))
    return checkResults(Begin, Before.Spelling, Taken);

  StringRef Name = Text.slice(Begin, Position);
  if (Text.substr(skipBlanks(Position)).starts_with("=")) {
    endAlias();
    CurrentName = Name;
    CurrentBegin = Begin;
    CurrentDepth = Depth;
    Current = Alias();
    return success();
  }
  auto Used = Aliases.find(Name);
  if (Used == Aliases.end())
    return success();
  const Alias &Inner = Used->second;
  if (Depth + Inner.Depth + 1 > MaxAliasDepth)
    return emit(Begin) << "aliases and brackets are nested "
                       << Depth + Inner.Depth + 1 << " deep; at most "
                       << MaxAliasDepth << " are read";
  Current.Depth =
      std::max(Current.Depth, Depth - CurrentDepth + Inner.Depth + 1);
  uint64_t &Written = CurrentName.empty() ? TotalWritten : Current.Size;
  Written += Inner.Size;
  if (Written <= MaxWritten)
    return success();
  return emit(Begin) << "with its aliases written out this has " << Written
                     << " characters; at most " << MaxWritten << " are read";
}

//===----------------------------------------------------------------------===//
// The scan
//===----------------------------------------------------------------------===//

LogicalResult TextScanner::scanBracket(char Char) {
  // Resources name their own alignment, for which memory is taken.
  if (Text.substr(Position).starts_with("{-#"))
    return emit(Position) << "resources are not supported in graph files";
  if (StringRef("([{<").contains(Char)) {
    if (++Depth > MaxDepth)
      return emit(Position) << "brackets are nested " << Depth
                            << " deep; at most " << MaxDepth << " are read";
    Current.Depth = std::max(Current.Depth, Depth - CurrentDepth);
  }
  // The arrow's head closes nothing. Unbalanced text is the parser's to refuse.
  bool Arrow = Char == '>' && Position > 0 && Text[Position - 1] == '-';
  if (StringRef(")]}>").contains(Char) && !Arrow && Depth > 0)
    --Depth;
  ++Position;
  return success();
}

LogicalResult TextScanner::scanToken(TokenBefore Before) {
  char Char = Text[Position];
  switch (Char) {
  case '"':
    return scanString();
  case ':':
    return scanColon(Before);
  case '#':
  case '!':
    return scanAlias(Before);
  case '%':
    Next = {TokenBefore::Value, "", Position++};
    Next.Spelling = takeName();
    return success();
  case '@':
  case '^':
    ++Position;
    takeName();
    return success();
  default:
    return isWordCharacter(Char) || Char == '?' ? scanWord(Before)
                                                : scanBracket(Char);
  }
}

LogicalResult TextScanner::scan() {
  while ((Position = skipBlanks(Position)) < Text.size())
    if (failed(scanToken(std::exchange(Next, TokenBefore()))))
      return failure();
  return success();
}

LogicalResult remat::checkGraphText(llvm::MemoryBufferRef Text,
                                    MLIRContext &Context,
                                    const GraphFileOptions &Options) {
  StringRef Name = Text.getBufferIdentifier();
  if (Text.getBufferSize() > static_cast<uint64_t>(Options.MaxBytes))
    return emitError(FileLineColLoc::get(&Context, Name, 1, 1))
           << "text has " << Text.getBufferSize() << " bytes, more than the "
           << Options.MaxBytes << " of the largest graph file";
  if (isBytecode(Text)) {
    if (Options.AllowBytecode)
      return success();
    return emitError(FileLineColLoc::get(&Context, Name, 1, 1))
           << "this is MLIR bytecode; graphs are read as text only";
  }
  return TextScanner(Text.getBuffer(), Name, Context, Options.MaxDepth).scan();
}
