//===- Tokens.cpp - token files and batches -------------------------------===//

#include "remat/runtime/Tokens.h"
#include "lib/File.h"
#include "lib/Guard.h"
#include "ops/Op.h"
#include "remat/runtime/Philox.h"
#include <cstring>
#include <numeric>

using namespace remat::runtime;

static constexpr int32_t Magic = 20240520, Version = 1;
static constexpr size_t HeaderInts = 256, HeaderBytes = HeaderInts * 4;

/// How many tokens a file of `FileBytes` bytes that begins so holds.
static Result<uint64_t> readHeader(std::span<const uint8_t> Start,
                                   uint64_t FileBytes) {
  auto Fail = [](const std::string &Why) {
    return Error(ErrorCode::InvalidFile, Why);
  };
  if (FileBytes < HeaderBytes)
    return Fail("a token file of " + std::to_string(FileBytes) +
                " bytes has no whole header of " + std::to_string(HeaderBytes));
  int32_t Header[3];
  std::memcpy(Header, Start.data(), sizeof Header);
  if (Header[0] != Magic)
    return Fail("no token file: it begins with " + std::to_string(Header[0]) +
                ", not with " + std::to_string(Magic));
  if (Header[1] != Version)
    return Fail("the token file is of version " + std::to_string(Header[1]) +
                "; version " + std::to_string(Version) + " is read");
  uint64_t Bytes = FileBytes - HeaderBytes;
  if (Header[2] < 0 || static_cast<uint64_t>(Header[2]) != Bytes / 2 ||
      Bytes % 2 != 0)
    return Fail("the token file names " + std::to_string(Header[2]) +
                " tokens and has " + std::to_string(Bytes) + " bytes of them");
  return Bytes / 2;
}

Result<std::vector<uint16_t>>
remat::runtime::parseTokens(std::span<const uint8_t> Bytes) {
  return guard([&]() -> Result<std::vector<uint16_t>> {
    Result<uint64_t> Count = readHeader(Bytes, Bytes.size());
    if (!Count)
      return Count.getError();
    std::vector<uint16_t> Tokens(*Count);
    if (*Count)
      std::memcpy(Tokens.data(), Bytes.data() + HeaderBytes, *Count * 2);
    return Tokens;
  });
}

Result<std::vector<uint16_t>>
remat::runtime::readTokens(const std::string &Path) {
  return guard([&]() -> Result<std::vector<uint16_t>> {
    InputFile File;
    REMAT_TRY(toStatus(File.open(Path)));
    std::vector<uint8_t> Start(std::min<uint64_t>(File.getSize(), HeaderBytes));
    REMAT_TRY(toStatus(File.read(0, Start.data(), Start.size())));
    Result<uint64_t> Count = readHeader(Start, File.getSize());
    if (!Count)
      return Count.getError().within(Path);
    std::vector<uint16_t> Tokens(*Count);
    REMAT_TRY(toStatus(File.read(HeaderBytes, Tokens.data(), *Count * 2)));
    return Tokens;
  });
}

Result<std::vector<uint8_t>>
remat::runtime::formatTokens(std::span<const uint16_t> Tokens) {
  return guard([&]() -> Result<std::vector<uint8_t>> {
    if (Tokens.size() > INT32_MAX)
      return Error(ErrorCode::InvalidArgument,
                   std::to_string(Tokens.size()) +
                       " tokens are more than a token file holds");
    std::vector<uint8_t> Bytes(HeaderBytes + Tokens.size() * 2);
    int32_t Header[3] = {Magic, Version, static_cast<int32_t>(Tokens.size())};
    std::memcpy(Bytes.data(), Header, sizeof Header);
    if (!Tokens.empty())
      std::memcpy(Bytes.data() + HeaderBytes, Tokens.data(), Tokens.size() * 2);
    return Bytes;
  });
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

Result<TokenBatches> TokenBatches::create(std::vector<uint16_t> Tokens,
                                          uint64_t Batch, uint64_t Length,
                                          uint64_t Seed, uint64_t Bound) {
  return guard([&]() -> Result<TokenBatches> {
    auto Fail = [](const std::string &Why) {
      return Error(ErrorCode::InvalidArgument, Why);
    };
    if (Batch == 0 || Length == 0)
      return Fail("a batch of " + std::to_string(Batch) + " by " +
                  std::to_string(Length) + " tokens is empty");
    uint64_t Windows = Tokens.empty() ? 0 : (Tokens.size() - 1) / Length;
    if (Windows < Batch)
      return Fail(std::to_string(Tokens.size()) + " tokens are " +
                  std::to_string(Windows) + " windows of " +
                  std::to_string(Length) + "; a batch needs " +
                  std::to_string(Batch));
    for (size_t I = 0; Bound && I < Tokens.size(); ++I)
      if (Tokens[I] >= Bound)
        return Fail("token " + std::to_string(Tokens[I]) + " at position " +
                    std::to_string(I) + " is outside a vocabulary of " +
                    std::to_string(Bound));
    TokenBatches B;
    B.Tokens = std::move(Tokens);
    B.Batch = Batch;
    B.Length = Length;
    B.Seed = Seed;
    B.NumWindows = Windows;
    return B;
  });
}

/// The order of windows in an epoch (Durstenfeld's shuffle, 1964).
void TokenBatches::shuffle(uint64_t Epoch) {
  if (ShuffledEpoch == Epoch)
    return;
  ShuffledEpoch = Epoch;
  Order.resize(NumWindows);
  std::iota(Order.begin(), Order.end(), 0);
  constexpr uint64_t ShuffleId = 0x746f6b656e73; // "tokens"
  PhiloxStream Stream(Seed, ShuffleId, Epoch);
  for (uint64_t I = NumWindows - 1; I > 0; --I) {
    auto Words = Stream.getBlock(I);
    uint64_t Draw = uint64_t(Words[0]) << 32 | Words[1];
    std::swap(Order[I], Order[Draw % (I + 1)]);
  }
}

void TokenBatches::get(uint64_t Index, std::span<int64_t> Inputs,
                       std::span<int64_t> Targets) {
  uint64_t PerEpoch = getBatchesPerEpoch();
  shuffle(Index / PerEpoch);
  for (uint64_t Row = 0; Row < Batch; ++Row) {
    uint64_t First = Order[Index % PerEpoch * Batch + Row] * Length;
    for (uint64_t I = 0; I < Length; ++I) {
      uint64_t At = Row * Length + I;
      if (At < Inputs.size())
        Inputs[At] = Tokens[First + I];
      if (At < Targets.size())
        Targets[At] = Tokens[First + I + 1];
    }
  }
}
