//===- Matmul.cpp - matrix products by cuBLASLt ---------------------------===//
//
// cuBLASLt is column-major: a row-major matrix is its transpose there. So the
// row-major product lhs * rhs is asked for as rhs^T * lhs^T, whose column-major
// result is the row-major one.
//
//===----------------------------------------------------------------------===//

#include "cuda/Matmul.h"
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

//===----------------------------------------------------------------------===//
// The library's interface: names, types and numbers of cublasLt.h
//===----------------------------------------------------------------------===//

namespace {

using LtStatus = int;
using LtHandle = struct OpaqueLt *;
using LtDesc = struct OpaqueLtDesc *;
using LtLayout = struct OpaqueLtLayout *;
using LtPreference = struct OpaqueLtPreference *;

struct LtHeuristic {
  Algorithm Value;
  size_t WorkspaceBytes;
  LtStatus State;
  float Waves;
  int Reserved[4];
};

constexpr int Compute32F = 68;
constexpr int DescTransA = 3, DescTransB = 4, DescEpilogue = 7, DescBias = 8,
              DescBiasType = 26;
constexpr int LayoutBatch = 5, LayoutStride = 6;
constexpr int PreferWorkspace = 1, PreferReduction = 3, PreferAlignmentA = 5;
constexpr int EpilogueBias = 4;
/// Partial products are added in f32: the result is rounded once.
constexpr uint32_t ReduceInComputeType = 2;

struct Lt {
  LtStatus (*Create)(LtHandle *) = nullptr;
  LtStatus (*Destroy)(LtHandle) = nullptr;
  size_t (*GetVersion)() = nullptr;
  const char *(*GetStatusString)(LtStatus) = nullptr;
  LtStatus (*DescCreate)(LtDesc *, int, int) = nullptr;
  LtStatus (*DescDestroy)(LtDesc) = nullptr;
  LtStatus (*DescSet)(LtDesc, int, const void *, size_t) = nullptr;
  LtStatus (*LayoutCreate)(LtLayout *, int, uint64_t, uint64_t,
                           int64_t) = nullptr;
  LtStatus (*LayoutDestroy)(LtLayout) = nullptr;
  LtStatus (*LayoutSet)(LtLayout, int, const void *, size_t) = nullptr;
  LtStatus (*PreferenceCreate)(LtPreference *) = nullptr;
  LtStatus (*PreferenceDestroy)(LtPreference) = nullptr;
  LtStatus (*PreferenceSet)(LtPreference, int, const void *, size_t) = nullptr;
  LtStatus (*GetHeuristic)(LtHandle, LtDesc, LtLayout, LtLayout, LtLayout,
                           LtLayout, LtPreference, int, LtHeuristic *,
                           int *) = nullptr;
  LtStatus (*Check)(LtHandle, LtDesc, LtLayout, LtLayout, LtLayout, LtLayout,
                    const Algorithm *, LtHeuristic *) = nullptr;
  LtStatus (*Run)(LtHandle, LtDesc, const void *, const void *, LtLayout,
                  const void *, LtLayout, const void *, const void *, LtLayout,
                  void *, LtLayout, const Algorithm *, void *, size_t,
                  Stream) = nullptr;

  static Result<Lt> load();
  Status check(LtStatus S, const std::string &What) const {
    if (S == 0)
      return {};
    return Error(ErrorCode::DeviceFailure, What + ": " + GetStatusString(S));
  }
};

Result<Lt> Lt::load() {
  Result<Library> From = Library::open("libcublasLt.so.13");
  if (!From)
    return From.getError();
  Lt L;
  Status Bound;
  auto Bind = [&](const char *Symbol, auto *&Function) {
    if (Bound)
      Bound = bind(*From, Symbol, Function);
  };
  Bind("cublasLtCreate", L.Create);
  Bind("cublasLtDestroy", L.Destroy);
  Bind("cublasLtGetVersion", L.GetVersion);
  Bind("cublasLtGetStatusString", L.GetStatusString);
  Bind("cublasLtMatmulDescCreate", L.DescCreate);
  Bind("cublasLtMatmulDescDestroy", L.DescDestroy);
  Bind("cublasLtMatmulDescSetAttribute", L.DescSet);
  Bind("cublasLtMatrixLayoutCreate", L.LayoutCreate);
  Bind("cublasLtMatrixLayoutDestroy", L.LayoutDestroy);
  Bind("cublasLtMatrixLayoutSetAttribute", L.LayoutSet);
  Bind("cublasLtMatmulPreferenceCreate", L.PreferenceCreate);
  Bind("cublasLtMatmulPreferenceDestroy", L.PreferenceDestroy);
  Bind("cublasLtMatmulPreferenceSetAttribute", L.PreferenceSet);
  Bind("cublasLtMatmulAlgoGetHeuristic", L.GetHeuristic);
  Bind("cublasLtMatmulAlgoCheck", L.Check);
  Bind("cublasLtMatmul", L.Run);
  if (!Bound)
    return Bound.getError();
  return L;
}

/// cudaDataType_t of the float types. Another one does not compile until it is
/// here.
template <DType> struct LtType;
template <> struct LtType<DType::F32> {
  static constexpr int Value = 0;
};
template <> struct LtType<DType::F16> {
  static constexpr int Value = 2;
};
template <> struct LtType<DType::BF16> {
  static constexpr int Value = 14;
};

int getLtType(DType Type) {
  return dispatchElement(Type, [](auto Row) -> int {
    if constexpr (Row.IsFloat)
      return LtType<Row.Type>::Value;
    else
      __builtin_unreachable(); // products are checked to be of floats
  });
}

} // namespace

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

static uint32_t getAlignment(const Tensor &T) {
  uint64_t Bits = T.Offset | 256;
  return static_cast<uint32_t>(Bits & (~Bits + 1));
}

MatmulProblem MatmulProblem::of(const Program &P, const Step &S) {
  const Tensor &Lhs = P.Tensors[S.Operands[0]], &Rhs = P.Tensors[S.Operands[1]];
  const Tensor &Result = P.Tensors[S.Results[0]];
  MatmulProblem Out;
  Out.Type = Lhs.Type;
  Out.ResultType = Result.Type;
  Out.TransposeLhs = S.Attributes.getFlag("transpose_lhs");
  Out.TransposeRhs = S.Attributes.getFlag("transpose_rhs");
  size_t Rank = Result.Shape.size();
  Out.M = Result.Shape[Rank - 2];
  Out.N = Result.Shape[Rank - 1];
  Out.K = Lhs.Shape[Lhs.Shape.size() - (Out.TransposeLhs ? 2 : 1)];
  Out.Batch = Result.NumElements / (Out.M * Out.N);
  bool LhsBatched = Lhs.Shape.size() > 2, RhsBatched = Rhs.Shape.size() > 2;
  if (LhsBatched && !RhsBatched && !Out.TransposeLhs) {
    // The rows of all batches are one matrix.
    Out.M *= Out.Batch;
    Out.Batch = 1;
  }
  Out.LhsStride = LhsBatched ? Lhs.NumElements / Out.Batch : 0;
  Out.RhsStride = RhsBatched ? Rhs.NumElements / Out.Batch : 0;
  Out.HasBias = S.Operands.size() > 2 && S.Operands[2] != NoTensor;
  if (Out.HasBias)
    Out.BiasType = P.Tensors[S.Operands[2]].Type;
  Out.WorkspaceBytes = S.Workspace.Bytes;
  Out.LhsAlignment = ::getAlignment(Lhs);
  Out.RhsAlignment = ::getAlignment(Rhs);
  Out.ResultAlignment = ::getAlignment(Result);
  return Out;
}

std::string MatmulProblem::getKey() const {
  std::string Key;
  auto Add = [&](const std::string &Text) { Key += Text + " "; };
  Add(std::string(getName(Type)));
  Add(std::string(getName(ResultType)));
  Add(HasBias ? "bias:" + std::string(getName(BiasType)) : "plain");
  Add(std::string(TransposeLhs ? "t" : "n") + (TransposeRhs ? "t" : "n"));
  for (int64_t Number : {M, N, K, Batch, LhsStride, RhsStride})
    Add(std::to_string(Number));
  for (uint64_t Number : {WorkspaceBytes, uint64_t(LhsAlignment),
                          uint64_t(RhsAlignment), uint64_t(ResultAlignment)})
    Add(std::to_string(Number));
  Key.pop_back();
  return Key;
}

//===----------------------------------------------------------------------===//
// One product
//===----------------------------------------------------------------------===//

namespace {

class LtMatmul : public Matmul {
public:
  LtMatmul(const Lt &L, LtHandle Handle, const MatmulProblem &P)
      : L(L), Handle(Handle), P(P) {}
  ~LtMatmul() override {
    if (Desc)
      L.DescDestroy(Desc);
    for (LtLayout Layout : {Lhs, Rhs, Result})
      if (Layout)
        L.LayoutDestroy(Layout);
  }

  Status describe();
  /// The library's suggestions, best first; at most `Count`.
  Status suggest(int Count, std::vector<LtHeuristic> &Out);
  /// Whether `Value`, read from a file, can run this problem.
  bool accepts(const Algorithm &Value);
  /// The fastest of the first suggestions.
  Status measure(const Driver &D, Stream S);
  void use(const Algorithm &Value) { Chosen = Value; }

  Status run(const MatmulAddresses &Where, Stream S) override;
  const Algorithm &getChosen() const { return Chosen; }

private:
  Status makeLayout(LtLayout &Layout, DType Type, int64_t Rows, int64_t Columns,
                    int64_t Stride);
  Result<double> time(const Driver &D, Stream S, const MatmulAddresses &Where);
  Error describeFailure(LtStatus S, const std::string &What) const {
    return L.check(S, What + " (" + P.getKey() + ")").getError();
  }

  const Lt &L;
  LtHandle Handle;
  MatmulProblem P;
  LtDesc Desc = nullptr;
  LtLayout Lhs = nullptr, Rhs = nullptr, Result = nullptr;
  Algorithm Chosen = {};
};

class LtLibrary : public MatmulLibrary {
public:
  LtLibrary(const Lt &L, LtHandle Handle) : L(L), Handle(Handle) {}
  ~LtLibrary() override { L.Destroy(Handle); }

  remat::runtime::Result<std::unique_ptr<Matmul>>
  prepare(const MatmulProblem &P, MatmulCache *Cache, const Driver &D,
          Stream S) override;
  size_t getVersion() const override { return L.GetVersion(); }

private:
  Lt L;
  LtHandle Handle;
};

} // namespace

/// A row-major [Rows, Columns] matrix: column-major [Columns, Rows].
Status LtMatmul::makeLayout(LtLayout &Layout, DType Type, int64_t Rows,
                            int64_t Columns, int64_t Stride) {
  if (LtStatus S =
          L.LayoutCreate(&Layout, getLtType(Type), Columns, Rows, Columns))
    return describeFailure(S, "cannot describe a matrix");
  if (P.Batch == 1)
    return {};
  int32_t Count = static_cast<int32_t>(P.Batch);
  if (LtStatus S = L.LayoutSet(Layout, LayoutBatch, &Count, sizeof Count))
    return describeFailure(S, "cannot set the batch");
  if (LtStatus S = L.LayoutSet(Layout, LayoutStride, &Stride, sizeof Stride))
    return describeFailure(S, "cannot set the batch stride");
  return {};
}

Status LtMatmul::describe() {
  if (P.Batch > INT32_MAX)
    return Error(ErrorCode::Unavailable, "a matrix product of " +
                                             std::to_string(P.Batch) +
                                             " batches, more than cuBLASLt's " +
                                             std::to_string(INT32_MAX));
  if (LtStatus S = L.DescCreate(&Desc, Compute32F, getLtType(DType::F32)))
    return describeFailure(S, "cannot describe a matrix product");
  int32_t TransA = P.TransposeRhs, TransB = P.TransposeLhs;
  L.DescSet(Desc, DescTransA, &TransA, sizeof TransA);
  L.DescSet(Desc, DescTransB, &TransB, sizeof TransB);
  if (P.HasBias) {
    int32_t Epilogue = EpilogueBias, Type = getLtType(P.BiasType);
    L.DescSet(Desc, DescEpilogue, &Epilogue, sizeof Epilogue);
    L.DescSet(Desc, DescBiasType, &Type, sizeof Type);
  }
  auto Pick = [](bool Swap, int64_t A, int64_t B) { return Swap ? B : A; };
  if (Status S = makeLayout(Lhs, P.Type, Pick(P.TransposeLhs, P.M, P.K),
                            Pick(P.TransposeLhs, P.K, P.M), P.LhsStride);
      !S)
    return S;
  if (Status S = makeLayout(Rhs, P.Type, Pick(P.TransposeRhs, P.K, P.N),
                            Pick(P.TransposeRhs, P.N, P.K), P.RhsStride);
      !S)
    return S;
  return makeLayout(Result, P.ResultType, P.M, P.N, P.M * P.N);
}

Status LtMatmul::suggest(int Count, std::vector<LtHeuristic> &Out) {
  LtPreference Preference = nullptr;
  if (LtStatus S = L.PreferenceCreate(&Preference))
    return describeFailure(S, "cannot make a preference");
  uint64_t Workspace = P.WorkspaceBytes;
  L.PreferenceSet(Preference, PreferWorkspace, &Workspace, sizeof Workspace);
  L.PreferenceSet(Preference, PreferReduction, &ReduceInComputeType,
                  sizeof ReduceInComputeType);
  uint32_t Alignments[] = {P.RhsAlignment, P.LhsAlignment, P.ResultAlignment,
                           P.ResultAlignment};
  for (int I = 0; I < 4; ++I)
    L.PreferenceSet(Preference, PreferAlignmentA + I, &Alignments[I],
                    sizeof Alignments[I]);
  // The bias's address may decide; any aligned one stands for it.
  const void *Bias = reinterpret_cast<const void *>(uintptr_t(256));
  if (P.HasBias)
    L.DescSet(Desc, DescBias, &Bias, sizeof Bias);
  Out.resize(Count);
  int Found = 0;
  LtStatus S = L.GetHeuristic(Handle, Desc, Rhs, Lhs, Result, Result,
                              Preference, Count, Out.data(), &Found);
  L.PreferenceDestroy(Preference);
  Out.resize(std::max(Found, 0));
  std::erase_if(Out, [&](const LtHeuristic &H) {
    return H.State != 0 || H.WorkspaceBytes > P.WorkspaceBytes;
  });
  if (S != 0)
    return describeFailure(S, "cuBLASLt has no algorithm for a matrix product");
  if (Out.empty())
    return Error(ErrorCode::Unavailable,
                 "cuBLASLt has no algorithm for a matrix product (" +
                     P.getKey() + ") in " + std::to_string(P.WorkspaceBytes) +
                     " bytes of workspace");
  return {};
}

bool LtMatmul::accepts(const Algorithm &Value) {
  LtHeuristic Checked = {};
  return L.Check(Handle, Desc, Rhs, Lhs, Result, Result, &Value, &Checked) ==
             0 &&
         Checked.WorkspaceBytes <= P.WorkspaceBytes;
}

Status LtMatmul::run(const MatmulAddresses &Where, Stream S) {
  constexpr float One = 1.0f, Zero = 0.0f;
  if (P.HasBias)
    L.DescSet(Desc, DescBias, &Where.Bias, sizeof Where.Bias);
  LtStatus Ran = L.Run(Handle, Desc, &One, Where.Rhs, Rhs, Where.Lhs, Lhs,
                       &Zero, Where.Result, Result, Where.Result, Result,
                       &Chosen, Where.Workspace, P.WorkspaceBytes, S);
  if (Ran != 0)
    return describeFailure(Ran, "a matrix product failed");
  return {};
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

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
    std::vector<uint8_t> Pattern = makePattern(Type);
    for (uint64_t Done = 0; Done < Bytes; Done += Pattern.size())
      D.CopyIn(At + Done, Pattern.data(),
               std::min<uint64_t>(Pattern.size(), Bytes - Done), S);
    D.StreamSynchronize(S);
    return reinterpret_cast<void *>(At);
  }

private:
  /// Random numbers in [0.25, 1) of either sign: 4 MiB of them.
  static std::vector<uint8_t> makePattern(DType Type) {
    std::vector<uint8_t> Bytes(4 << 20);
    std::mt19937_64 Random(1);
    size_t Width = getByteWidth(Type);
    // Sign and mantissa are random, the exponent is that of [0.5, 1).
    uint8_t High = Type == DType::F16 ? 0x38 : 0x3f;
    uint8_t Mask = Type == DType::F16 ? 0x83 : 0x80;
    for (size_t I = 0; I < Bytes.size(); ++I) {
      uint8_t Byte = static_cast<uint8_t>(Random());
      Bytes[I] = I % Width == Width - 1
                     ? static_cast<uint8_t>(High | (Byte & Mask))
                     : static_cast<uint8_t>(I % Width == Width - 2 &&
                                                    Type != DType::F16
                                                ? Byte & 0x7f
                                                : Byte);
    }
    return Bytes;
  }

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
  if (Status A = Allocate(Where.Result,
                          P.M * P.N * P.Batch * getByteWidth(P.ResultType),
                          P.ResultType);
      !A)
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

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Matmul>> LtLibrary::prepare(const MatmulProblem &P,
                                                   MatmulCache *Cache,
                                                   const Driver &D, Stream S) {
  auto Made = std::make_unique<LtMatmul>(L, Handle, P);
  if (Status Described = Made->describe(); !Described)
    return Described.getError();
  if (Cache) {
    std::optional<Algorithm> Known = Cache->find(P.getKey());
    if (Known && Made->accepts(*Known)) {
      Made->use(*Known);
      return std::unique_ptr<Matmul>(std::move(Made));
    }
    if (Status Measured = Made->measure(D, S); !Measured)
      return Measured.getError();
    if (Status Added = Cache->add(P.getKey(), Made->getChosen()); !Added)
      return Added.getError();
    return std::unique_ptr<Matmul>(std::move(Made));
  }
  std::vector<LtHeuristic> First;
  if (Status Asked = Made->suggest(1, First); !Asked)
    return Asked.getError();
  Made->use(First.front().Value);
  return std::unique_ptr<Matmul>(std::move(Made));
}

Result<std::unique_ptr<MatmulLibrary>> MatmulLibrary::load() {
  Result<Lt> L = Lt::load();
  if (!L)
    return L.getError();
  LtHandle Handle = nullptr;
  if (Status Made = L->check(L->Create(&Handle), "cannot start cuBLASLt");
      !Made)
    return Made.getError();
  return std::unique_ptr<MatmulLibrary>(
      std::make_unique<LtLibrary>(*L, Handle));
}
