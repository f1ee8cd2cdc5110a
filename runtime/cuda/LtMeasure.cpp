//===- LtMeasure.cpp - the fastest algorithm of a matrix product ----------===//

#include "cuda/LtMatmul.h"
#include <algorithm>
#include <random>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

/// Milliseconds of one run, the least of three means of five.
Result<double> LtMatmul::time(const Driver &D, Stream S,
                              const MatmulAddresses &Where) {
  Event Begin = nullptr, End = nullptr;
  D.EventCreate(&Begin, 0);
  D.EventCreate(&End, 0);
  double Best = 1e30;
  Status Failed = run(Where, S);
  for (int Try = 0; Failed && Try < 3; ++Try) {
    D.EventRecord(Begin, S);
    for (int I = 0; Failed && I < 5; ++I)
      Failed = run(Where, S);
    D.EventRecord(End, S);
    if (Failed)
      Failed = D.check(D.EventSynchronize(End), "measuring a matrix product");
    float Ms = 0;
    if (Failed && D.EventElapsed(&Ms, Begin, End) == Success)
      Best = std::min(Best, Ms / 5.0);
  }
  D.EventDestroy(Begin);
  D.EventDestroy(End);
  if (!Failed)
    return Failed.getError();
  return Best;
}

namespace {
/// Where the highest bytes of a float have its exponent.
struct FloatFormat {
  size_t Bytes;
  uint8_t High;       ///< exponent bits of the highest byte
  uint8_t HighRandom; ///< its sign and mantissa, which are random
  uint8_t NextRandom; ///< the random bits of the byte below
};
} // namespace

/// A type that products are not made of has no format here.
static FloatFormat getFloatFormat(DType Type) {
  switch (Type) {
  case DType::F32:
    return {4, 0x3f, 0x80, 0x7f};
  case DType::BF16:
    return {2, 0x3f, 0x80, 0x7f};
  case DType::F16:
    return {2, 0x38, 0x83, 0xff};
  case DType::I32:
  case DType::I64:
  case DType::I1:
  case DType::F8E4M3FN:
    break;
  }
  __builtin_unreachable(); // products are checked to be of floats
}

/// Random numbers below 1 of either sign: 4 MiB of them.
static std::vector<uint8_t> makePattern(const FloatFormat &Format) {
  std::vector<uint8_t> Bytes(4 << 20);
  std::mt19937_64 Random(1);
  for (size_t I = 0; I < Bytes.size(); ++I) {
    auto Byte = static_cast<uint8_t>(Random());
    size_t Place = I % Format.Bytes;
    if (Place == Format.Bytes - 1)
      Byte = Format.High | (Byte & Format.HighRandom);
    else if (Place == Format.Bytes - 2)
      Byte &= Format.NextRandom;
    Bytes[I] = Byte;
  }
  return Bytes;
}

namespace {
/// Scratch memory of the measurement, filled with small random numbers.
class Scratch {
public:
  Scratch(const Driver &D, Stream S) : D(D), S(S) {}
  ~Scratch() {
    for (Address A : Owned)
      D.MemFree(A);
  }

  Result<void *> allocate(uint64_t Bytes, DType Type) {
    Address At = 0;
    if (Status Made = D.check(D.MemAlloc(&At, std::max<uint64_t>(Bytes, 256)),
                              "measuring a matrix product needs " +
                                  std::to_string(Bytes) + " bytes");
        !Made)
      return Made.getError();
    Owned.push_back(At);
    std::vector<uint8_t> Pattern = makePattern(getFloatFormat(Type));
    for (uint64_t Done = 0; Done < Bytes; Done += Pattern.size())
      D.CopyIn(At + Done, Pattern.data(),
               std::min<uint64_t>(Pattern.size(), Bytes - Done), S);
    D.StreamSynchronize(S);
    return reinterpret_cast<void *>(At);
  }

private:
  const Driver &D;
  Stream S;
  std::vector<Address> Owned;
};
} // namespace

Status LtMatmul::measure(const Driver &D, Stream S) {
  std::vector<LtHeuristic> Candidates;
  if (Status Asked = suggest(32, Candidates); !Asked)
    return Asked;
  Scratch Memory(D, S);
  uint64_t Width = getByteWidth(P.Type);
  MatmulAddresses Where;
  auto Allocate = [&](auto &Out, uint64_t Bytes, DType Type) -> Status {
    remat::runtime::Result<void *> At = Memory.allocate(Bytes, Type);
    if (!At)
      return At.getError();
    Out = *At;
    return {};
  };
  auto Batches = [&](int64_t Stride) { return Stride ? P.Batch : 1; };
  if (Status A =
          Allocate(Where.Lhs, P.M * P.K * Batches(P.LhsStride) * Width, P.Type);
      !A)
    return A;
  if (Status A =
          Allocate(Where.Rhs, P.K * P.N * Batches(P.RhsStride) * Width, P.Type);
      !A)
    return A;
  if (Status A = Allocate(Where.Bias, P.N * 4, P.BiasType); !A)
    return A;
  uint64_t ResultBytes = P.M * P.N * P.Batch * getByteWidth(P.ResultType);
  if (Status A = Allocate(Where.Result, ResultBytes, P.ResultType); !A)
    return A;
  uint64_t AddendBytes = P.HasAddend ? ResultBytes : 0;
  if (Status A = Allocate(Where.Addend, AddendBytes, P.ResultType); !A)
    return A;
  if (Status A = Allocate(Where.Workspace, P.WorkspaceBytes, DType::F32); !A)
    return A;
  double Best = 1e30;
  Algorithm Fastest = Candidates.front().Value;
  for (const LtHeuristic &Candidate : Candidates) {
    use(Candidate.Value);
    remat::runtime::Result<double> Ms = time(D, S, Where);
    if (Ms && *Ms < Best) {
      Best = *Ms;
      Fastest = Candidate.Value;
    }
  }
  use(Fastest);
  return {};
}
