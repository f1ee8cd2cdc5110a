//===- ProgramDecode.cpp - from the file's form to the runtime's ----------===//

#include "lib/ProgramChecks.h"
#include "remat/program/Program_generated.h"
#include <cstring>

using namespace remat::runtime;
namespace format = remat::program;
namespace fb = flatbuffers;

static constexpr uint32_t FormatVersion = 1;

// The format's enums and the runtime's own are cast into each other: they have
// the same names with the same numbers.
#define REMAT_SAME(Format, Own, Name)                                          \
  static_assert(static_cast<int>(format::Format::Name) ==                      \
                static_cast<int>(Own::Name));
#define REMAT_ROW(Name, Text, Kind, Stored, Computed, Sum)                     \
  REMAT_SAME(DType, DType, Name)
REMAT_ELEMENT_TYPES(REMAT_ROW)
static_assert(static_cast<unsigned>(format::DType::MAX) + 1 == NumElementTypes);
REMAT_SAME(Role, Role, Parameter)
REMAT_SAME(Role, Role, Input)
REMAT_SAME(Role, Role, State)
REMAT_SAME(Role, Role, Seed)
REMAT_SAME(Role, Role, Step)
REMAT_SAME(Role, Role, LearningRate)
REMAT_SAME(Role, Role, Loss)
REMAT_SAME(Role, Role, Output)
REMAT_SAME(Role, Role, Gradient)
REMAT_SAME(Role, Role, Temporary)
static_assert(format::Role::MAX == format::Role::Temporary);
REMAT_SAME(MemoryClass, MemoryClass, Parameters)
REMAT_SAME(MemoryClass, MemoryClass, Gradients)
REMAT_SAME(MemoryClass, MemoryClass, OptimizerState)
REMAT_SAME(MemoryClass, MemoryClass, Activations)
REMAT_SAME(MemoryClass, MemoryClass, Temporaries)
REMAT_SAME(MemoryClass, MemoryClass, Workspaces)
REMAT_SAME(MemoryClass, MemoryClass, Inputs)
REMAT_SAME(MemoryClass, MemoryClass, Outputs)
REMAT_SAME(MemoryClass, MemoryClass, Constants)
static_assert(format::MemoryClass::MAX == format::MemoryClass::Constants);
REMAT_SAME(ArgumentKind, KernelArgument::Kind, Tensor)
REMAT_SAME(ArgumentKind, KernelArgument::Kind, Workspace)
REMAT_SAME(ArgumentKind, KernelArgument::Kind, Int)
static_assert(format::ArgumentKind::MAX == format::ArgumentKind::Int);
REMAT_SAME(KernelKind, KernelKind, Own)
REMAT_SAME(KernelKind, KernelKind, CublasLt)
REMAT_SAME(KernelKind, KernelKind, Cudnn)
REMAT_SAME(KernelKind, KernelKind, Nccl)
static_assert(format::KernelKind::MAX == format::KernelKind::Nccl);
#undef REMAT_ROW
#undef REMAT_SAME

namespace {

/// Copies tables into the runtime's structures. FlatBuffers lets many places
/// point to one vector, so that a small file can stand for endless data: the
/// number of elements copied is bounded by the file's size.
class Decoder {
public:
  explicit Decoder(uint64_t FileBytes)
      : Budget(FileBytes * MaxSharing + (1 << 20)) {}

  DecodedProgram decode(const format::Program &From);
  bool isExhausted() const { return Exhausted; }

private:
  static constexpr uint64_t MaxSharing = 16;

  /// Elements of `V`, or 0 once the budget is spent.
  template <typename Vector> uint32_t take(const Vector *V) {
    uint32_t Size = V && !Exhausted ? V->size() : 0;
    if (Size >= Budget)
      Exhausted = true;
    if (Exhausted)
      return 0;
    Budget -= Size + 1;
    return Size;
  }
  std::string text(const fb::String *S) {
    return take(S) ? S->str() : std::string();
  }
  template <typename To, typename From>
  void numbers(const fb::Vector<From> *V, std::vector<To> &Out) {
    uint32_t Size = take(V);
    Out.reserve(Size);
    for (uint32_t I = 0; I < Size; ++I) {
      // The verifier does not check that 8-byte elements are aligned.
      From X;
      std::memcpy(&X, V->Data() + I * sizeof(From), sizeof(From));
      Out.push_back(static_cast<To>(X));
    }
  }
  template <typename From, typename To, typename Function>
  void tables(const fb::Vector<fb::Offset<From>> *V, std::vector<To> &Out,
              Function Convert) {
    uint32_t Size = take(V);
    Out.reserve(Size);
    for (uint32_t I = 0; I < Size && !Exhausted; ++I)
      Out.push_back(Convert(*V->Get(I)));
  }

  Tensor tensor(const format::Tensor &From);
  AttributeList
  attributes(const fb::Vector<fb::Offset<format::Attribute>> *From);
  BodyOp bodyOp(const format::BodyOp &From);
  Launch launch(const format::Launch &From);
  Step step(const format::Step &From);
  std::shared_ptr<Loop> loop(const format::Loop &From);
  Argument argument(const format::Argument &From);
  Program program(const format::Program &From);
  void plan(const format::Plan &From, PlanSummary &To);
  std::array<uint32_t, 3> extent(const fb::Vector<uint32_t> *From);

  uint64_t Budget;
  bool Exhausted = false;
};

} // namespace

// Enum values are copied as they are; verifyStructure refuses unknown ones.

Tensor Decoder::tensor(const format::Tensor &From) {
  Tensor T;
  T.Type = static_cast<DType>(From.dtype());
  numbers(From.shape(), T.Shape);
  T.Offset = From.offset();
  T.Class = static_cast<MemoryClass>(From.memory_class());
  T.Name = text(From.name());
  T.FirstStep = From.first_step();
  T.LastStep = From.last_step();
  T.InHalves = From.in_halves();
  return T;
}

AttributeList
Decoder::attributes(const fb::Vector<fb::Offset<format::Attribute>> *From) {
  std::vector<Attribute> List;
  tables(From, List, [&](const format::Attribute &A) {
    Attribute To;
    To.Name = text(A.name());
    numbers(A.ints(), To.Ints);
    numbers(A.floats(), To.Floats);
    To.Text = text(A.text());
    return To;
  });
  return AttributeList(std::move(List));
}

BodyOp Decoder::bodyOp(const format::BodyOp &From) {
  BodyOp B;
  B.Name = text(From.name());
  numbers(From.operands(), B.Operands);
  B.Attributes = attributes(From.attributes());
  B.Type = static_cast<DType>(From.dtype());
  numbers(From.shape(), B.Shape);
  return B;
}

std::array<uint32_t, 3> Decoder::extent(const fb::Vector<uint32_t> *From) {
  // Zeros are refused by verifyStructure.
  std::array<uint32_t, 3> Extent = {};
  if (take(From) == 3)
    for (unsigned I = 0; I < 3; ++I)
      Extent[I] = From->Get(I);
  return Extent;
}

Launch Decoder::launch(const format::Launch &From) {
  Launch L;
  L.Kernel = From.kernel();
  L.Grid = extent(From.grid());
  L.Block = extent(From.block());
  L.SharedBytes = From.shared_bytes();
  tables(From.arguments(), L.Arguments, [](const format::KernelArgument &A) {
    return KernelArgument{static_cast<enum KernelArgument::Kind>(A.kind()),
                          A.index(), A.int_value()};
  });
  return L;
}

/// verifyStructure refuses a loop without a body.
std::shared_ptr<Loop> Decoder::loop(const format::Loop &From) {
  auto L = std::make_shared<Loop>();
  if (From.body())
    L->Body = std::make_shared<Program>(program(*From.body()));
  L->Carries = From.carries();
  L->Slices = From.slices();
  L->BoundBytes = From.bound_bytes();
  return L;
}

Step Decoder::step(const format::Step &From) {
  Step S;
  S.Op = text(From.op());
  numbers(From.operands(), S.Operands);
  numbers(From.results(), S.Results);
  S.Attributes = attributes(From.attributes());
  tables(From.body(), S.Body,
         [&](const format::BodyOp &B) { return bodyOp(B); });
  numbers(From.yields(), S.Yields);
  S.Workspace = {From.workspace_offset(), From.workspace_bytes()};
  S.Kernel = static_cast<KernelKind>(From.kernel());
  S.Slices = From.slices();
  S.IsDeterministic = From.deterministic();
  S.Location = text(From.location());
  S.Phase = text(From.phase());
  tables(From.launches(), S.Launches,
         [&](const format::Launch &L) { return launch(L); });
  S.Recomputes = From.recomputes();
  if (From.loop())
    S.TheLoop = loop(*From.loop());
  S.Flops = From.flops();
  return S;
}

Argument Decoder::argument(const format::Argument &From) {
  Argument A;
  A.Name = text(From.name());
  A.Role = static_cast<Role>(From.role());
  A.Tensor = From.tensor();
  A.DonatedResult = From.donated_result();
  A.InitKind = text(From.init_kind());
  A.InitValue = From.init_value();
  A.Data = text(From.data());
  A.Bound = From.bound();
  numbers(From.whole(), A.Whole);
  tables(From.cuts(), A.Cuts, [&](const format::Cut &C) {
    Cut To;
    To.Dim = C.dim();
    numbers(C.group(), To.Group);
    To.Blocks = C.blocks();
    return To;
  });
  return A;
}

void Decoder::plan(const format::Plan &From, PlanSummary &To) {
  To.Strategy = text(From.strategy());
  To.BudgetBytes = From.budget_bytes();
  To.UnplannedPeakBytes = From.unplanned_peak_bytes();
  To.PredictedPeakBytes = From.predicted_peak_bytes();
  To.SmallestFeasibleBytes = From.smallest_feasible_bytes();
  To.PredictedOverhead = From.predicted_overhead();
  To.PredictedMs = From.predicted_ms();
  To.RecomputedOps = From.recomputed_ops();
}

Program Decoder::program(const format::Program &From) {
  Program P;
  P.Device = text(From.device());
  P.Arch = text(From.arch());
  P.ArenaBytes = From.arena_bytes();
  tables(From.tensors(), P.Tensors,
         [&](const format::Tensor &T) { return tensor(T); });
  tables(From.arguments(), P.Arguments,
         [&](const format::Argument &A) { return argument(A); });
  tables(From.results(), P.Results, [&](const format::Result &R) {
    return ProgramResult{text(R.name()), static_cast<Role>(R.role()),
                         R.tensor()};
  });
  tables(From.constants(), P.Constants, [&](const format::Constant &C) {
    Constant To;
    To.Tensor = C.tensor();
    numbers(C.data(), To.Data);
    return To;
  });
  tables(From.steps(), P.Steps, [&](const format::Step &S) { return step(S); });
  tables(From.kernels(), P.Kernels, [&](const format::Kernel &K) {
    return Kernel{text(K.name()), K.module_()};
  });
  tables(From.modules(), P.Cubins, [&](const format::Module &M) {
    std::vector<uint8_t> Cubin;
    numbers(M.cubin(), Cubin);
    return Cubin;
  });
  tables(From.mesh(), P.Mesh, [&](const format::MeshAxis &A) {
    return MeshAxis{text(A.name()), A.size()};
  });
  P.CudaSource = text(From.cuda_source());
  P.KernelsWait = From.kernels_wait();
  if (From.plan())
    plan(*From.plan(), P.Plan);
  return P;
}

DecodedProgram Decoder::decode(const format::Program &From) {
  DecodedProgram D;
  D.Main = program(From);
  if (!From.functions())
    return D;
  tables(From.functions()->list(), D.Functions, [&](const format::Function &F) {
    return std::pair(text(F.name()),
                     F.program() ? program(*F.program()) : Program());
  });
  return D;
}

/// Whether a function has functions itself.
static bool isNested(const format::Program &Root) {
  if (!Root.functions() || !Root.functions()->list())
    return false;
  for (const format::Function *F : *Root.functions()->list())
    if (F->program() && F->program()->functions())
      return true;
  return false;
}

Result<DecodedProgram>
remat::runtime::decodeProgram(std::span<const uint8_t> Bytes) {
  auto Fail = [](const std::string &Why) {
    return Error(ErrorCode::InvalidProgram, Why);
  };
  // The smallest buffer holds the root's offset and the identifier.
  if (Bytes.size() < 2 * sizeof(uint32_t))
    return Fail("a program of " + std::to_string(Bytes.size()) +
                " bytes is truncated");
  if (Bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return Fail("a program of " + std::to_string(Bytes.size()) +
                " bytes is more than the format holds");
  // Numbers of the format are aligned relative to its begin.
  std::vector<uint64_t> Aligned((Bytes.size() + 7) / 8);
  std::memcpy(Aligned.data(), Bytes.data(), Bytes.size());
  auto *Data = reinterpret_cast<const uint8_t *>(Aligned.data());
  if (!format::ProgramBufferHasIdentifier(Data))
    return Fail("no program: the identifier is not 'RMAT'");
  fb::Verifier Verifier(Data, Bytes.size(), /*max_depth=*/32,
                        /*max_tables=*/10'000'000);
  if (!format::VerifyProgramBuffer(Verifier))
    return Fail("the program's bytes are malformed or truncated");
  const format::Program &Root = *format::GetProgram(Data);
  if (Root.version() != FormatVersion)
    return Fail("the program is of version " + std::to_string(Root.version()) +
                "; this runtime reads version " +
                std::to_string(FormatVersion));
  if (isNested(Root))
    return Fail("a function of the program has functions itself");
  Decoder D(Bytes.size());
  DecodedProgram Decoded = D.decode(Root);
  if (D.isExhausted())
    return Fail("the program refers to the same bytes too often");
  return Decoded;
}
