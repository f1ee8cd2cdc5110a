//===- Tokens.h - token files -----------------------------------*- C++ -*-===//
//
// llm.c's formats: a header int32[256] {magic, version, count, 0...}, then
// `count` tokens, all little-endian. Magic 20240520 and version 1 are tokens of
// uint16 (GPT-2's), 20240801 and 7 of uint32 (Llama 3's).
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_DATA_TOKENS_H
#define REMAT_RUNTIME_DATA_TOKENS_H

#include "remat/Support/File.h"
#include "remat/runtime/Result.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace remat::runtime {

/// What the header of a token file says.
struct TokenHeader {
  uint64_t Count = 0; ///< of tokens
  unsigned Width = 2; ///< bytes of one
};

/// Parses the header at the start of a file of `FileBytes` bytes. InvalidFile
/// when magic number, version or length are wrong.
Result<TokenHeader> parseTokenHeader(std::span<const uint8_t> Start,
                                     uint64_t FileBytes);

/// A token file that is read where its tokens are needed.
class TokenFile {
public:
  static Result<TokenFile> open(const std::string &Path);

  const std::string &getPath() const { return Path; }
  uint64_t getCount() const { return Header.Count; }
  /// Reads tokens from number `First` on, all of which are in the file. Several
  /// threads may read at once.
  Status read(uint64_t First, std::span<int64_t> Tokens) const;

private:
  std::string Path;
  InputFile File;
  TokenHeader Header;
};

/// Bytes of a file with these tokens; InvalidArgument beyond 2^31 - 1 tokens.
Result<std::vector<uint8_t>> formatTokens(std::span<const uint16_t> Tokens);
Result<std::vector<uint8_t>> formatTokens(std::span<const uint32_t> Tokens);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_DATA_TOKENS_H
