//===- Tokens.cpp - token files -------------------------------------------===//

#include "remat/runtime/Data/Tokens.h"
#include "lib/File.h"
#include "lib/Guard.h"
#include "ops/Op.h"
#include <algorithm>
#include <cstring>

using namespace remat::runtime;

static constexpr size_t HeaderInts = 256, HeaderBytes = HeaderInts * 4;

namespace {

struct TokenFormat {
  int32_t Magic, Version;
  unsigned Width;
};

constexpr TokenFormat Formats[] = {{20240520, 1, 2}, {20240801, 7, 4}};

} // namespace

Result<TokenHeader>
remat::runtime::parseTokenHeader(std::span<const uint8_t> Start,
                                 uint64_t FileBytes) {
  return guard([&]() -> Result<TokenHeader> {
    auto Fail = [](const std::string &Why) {
      return Error(ErrorCode::InvalidFile, Why);
    };
    if (FileBytes < HeaderBytes)
      return Fail("a token file of " + std::to_string(FileBytes) +
                  " bytes has no whole header of " +
                  std::to_string(HeaderBytes));
    int32_t Header[3];
    std::memcpy(Header, Start.data(), sizeof Header);
    const auto *Format = std::find_if(
        std::begin(Formats), std::end(Formats),
        [&](const TokenFormat &F) { return F.Magic == Header[0]; });
    if (Format == std::end(Formats))
      return Fail("no token file: it begins with " + std::to_string(Header[0]) +
                  ", not with " + std::to_string(Formats[0].Magic) + " or " +
                  std::to_string(Formats[1].Magic));
    if (Header[1] != Format->Version)
      return Fail("the token file is of version " + std::to_string(Header[1]) +
                  "; version " + std::to_string(Format->Version) + " is read");
    uint64_t Bytes = FileBytes - HeaderBytes;
    if (Header[2] < 0 ||
        static_cast<uint64_t>(Header[2]) * Format->Width != Bytes)
      return Fail("the token file names " + std::to_string(Header[2]) +
                  " tokens and has " + std::to_string(Bytes) +
                  " bytes of them");
    return TokenHeader{Bytes / Format->Width, Format->Width};
  });
}

Result<TokenFile> TokenFile::open(const std::string &Path) {
  return guard([&]() -> Result<TokenFile> {
    TokenFile Made;
    REMAT_TRY(toStatus(Made.File.open(Path)));
    std::vector<uint8_t> Start(
        std::min<uint64_t>(Made.File.getSize(), HeaderBytes));
    REMAT_TRY(toStatus(Made.File.read(0, Start.data(), Start.size())));
    Result<TokenHeader> Header = parseTokenHeader(Start, Made.File.getSize());
    if (!Header)
      return Header.getError().within(Path);
    Made.Path = Path;
    Made.Header = *Header;
    return Made;
  });
}

/// Reads tokens of one width by way of the end of the memory that they are
/// widened into, from its start on.
template <typename Token>
static Status readTokens(const remat::InputFile &File, uint64_t First,
                         std::span<int64_t> Tokens) {
  uint64_t Bytes = Tokens.size() * sizeof(Token);
  auto *Narrow =
      reinterpret_cast<char *>(Tokens.data()) + (Tokens.size_bytes() - Bytes);
  REMAT_TRY(
      toStatus(File.read(HeaderBytes + First * sizeof(Token), Narrow, Bytes)));
  for (size_t I = 0; I < Tokens.size(); ++I) {
    Token One;
    std::memcpy(&One, Narrow + I * sizeof(Token), sizeof One);
    Tokens[I] = One;
  }
  return {};
}

Status TokenFile::read(uint64_t First, std::span<int64_t> Tokens) const {
  return guard([&]() -> Status {
    return Header.Width == 2 ? readTokens<uint16_t>(File, First, Tokens)
                             : readTokens<uint32_t>(File, First, Tokens);
  });
}

template <typename Token>
static Result<std::vector<uint8_t>> format(std::span<const Token> Tokens) {
  return guard([&]() -> Result<std::vector<uint8_t>> {
    if (Tokens.size() > INT32_MAX)
      return Error(ErrorCode::InvalidArgument,
                   std::to_string(Tokens.size()) +
                       " tokens are more than a token file holds");
    const TokenFormat &Format = Formats[sizeof(Token) == 4];
    std::vector<uint8_t> Bytes(HeaderBytes + Tokens.size_bytes());
    int32_t Header[3] = {Format.Magic, Format.Version,
                         static_cast<int32_t>(Tokens.size())};
    std::memcpy(Bytes.data(), Header, sizeof Header);
    if (!Tokens.empty())
      std::memcpy(Bytes.data() + HeaderBytes, Tokens.data(),
                  Tokens.size_bytes());
    return Bytes;
  });
}

Result<std::vector<uint8_t>>
remat::runtime::formatTokens(std::span<const uint16_t> Tokens) {
  return format(Tokens);
}

Result<std::vector<uint8_t>>
remat::runtime::formatTokens(std::span<const uint32_t> Tokens) {
  return format(Tokens);
}
