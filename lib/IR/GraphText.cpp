//===- GraphText.cpp - checks a graph text before MLIR parses it *- C++ -*-===//
//
// A scan of the tokens that matter: brackets, strings, comments, words and
// aliases. It understands just enough of MLIR's syntax to bound the parser's
// recursion and the printer's output.
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
class TextScanner {
public:
  TextScanner(StringRef Text, StringRef Name, MLIRContext &Context,
              int64_t MaxDepth)
      : Text(Text), Name(Name), Context(Context), MaxDepth(MaxDepth) {}

  LogicalResult scan();

private:
  InFlightDiagnostic emit(size_t Position) const;
  LogicalResult scanString();
  LogicalResult scanWord();
  LogicalResult scanAlias();
  LogicalResult scanBracket(char Char);
  StringRef takeWord();
  void endAliasBefore(StringRef Word);

  StringRef Text, Name;
  MLIRContext &Context;
  int64_t MaxDepth;
  size_t Position = 0;
  int64_t Depth = 0;
  /// Written out, how many attributes each alias stands for.
  llvm::StringMap<int64_t> AliasSizes;
  StringRef CurrentAlias;
};

/// A chain of aliases, each of which names the one before twice, is short but
/// does not end when it is printed.
constexpr int64_t MaxAliasSize = 1 << 16;
} // namespace

/// An error at a position of the text.
InFlightDiagnostic TextScanner::emit(size_t At) const {
  StringRef Before = Text.take_front(At);
  size_t Line = Before.count('\n') + 1;
  size_t LineBegin = Before.rfind('\n');
  size_t Column = LineBegin == StringRef::npos ? At + 1 : At - LineBegin;
  return emitError(FileLineColLoc::get(&Context, Name, Line, Column));
}

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
  StringRef Literal = Text.slice(Begin, Position);
  if (Position < Text.size())
    ++Position;
  endAliasBefore(Literal);

  // A string and a colon begin a location, "file":line:column, whose file a
  // diagnostic handler may open to show the line. A device would not end.
  if (!Text.substr(Position).ltrim().starts_with(":"))
    return success();
  llvm::sys::fs::file_status Status;
  if (llvm::sys::fs::status(unescape(Literal), Status) ||
      Status.type() == llvm::sys::fs::file_type::regular_file ||
      Status.type() == llvm::sys::fs::file_type::directory_file)
    return success();
  return emit(Begin - 1) << "location names a device or pipe";
}

StringRef TextScanner::takeWord() {
  size_t Begin = Position;
  while (Position < Text.size() &&
         (llvm::isAlnum(Text[Position]) || Text[Position] == '_' ||
          Text[Position] == '$' || Text[Position] == '.'))
    ++Position;
  return Text.slice(Begin, Position);
}

/// What uses an alias outside of definitions does not add to the last one.
void TextScanner::endAliasBefore(StringRef Word) {
  if (Depth == 0 &&
      (Word == "module" || Word == "builtin.module" || Word == "func.func"))
    CurrentAlias = "";
}

LogicalResult TextScanner::scanAlias() {
  size_t Begin = Position++;
  takeWord();
  StringRef Alias = Text.slice(Begin, Position);
  StringRef Rest = Text.substr(Position).ltrim();
  if (Depth == 0 && Rest.starts_with("=") && !Rest.starts_with("==")) {
    CurrentAlias = Alias;
    AliasSizes[Alias] = 1;
    return success();
  }
  auto Used = AliasSizes.find(Alias);
  if (CurrentAlias.empty() || Used == AliasSizes.end() || Alias == CurrentAlias)
    return success();
  int64_t &Size = AliasSizes[CurrentAlias];
  Size += Used->second;
  if (Size <= MaxAliasSize)
    return success();
  return emit(Begin) << "alias '" << CurrentAlias << "' stands for " << Size
                     << " attributes; at most " << MaxAliasSize << " are read";
}

LogicalResult TextScanner::scanWord() {
  size_t Begin = Position;
  StringRef Word = takeWord();
  endAliasBefore(Word);
  if (Word != "affine_map" && Word != "affine_set")
    return success();
  return emit(Begin) << "'" << Word << "' is not supported in graph files";
}

LogicalResult TextScanner::scanBracket(char Char) {
  if (StringRef("([{<").contains(Char) && ++Depth > MaxDepth)
    return emit(Position) << "brackets are nested " << Depth
                          << " deep; at most " << MaxDepth << " are read";
  // The arrow's head closes nothing. Unbalanced text is the parser's to refuse.
  bool Arrow = Char == '>' && Position > 0 && Text[Position - 1] == '-';
  if (StringRef(")]}>").contains(Char) && !Arrow && Depth > 0)
    --Depth;
  ++Position;
  return success();
}

LogicalResult TextScanner::scan() {
  while (Position < Text.size()) {
    char Char = Text[Position];
    LogicalResult Result = success();
    if (Text.substr(Position).starts_with("//"))
      Position = std::min(Text.find('\n', Position), Text.size());
    else if (Char == '"')
      Result = scanString();
    else if (llvm::isAlpha(Char) || Char == '_')
      Result = scanWord();
    else if (Char == '#' || Char == '!')
      Result = scanAlias();
    else
      Result = scanBracket(Char);
    if (failed(Result))
      return failure();
  }
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
