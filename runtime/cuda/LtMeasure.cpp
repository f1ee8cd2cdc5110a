//===- LtMeasure.cpp - the time of a matrix product -----------------------===//

#include "cuda/LtMeasure.h"
#include "ops/Numeric.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

/// Random numbers with the distribution of what networks compute with: how much
/// power a product takes, which decides a GPU's clock, depends on its numbers.
static std::vector<char> makeNumbers(DType Type) {
  constexpr size_t Count = 1 << 21;
  std::mt19937 Random(1);
  std::normal_distribution<float> Normal;
  std::vector<float> Numbers(Count);
  for (float &X : Numbers)
    X = Normal(Random);
  std::vector<char> Bytes(Count * getByteWidth(Type));
  storeFloats(Type, Bytes.data(), 0, Count, Numbers.data());
  return Bytes;
}

LtMeasure::~LtMeasure() {
  for (std::vector<Event> *Events : {&Begins, &Ends})
    for (Event Made : *Events)
      D.EventDestroy(Made);
  for (Address A : Owned)
    D.MemFree(A);
}

Result<void *> LtMeasure::allocate(uint64_t Bytes, DType Type) {
  Address At = 0;
  if (Status Made = D.check(D.MemAlloc(&At, std::max<uint64_t>(Bytes, 256)),
                            "measuring a matrix product needs " +
                                std::to_string(Bytes) + " bytes");
      !Made)
    return Made.getError();
  Owned.push_back(At);
  std::vector<char> &Numbers = NumbersOf[Type];
  if (Numbers.empty())
    Numbers = makeNumbers(Type);
  for (uint64_t Done = 0; Done < Bytes; Done += Numbers.size())
    D.CopyIn(At + Done, Numbers.data(),
             std::min<uint64_t>(Numbers.size(), Bytes - Done), S);
  D.StreamSynchronize(S);
  return reinterpret_cast<void *>(At);
}

Status LtMeasure::allocate() {
  Status Made;
  auto Allocate = [&](auto &Out, uint64_t Bytes, DType Type) {
    if (!Made)
      return;
    if (Result<void *> At = allocate(Bytes, Type))
      Out = *At;
    else
      Made = At.getError();
  };
  auto Batches = [&](int64_t Stride) { return Stride ? P.Batch : 1; };
  uint64_t Width = getByteWidth(P.Type);
  uint64_t ResultBytes = P.M * P.N * P.Batch * getByteWidth(P.ResultType);
  Allocate(Where.Lhs, P.M * P.K * Batches(P.LhsStride) * Width, P.Type);
  Allocate(Where.Rhs, P.K * P.N * Batches(P.RhsStride) * Width, P.Type);
  Allocate(Where.Bias, P.N * 4, P.BiasType);
  Allocate(Where.Result, ResultBytes, P.ResultType);
  Allocate(Where.Addend, P.HasAddend ? ResultBytes : 0, P.ResultType);
  Allocate(Where.Workspace, P.WorkspaceBytes, DType::F32);
  void *ToCopy = nullptr;
  Allocate(ToCopy, 2 * CopiedBytes, P.Type);
  Copied = reinterpret_cast<Address>(ToCopy);
  return Made ? startClock() : Made;
}

/// The events, and the time of a copy.
Status LtMeasure::startClock() {
  for (std::vector<Event> *Events : {&Begins, &Ends})
    for (int I = 0; I < MostRuns; ++I) {
      Event New = nullptr;
      if (Status Done =
              D.check(D.EventCreate(&New, 0), "measuring a matrix product");
          !Done)
        return Done;
      Events->push_back(New);
    }
  for (Event At : {Begins[0], Begins[1], Ends[1]}) {
    // The second copy counts.
    D.EventRecord(At, S);
    D.CopyWithin(Copied, Copied + CopiedBytes, CopiedBytes, S);
  }
  Result<float> Ms = getElapsed(Begins[1], Ends[1]);
  if (!Ms)
    return Ms.getError();
  CopyMs = std::max(double(*Ms), 1e-3);
  return {};
}

Result<float> LtMeasure::getElapsed(Event From, Event To) {
  float Ms = 0;
  Status Done = D.check(D.EventSynchronize(To), "measuring a matrix product");
  if (Done)
    Done = D.check(D.EventElapsed(&Ms, From, To), "measuring a time");
  if (!Done)
    return Done.getError();
  return Ms;
}

Result<double> LtMeasure::run(int Runs, int Copies) {
  for (int I = 0; I < Runs; ++I) {
    for (int Copy = 0; Copy < Copies; ++Copy)
      D.CopyWithin(Copied, Copied + CopiedBytes, CopiedBytes, S);
    D.EventRecord(Begins[I], S);
    Status Ran = Product.run(Where, S);
    D.EventRecord(Ends[I], S);
    if (!Ran)
      return Ran.getError();
  }
  double Sum = 0;
  for (int I = 0; I < Runs; ++I) {
    Result<float> Ms = getElapsed(Begins[I], Ends[I]);
    if (!Ms)
      return Ms.getError();
    Sum += *Ms;
  }
  return Sum / Runs;
}

Result<double> LtMeasure::time(const Algorithm &Value, double AtLeastMs,
                               double TooLong) {
  Product.use(Value);
  // The library loads a kernel when it runs first.
  if (Result<double> First = run(1, 0); !First)
    return First;
  Result<double> Once = run(1, 1);
  if (!Once || *Once > TooLong)
    return Once;
  double Runs = std::ceil(AtLeastMs / std::max(*Once, 1e-3));
  return run(static_cast<int>(std::clamp(Runs, 1.0, double(MostRuns))),
             countCopies(*Once));
}

int LtMeasure::countCopies(double Ms) const {
  double Share = Ms * 2 / 3 / CopyMs;
  return static_cast<int>(std::clamp(std::round(Share), 1.0, 64.0));
}

Result<double> LtMeasure::timeLong(const Algorithm &Value, double RunMs) {
  Product.use(Value);
  Result<double> Once = run(1, 1);
  if (!Once)
    return Once;
  int Copies = countCopies(*Once);
  double BatchMs = MostRuns * std::max(*Once + Copies * CopyMs, 1e-3);
  int HalfOfBatches = std::max(1, static_cast<int>(RunMs / 2 / BatchMs));
  double Sum = 0;
  for (int Batch = 0; Batch < 2 * HalfOfBatches; ++Batch) {
    Result<double> Ms = run(MostRuns, Copies);
    if (!Ms)
      return Ms;
    if (Batch >= HalfOfBatches)
      Sum += *Ms;
  }
  return Sum / HalfOfBatches;
}

Result<std::vector<float>> LtMeasure::sample(const Algorithm &Value) {
  Product.use(Value);
  if (Status Ran = Product.run(Where, S); !Ran)
    return Ran.getError();
  uint64_t Width = getByteWidth(P.ResultType);
  uint64_t Count = uint64_t(P.M) * P.N * P.Batch;
  uint64_t Some = std::min<uint64_t>(Count, 1 << 18);
  auto At = reinterpret_cast<Address>(Where.Result);
  std::vector<char> Bytes(2 * Some * Width);
  D.CopyOut(Bytes.data(), At, Some * Width, S);
  D.CopyOut(Bytes.data() + Some * Width, At + (Count - Some) * Width,
            Some * Width, S);
  if (Status Done = D.check(D.StreamSynchronize(S), "reading a matrix product");
      !Done)
    return Done.getError();
  std::vector<float> Numbers(2 * Some);
  loadFloats(P.ResultType, Bytes.data(), 0, Numbers.size(), Numbers.data());
  return Numbers;
}
