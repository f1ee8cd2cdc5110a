//===- ProgramStructure.cpp - indices, sizes and ops of a program ---------===//

#include "lib/ProgramChecks.h"
#include "ops/Op.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace remat::runtime;

static constexpr uint64_t BufferAlignment = 256;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string remat::runtime::quoteText(const std::string &Text) {
  std::string Plain;
  for (char C : Text.substr(0, 80))
    Plain += C >= ' ' && C <= '~' ? C : '?';
  return "'" + Plain + (Text.size() > 80 ? "...'" : "'");
}

std::string remat::runtime::describeStep(const Program &P, size_t Step) {
  const struct Step &S = P.Steps[Step];
  std::string Op = quoteText(S.Op);
  std::string Text =
      "step " + std::to_string(Step) + " (" + Op.substr(1, Op.size() - 2);
  if (!S.Location.empty())
    Text += " at " + quoteText(S.Location);
  return Text + ")";
}

std::string remat::runtime::describeTensor(const Program &P, uint32_t Tensor) {
  return "tensor " + std::to_string(Tensor) + " (" +
         quoteText(P.Tensors[Tensor].Name) + ")";
}

static std::string describeRange(uint64_t Offset, uint64_t Bytes) {
  return std::to_string(Bytes) + " bytes at offset " + std::to_string(Offset);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static bool liesInArena(const Program &P, uint64_t Offset, uint64_t Bytes) {
  return Bytes <= P.ArenaBytes && Offset <= P.ArenaBytes - Bytes;
}

/// Fills NumElements and Bytes.
static Status measure(Tensor &T) {
  REMAT_REQUIRE(isKnown(T.Type),
                "has the unknown element type " +
                    std::to_string(static_cast<unsigned>(T.Type)));
  REMAT_REQUIRE(T.Class <= MemoryClass::Constants,
                "has the unknown memory class " +
                    std::to_string(static_cast<unsigned>(T.Class)));
  REMAT_REQUIRE(T.Shape.size() <= MaxRank,
                "has rank " + std::to_string(T.Shape.size()) + ", more than " +
                    std::to_string(MaxRank));
  int64_t Elements = 1, Bytes = 0;
  for (int64_t Dim : T.Shape) {
    REMAT_REQUIRE(Dim >= 1, "has a dimension of " + std::to_string(Dim));
    REMAT_REQUIRE(!__builtin_mul_overflow(Elements, Dim, &Elements),
                  "has more elements than 64 bits count");
  }
  REMAT_REQUIRE(
      !__builtin_mul_overflow(
          Elements, static_cast<int64_t>(getByteWidth(T.Type)), &Bytes),
      "has more bytes than 64 bits count");
  REMAT_REQUIRE(!T.InHalves || T.Type == DType::F32,
                "has halves of " + std::string(getName(T.Type)));
  T.NumElements = Elements;
  T.Bytes = static_cast<uint64_t>(Bytes);
  return {};
}

static Status verifyTensors(Program &P) {
  for (uint32_t I = 0; I < P.Tensors.size(); ++I) {
    Tensor &T = P.Tensors[I];
    if (Status S = measure(T); !S)
      return S.getError().within(describeTensor(P, I));
    REMAT_REQUIRE(
        liesInArena(P, T.Offset, T.Bytes),
        describeTensor(P, I) + " takes " + describeRange(T.Offset, T.Bytes) +
            ", outside an arena of " + std::to_string(P.ArenaBytes) + " bytes");
    REMAT_REQUIRE(T.Offset % getByteWidth(T.Type) == 0,
                  describeTensor(P, I) + " is not aligned to its elements: " +
                      "its offset is " + std::to_string(T.Offset));
  }
  return {};
}

static Status verifyAlignment(const Program &P, uint32_t Tensor) {
  REMAT_REQUIRE(P.Tensors[Tensor].Offset % BufferAlignment == 0,
                describeTensor(P, Tensor) + " is at offset " +
                    std::to_string(P.Tensors[Tensor].Offset) +
                    ", no multiple of " + std::to_string(BufferAlignment));
  return {};
}

//===----------------------------------------------------------------------===//
// Arguments, results, constants
//===----------------------------------------------------------------------===//

static Status verifyIndex(const Program &P, uint32_t Tensor) {
  REMAT_REQUIRE(Tensor < P.Tensors.size(),
                "names tensor " + std::to_string(Tensor) + " of " +
                    std::to_string(P.Tensors.size()));
  return {};
}

static Status verifyArgument(const Program &P, const Argument &A) {
  REMAT_TRY(verifyIndex(P, A.Tensor));
  REMAT_TRY(verifyAlignment(P, A.Tensor));
  const Tensor &T = P.Tensors[A.Tensor];
  REMAT_REQUIRE(A.Role <= Role::Temporary, "has an unknown role");
  REMAT_REQUIRE(A.InitKind.empty() || A.InitKind == "constant" ||
                    A.InitKind == "normal" || A.InitKind == "uniform",
                "has the unknown initialisation " + quoteText(A.InitKind));
  REMAT_REQUIRE(A.Data.empty() || A.Data == "tokens" || A.Data == "targets",
                "has the unknown data " + quoteText(A.Data));
  REMAT_REQUIRE(A.Data.empty() || isInteger(T.Type),
                "is filled from a token file but is no integer tensor");
  REMAT_REQUIRE(A.Bound >= 0, "has the bound " + std::to_string(A.Bound));
  if (A.Role == Role::Seed || A.Role == Role::Step)
    REMAT_REQUIRE(T.Type == DType::I64 && T.Shape.empty(),
                  "is a seed or step but no tensor<i64>");
  if (A.DonatedResult == -1)
    return {};
  REMAT_REQUIRE(A.DonatedResult >= 0 &&
                    static_cast<size_t>(A.DonatedResult) < P.Results.size(),
                "is donated to result " + std::to_string(A.DonatedResult) +
                    " of " + std::to_string(P.Results.size()));
  const ProgramResult &R = P.Results[A.DonatedResult];
  REMAT_TRY(verifyIndex(P, R.Tensor));
  const Tensor &To = P.Tensors[R.Tensor];
  REMAT_REQUIRE(To.Offset == T.Offset && To.Type == T.Type &&
                    To.Shape == T.Shape && To.InHalves == T.InHalves,
                "is donated to " + describeTensor(P, R.Tensor) +
                    ", which differs in offset, type, shape or halves");
  return {};
}

static Status verifyInterface(const Program &P) {
  std::set<std::string_view> Names;
  for (const Argument &A : P.Arguments) {
    if (Status S = verifyArgument(P, A); !S)
      return S.getError().within("argument " + quoteText(A.Name));
    REMAT_REQUIRE(Names.insert(A.Name).second,
                  "two arguments are named " + quoteText(A.Name));
  }
  Names.clear();
  for (const ProgramResult &R : P.Results) {
    if (Status S = verifyIndex(P, R.Tensor); !S)
      return S.getError().within("result " + quoteText(R.Name));
    REMAT_REQUIRE(R.Role <= Role::Temporary,
                  "result " + quoteText(R.Name) + " has an unknown role");
    REMAT_REQUIRE(Names.insert(R.Name).second,
                  "two results are named " + quoteText(R.Name));
  }
  for (const Constant &C : P.Constants) {
    if (Status S = verifyIndex(P, C.Tensor); !S)
      return S.getError().within("a constant");
    REMAT_TRY(verifyAlignment(P, C.Tensor));
    REMAT_REQUIRE(C.Data.size() == P.Tensors[C.Tensor].Bytes,
                  "constant " + describeTensor(P, C.Tensor) + " has " +
                      std::to_string(C.Data.size()) + " bytes of data for " +
                      std::to_string(P.Tensors[C.Tensor].Bytes));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static Status verifyLaunch(const Program &P, const Step &S, const Launch &L) {
  REMAT_REQUIRE(L.Kernel < P.Kernels.size(),
                "launches kernel " + std::to_string(L.Kernel) + " of " +
                    std::to_string(P.Kernels.size()));
  for (unsigned I = 0; I < 3; ++I)
    REMAT_REQUIRE(L.Grid[I] > 0 && L.Block[I] > 0 && L.Block[I] <= 1024,
                  "launches a grid or block without extent or too large");
  auto IsOwn = [&](uint32_t Tensor) {
    auto Has = [&](const std::vector<uint32_t> &List) {
      return std::find(List.begin(), List.end(), Tensor) != List.end();
    };
    return Has(S.Operands) || Has(S.Results);
  };
  for (const KernelArgument &A : L.Arguments) {
    REMAT_REQUIRE(A.Kind <= KernelArgument::Kind::Int,
                  "has a kernel argument of an unknown kind");
    if (A.Kind == KernelArgument::Kind::Tensor)
      REMAT_REQUIRE(A.Index < P.Tensors.size() && IsOwn(A.Index),
                    "gives a kernel tensor " + std::to_string(A.Index) +
                        ", which is none of its own");
    if (A.Kind == KernelArgument::Kind::Workspace)
      REMAT_REQUIRE(
          A.Int >= 0 && static_cast<uint64_t>(A.Int) < S.Workspace.Bytes,
          "gives a kernel byte " + std::to_string(A.Int) +
              " of a workspace of " + std::to_string(S.Workspace.Bytes));
  }
  return {};
}

/// Reports print these numbers, and JSON has none that is not finite.
static Status verifyFinite(double Number, const char *What) {
  REMAT_REQUIRE(std::isfinite(Number),
                std::string("has ") + What + " that are no finite number");
  return {};
}

static Status verifyKernel(const Step &S) {
  REMAT_REQUIRE(!S.TheLoop || S.Op == "scan", "has a loop and is no scan");
  REMAT_REQUIRE(S.Kernel <= KernelKind::Nccl,
                "is run by the unknown kind of kernel " +
                    std::to_string(static_cast<unsigned>(S.Kernel)));
  REMAT_REQUIRE(S.Kernel == KernelKind::Own || S.Launches.empty(),
                "is run by a library and launches " +
                    std::to_string(S.Launches.size()) + " kernels");
  REMAT_REQUIRE(S.Slices == 1 ||
                    (S.Slices > 1 && S.Kernel == KernelKind::Cudnn),
                "is run in " + std::to_string(S.Slices) + " slices");
  REMAT_REQUIRE(S.IsDeterministic || S.Kernel == KernelKind::Cudnn,
                "adds in any order, but is not run by cuDNN");
  return {};
}

static Status verifyStep(const Program &P, const Step &S) {
  REMAT_TRY(verifyFinite(S.Flops, "flops"));
  REMAT_TRY(verifyKernel(S));
  for (uint32_t Tensor : S.Operands)
    if (Tensor != NoTensor)
      REMAT_TRY(verifyIndex(P, Tensor));
  for (uint32_t Tensor : S.Results) {
    REMAT_TRY(verifyIndex(P, Tensor));
    REMAT_TRY(verifyAlignment(P, Tensor));
  }
  const ByteRange &W = S.Workspace;
  REMAT_REQUIRE(liesInArena(P, W.Offset, W.Bytes) &&
                    (W.Bytes == 0 || W.Offset % BufferAlignment == 0),
                "has a workspace of " + describeRange(W.Offset, W.Bytes) +
                    " in an arena of " + std::to_string(P.ArenaBytes) +
                    " bytes");
  REMAT_REQUIRE(S.Recomputes >= -1 &&
                    S.Recomputes < static_cast<int64_t>(P.Steps.size()),
                "recomputes step " + std::to_string(S.Recomputes) + " of " +
                    std::to_string(P.Steps.size()));
  for (const Launch &L : S.Launches)
    REMAT_TRY(verifyLaunch(P, S, L));
  return {};
}

static Status verifyKernels(const Program &P) {
  for (const std::vector<uint8_t> &Cubin : P.Cubins)
    REMAT_REQUIRE(!Cubin.empty(), "the program has an empty cubin");
  for (const Kernel &K : P.Kernels)
    REMAT_REQUIRE(P.Cubins.empty() || K.Module < P.Cubins.size(),
                  "kernel " + quoteText(K.Name) + " lies in cubin " +
                      std::to_string(K.Module) + " of " +
                      std::to_string(P.Cubins.size()));
  return {};
}

Status remat::runtime::verifyStructure(Program &P) {
  REMAT_REQUIRE(P.Device == "host" || P.Device == "cuda",
                "the program is for the unknown device " + quoteText(P.Device));
  REMAT_REQUIRE(P.Tensors.size() < INT32_MAX && P.Steps.size() < INT32_MAX,
                "the program has too many tensors or steps");
  if (Status S = verifyFinite(P.Plan.PredictedMs, "milliseconds"); !S)
    return S.getError().within("the plan");
  if (Status S = verifyFinite(P.Plan.PredictedOverhead, "overheads"); !S)
    return S.getError().within("the plan");
  REMAT_TRY(verifyTensors(P));
  REMAT_TRY(verifyInterface(P));
  REMAT_TRY(verifyKernels(P));
  for (size_t I = 0; I < P.Steps.size(); ++I)
    if (Status S = verifyStep(P, P.Steps[I]); !S)
      return S.getError().within(describeStep(P, I));
  return verifyMesh(P);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static bool overlap(const ByteRange &A, const ByteRange &B) {
  return A.Bytes && B.Bytes && A.Offset < B.Offset + B.Bytes &&
         B.Offset < A.Offset + A.Bytes;
}

static ByteRange getRange(const Program &P, uint32_t Tensor) {
  return {P.Tensors[Tensor].Offset, P.Tensors[Tensor].Bytes};
}

/// Results share bytes with operands only where the op works in place, with
/// each other and with the workspace nowhere.
static Status verifyAliases(const Program &P, const Step &S,
                            const OpSignature &Signature, const OpCall &Call) {
  for (size_t I = 0; I < S.Results.size(); ++I) {
    ByteRange To = getRange(P, S.Results[I]);
    REMAT_REQUIRE(!overlap(To, S.Workspace),
                  "writes result " + std::to_string(I) + " into its workspace");
    for (size_t J = 0; J < I; ++J)
      REMAT_REQUIRE(!overlap(To, getRange(P, S.Results[J])),
                    "writes results " + std::to_string(J) + " and " +
                        std::to_string(I) + " to the same bytes");
    for (size_t J = 0; J < S.Operands.size(); ++J) {
      if (S.Operands[J] == NoTensor)
        continue;
      ByteRange From = getRange(P, S.Operands[J]);
      if (!overlap(To, From))
        continue;
      bool Exact = To.Offset == From.Offset && To.Bytes == From.Bytes;
      REMAT_REQUIRE(Exact && Signature.MayReuse(Call, I, J),
                    "writes result " + std::to_string(I) + " over operand " +
                        std::to_string(J) + ": " +
                        describeRange(To.Offset, To.Bytes) + " over " +
                        describeRange(From.Offset, From.Bytes));
    }
  }
  for (uint32_t Operand : S.Operands)
    REMAT_REQUIRE(Operand == NoTensor ||
                      !overlap(getRange(P, Operand), S.Workspace),
                  "has its workspace over an operand");
  return {};
}

/// Tensors in halves are for the operations that know of them.
static Status verifyHalves(const OpSignature &Signature, const OpCall &Call) {
  auto InHalves = [](const Value &V) { return V.Present && V.InHalves; };
  REMAT_REQUIRE(
      Signature.KnowsHalves ||
          (std::none_of(Call.Operands.begin(), Call.Operands.end(), InHalves) &&
           std::none_of(Call.Results.begin(), Call.Results.end(), InHalves)),
      "has a tensor in halves, which it cannot read or write");
  return {};
}

Status remat::runtime::verifyOps(const Program &P) {
  for (size_t I = 0; I < P.Steps.size(); ++I) {
    const Step &S = P.Steps[I];
    const OpSignature *Signature = findOp(S.Op);
    REMAT_REQUIRE(Signature, describeStep(P, I) + " is no known op");
    OpCall Call = makeCall(P, S);
    Status Checked = Signature->Check(Call);
    if (Checked)
      Checked = verifyHalves(*Signature, Call);
    if (Checked)
      Checked = verifyAliases(P, S, *Signature, Call);
    if (!Checked)
      return Checked.getError().within(describeStep(P, I));
  }
  return {};
}
