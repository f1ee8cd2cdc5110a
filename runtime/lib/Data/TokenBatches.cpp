//===- TokenBatches.cpp - windows of token files --------------------------===//

#include "lib/Data/TokenBatches.h"
#include "lib/Guard.h"
#include "ops/Op.h"
#include <algorithm>
#include <optional>

using namespace remat::runtime;

static constexpr uint64_t ShuffleId = 0x746f6b656e73; // "tokens"

/// How many tokens are compared with the bound before the first step.
static constexpr uint64_t CheckedAtOnce = uint64_t(1) << 26;

static uint64_t countWindows(uint64_t Tokens, uint64_t Length) {
  return Tokens ? (Tokens - 1) / Length : 0;
}

TokenBatches::TokenBatches(std::vector<TokenFile> TheFiles,
                           const Sizes &TheSizes, uint64_t NumWindows,
                           uint64_t Seed)
    : Files(std::move(TheFiles)), S(TheSizes), NumWindows(NumWindows),
      Order(NumWindows, Seed, ShuffleId) {
  uint64_t First = 0;
  for (const TokenFile &F : Files) {
    FirstWindow.push_back(First);
    First += countWindows(F.getCount(), S.Length);
  }
}

static std::string nameFiles(const std::vector<TokenFile> &Files) {
  std::string Name = Files.empty() ? "no file" : Files.front().getPath();
  if (Files.size() > 1)
    Name += " and " + std::to_string(Files.size() - 1) + " more";
  return Name;
}

Result<std::unique_ptr<TokenBatches>>
TokenBatches::create(std::vector<TokenFile> Files, const Sizes &Sizes,
                     uint64_t Seed) {
  return guard([&]() -> Result<std::unique_ptr<TokenBatches>> {
    auto Fail = [](const std::string &Why) {
      return Error(ErrorCode::InvalidArgument, Why);
    };
    if (Sizes.Batch == 0 || Sizes.Length == 0)
      return Fail("a batch of " + std::to_string(Sizes.Batch) + " by " +
                  std::to_string(Sizes.Length) + " tokens is empty");
    uint64_t Windows = 0, Tokens = 0;
    for (const TokenFile &F : Files) {
      Tokens += F.getCount();
      Windows += countWindows(F.getCount(), Sizes.Length);
    }
    uint64_t Rows = Sizes.Batch * Sizes.Shares;
    if (Windows < Rows)
      return Fail(nameFiles(Files) + ": " + std::to_string(Tokens) +
                  " tokens are " + std::to_string(Windows) + " windows of " +
                  std::to_string(Sizes.Length) + "; a batch needs " +
                  std::to_string(Rows));
    std::unique_ptr<TokenBatches> Made(
        new TokenBatches(std::move(Files), Sizes, Windows, Seed));
    REMAT_TRY(Made->checkFirst());
    return Made;
  });
}

//===----------------------------------------------------------------------===//
// The bound
//===----------------------------------------------------------------------===//

Status TokenBatches::check(const TokenFile &File, uint64_t First,
                           std::span<const int64_t> Tokens) const {
  auto Bound = static_cast<int64_t>(S.Bound);
  for (size_t I = 0; Bound && I < Tokens.size(); ++I)
    if (Tokens[I] >= Bound)
      return Error(ErrorCode::InvalidData,
                   File.getPath() + ": token " + std::to_string(Tokens[I]) +
                       " at position " + std::to_string(First + I) +
                       " is outside a vocabulary of " + std::to_string(Bound));
  return {};
}

Status TokenBatches::checkFirst() const {
  uint64_t Left = S.Bound ? CheckedAtOnce : 0;
  std::vector<int64_t> Tokens(1 << 16);
  for (const TokenFile &F : Files)
    for (uint64_t At = 0; At < F.getCount() && Left; At += Tokens.size()) {
      Tokens.resize(std::min({uint64_t(1) << 16, F.getCount() - At, Left}));
      REMAT_TRY(F.read(At, Tokens));
      REMAT_TRY(check(F, At, Tokens));
      Left -= Tokens.size();
    }
  return {};
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// Reads a window and the token behind it.
Status TokenBatches::readWindow(uint64_t Window,
                                std::span<int64_t> Tokens) const {
  auto Behind =
      std::upper_bound(FirstWindow.begin(), FirstWindow.end(), Window);
  auto Number = static_cast<size_t>(Behind - FirstWindow.begin() - 1);
  uint64_t First = (Window - FirstWindow[Number]) * S.Length;
  REMAT_TRY(Files[Number].read(First, Tokens));
  return check(Files[Number], First, Tokens);
}

Status TokenBatches::get(uint64_t Step, std::span<int64_t> Inputs,
                         std::span<int64_t> Targets, uint64_t Share) const {
  return guard([&]() -> Status {
    uint64_t PerEpoch = getBatchesPerEpoch();
    std::vector<uint64_t> Windows(S.Batch);
    Order.get(Step / PerEpoch, Step % PerEpoch * getRows() + Share * S.Batch,
              Windows);
    std::vector<int64_t> Tokens(S.Length + 1);
    for (uint64_t Row = 0; Row < S.Batch; ++Row) {
      REMAT_TRY(readWindow(Windows[Row], Tokens));
      if (!Inputs.empty())
        std::copy_n(Tokens.begin(), S.Length, &Inputs[Row * S.Length]);
      if (!Targets.empty())
        std::copy_n(Tokens.begin() + 1, S.Length, &Targets[Row * S.Length]);
    }
    return {};
  });
}

//===----------------------------------------------------------------------===//
// The inputs of a program
//===----------------------------------------------------------------------===//

namespace {

/// The arguments that ask for tokens and for targets.
struct TokenArguments {
  std::optional<uint32_t> Tokens, Targets;
  TokenBatches::Sizes Sizes;
};

class TokenSource final : public BatchSource {
public:
  TokenSource(const Program &P, const TokenArguments &A,
              std::unique_ptr<TokenBatches> Batches, const DataShare &Share)
      : BatchSource(Share), Batches(std::move(Batches)),
        Elements(A.Sizes.Batch * A.Sizes.Length), HasTokens(A.Tokens) {
    for (std::optional<uint32_t> Number : {A.Tokens, A.Targets})
      if (Number) {
        Arguments.push_back(*Number);
        Types.push_back(P.Tensors[P.Arguments[*Number].Tensor].Type);
      }
  }

  uint64_t getBatchesPerEpoch() const override {
    return Batches->getBatchesPerEpoch();
  }

protected:
  Status fill(uint64_t Step, uint64_t Number, Batch &To) const override;

private:
  std::unique_ptr<TokenBatches> Batches;
  uint64_t Elements;
  bool HasTokens; ///< the first argument asks for tokens, not for targets
  std::vector<remat::ElementType> Types; ///< by argument
};

} // namespace

Status TokenSource::fill(uint64_t Step, uint64_t Number, Batch &To) const {
  std::vector<int64_t> Ids(Elements * Types.size());
  std::span<int64_t> Inputs(Ids.data(), HasTokens ? Elements : 0);
  REMAT_TRY(Batches->get(Step, Inputs, std::span(Ids).subspan(Inputs.size()),
                         Number));
  for (size_t I = 0; I < Types.size(); ++I) {
    To[I].Bytes.resize(Elements * getByteWidth(Types[I]));
    const int64_t *From = &Ids[I * Elements];
    if (Types[I] == DType::I64)
      std::copy_n(From, Elements, reinterpret_cast<int64_t *>(&To[I].Bytes[0]));
    else
      std::copy_n(From, Elements, reinterpret_cast<int32_t *>(&To[I].Bytes[0]));
  }
  return {};
}

/// Finds the inputs that ask for tokens; both must have one shape, whose last
/// dimension is the sequence and whose other ones are the batch.
static Result<TokenArguments> findArguments(const Program &P) {
  auto Fail = [](const std::string &Why) {
    return Error(ErrorCode::InvalidArgument, Why);
  };
  TokenArguments Found;
  uint64_t &Bound = Found.Sizes.Bound;
  const Tensor *Shape = nullptr;
  for (uint32_t I = 0; I < P.Arguments.size(); ++I) {
    const Argument &A = P.Arguments[I];
    if (A.Data.empty())
      continue;
    std::optional<uint32_t> &Slot =
        A.Data == "tokens" ? Found.Tokens : Found.Targets;
    if (Slot)
      return Fail("inputs '" + P.Arguments[*Slot].Name + "' and '" + A.Name +
                  "' both ask for " + A.Data);
    Slot = I;
    const Tensor &T = P.Tensors[A.Tensor];
    if (T.Type != DType::I32 && T.Type != DType::I64)
      return Fail("input '" + A.Name + "' asks for tokens but is no integer");
    if (Shape && Shape->Shape != T.Shape)
      return Fail("inputs '" + P.Arguments[*Found.Tokens].Name + "' and '" +
                  P.Arguments[*Found.Targets].Name + "' have different shapes");
    Shape = &T;
    if (A.Bound > 0)
      Bound = Bound ? std::min<uint64_t>(Bound, A.Bound) : A.Bound;
    // A token that an i32 does not hold is none of its vocabulary.
    if (T.Type == DType::I32 && !Bound)
      Bound = uint64_t(1) << 31;
  }
  if (!Shape)
    return Fail("no input of the graph asks for tokens; mark one with "
                "remat.data = #remat.data<tokens>");
  Found.Sizes.Length = Shape->Shape.empty() ? 1 : Shape->Shape.back();
  Found.Sizes.Batch =
      Found.Sizes.Length ? Shape->NumElements / Found.Sizes.Length : 0;
  return Found;
}

Result<std::unique_ptr<BatchSource>>
remat::runtime::openTokens(const Program &P,
                           const std::vector<std::string> &Paths, uint64_t Seed,
                           const DataShare &Share) {
  Result<TokenArguments> Found = findArguments(P);
  if (!Found)
    return Found.getError();
  Found->Sizes.Shares = Share.Count;
  std::vector<TokenFile> Files;
  for (const std::string &Path : Paths) {
    Result<TokenFile> File = TokenFile::open(Path);
    if (!File)
      return File.getError();
    Files.push_back(std::move(*File));
  }
  auto Batches = TokenBatches::create(std::move(Files), Found->Sizes, Seed);
  if (!Batches)
    return Batches.getError();
  return std::unique_ptr<BatchSource>(
      std::make_unique<TokenSource>(P, *Found, std::move(*Batches), Share));
}
