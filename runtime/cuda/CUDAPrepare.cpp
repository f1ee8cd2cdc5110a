//===- CUDAPrepare.cpp - the kernels and library calls of a program -------===//

#include "cuda/CUDAExecutable.h"
#include "ops/Op.h"
#include "remat/Support/Numbers.h"
#include <algorithm>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

/// 90 of "sm_90".
static std::optional<unsigned> getArchNumber(std::string_view Arch) {
  constexpr std::string_view Prefix = "sm_";
  if (!Arch.starts_with(Prefix))
    return std::nullopt;
  return remat::parseNumber<unsigned>(Arch.substr(Prefix.size()));
}

Status CUDAExecutable::prepare() {
  if (Status S = checkArch(); !S)
    return S;
  if (Status S = loadKernels(); !S)
    return S;
  Steps.resize(TheProgram->Steps.size());
  for (size_t I = 0; I < Steps.size(); ++I)
    if (Status S = prepareStep(TheProgram->Steps[I], Steps[I]); !S)
      return describeFailure(I, S.getError());
  return {};
}

/// Machine code of one architecture runs on later ones of the same generation.
/// From Hopper on a kernel may be started early.
Status CUDAExecutable::checkArch() {
  if (TheProgram->Device != "cuda")
    return Error(ErrorCode::Unavailable,
                 "the program was compiled for device '" + TheProgram->Device +
                     "', this is 'cuda'");
  std::optional<unsigned> Wanted = getArchNumber(TheProgram->Arch);
  std::optional<unsigned> Here = getArchNumber(State->Arch);
  if (!Wanted || !Here || *Wanted / 10 != *Here / 10 || *Wanted > *Here)
    return Error(ErrorCode::Unavailable,
                 "the program was compiled for '" + TheProgram->Arch +
                     "', this GPU (" + State->Name + ") is " + State->Arch +
                     "; compile it again for that");
  constexpr unsigned Hopper = 90;
  HasEarlyStart = TheProgram->KernelsWait && *Here >= Hopper;
  return {};
}

Status CUDAExecutable::loadKernels() {
  if (TheProgram->Kernels.empty())
    return {};
  if (TheProgram->Cubins.empty())
    return Error(ErrorCode::Unavailable,
                 "the program holds its kernels as text only; compile it with "
                 "NVRTC at hand");
  const Driver &D = State->D;
  for (const std::vector<uint8_t> &Cubin : TheProgram->Cubins) {
    Module M = nullptr;
    if (Status S = D.check(D.ModuleLoadData(&M, Cubin.data()),
                           "cannot load the program's kernels");
        !S)
      return S;
    Modules.push_back(M);
  }
  for (const Kernel &K : TheProgram->Kernels) {
    Function F = nullptr;
    if (Status S = D.check(
            D.ModuleGetFunction(&F, Modules[K.Module], K.Name.c_str()),
            "the program's machine code has no kernel '" + K.Name + "'");
        !S)
      return Error(ErrorCode::InvalidProgram, S.getError().getMessage());
    Functions.push_back(F);
  }
  return {};
}

/// Each argument must be one that the kernel has, of its size. (More than these
/// the kernel may have: see runLaunch.)
Status CUDAExecutable::checkLaunch(const Launch &L) const {
  const Driver &D = State->D;
  Function F = Functions[L.Kernel];
  const std::string &Name = TheProgram->Kernels[L.Kernel].Name;
  for (size_t I = 0; I < L.Arguments.size(); ++I) {
    size_t Offset = 0, Bytes = 0;
    if (D.FuncGetParamInfo(F, I, &Offset, &Bytes) != Success)
      return Error(ErrorCode::InvalidProgram,
                   "kernel '" + Name + "' is launched with " +
                       std::to_string(L.Arguments.size()) +
                       " arguments, it takes " + std::to_string(I));
    constexpr size_t Given = 8; // an address or an int64
    if (Bytes != Given)
      return Error(ErrorCode::InvalidProgram,
                   "argument " + std::to_string(I) + " of kernel '" + Name +
                       "' has " + std::to_string(Given) + " bytes, it takes " +
                       std::to_string(Bytes));
  }
  constexpr uint32_t Usual = 48 * 1024;
  if (L.SharedBytes <= Usual)
    return {};
  return D.check(D.FuncSetAttribute(F, MaxDynamicSharedBytes,
                                    static_cast<int>(L.SharedBytes)),
                 "kernel '" + Name + "' needs " +
                     std::to_string(L.SharedBytes) +
                     " bytes of shared memory a block");
}

Status CUDAExecutable::prepareStep(const Step &S, PreparedStep &Out) {
  for (const Launch &L : S.Launches)
    if (Status Checked = checkLaunch(L); !Checked)
      return Checked;
  if (S.TheLoop) {
    Out.Body = std::make_unique<CUDAExecutable>(S.TheLoop->Body, State);
    return Out.Body->prepare();
  }
  switch (S.Kernel) {
  case KernelKind::Own:
    if (!S.Launches.empty())
      return {};
    break;
  case KernelKind::CublasLt:
    if (S.Op == "matmul")
      return prepareMatmul(S, Out);
    break;
  case KernelKind::Cudnn:
    return prepareCudnn(S, Out);
  case KernelKind::Nccl:
    return prepareCollective(S, Out);
  }
  return Error(
      ErrorCode::Unavailable,
      "the program has no kernel for this step and no library runs it");
}

/// Algorithms measured beforehand, and those of the user's file.
Status CUDAExecutable::openMatmulCaches() {
  std::string Prefix =
      State->Name + "|" + std::to_string(State->Matmuls->getVersion()) + "|";
  State->Shipped =
      std::make_unique<MatmulCache>(MatmulCache::getShipped(Prefix));
  std::string Path = State->Options.MatmulAlgorithms;
  if (const char *Variable = std::getenv("REMAT_MATMUL_CACHE");
      Variable && Path.empty())
    Path = Variable;
  if (Path.empty())
    return {};
  Result<MatmulCache> Opened = MatmulCache::open(Path, Prefix);
  if (!Opened)
    return Opened.getError();
  State->Cache = std::make_unique<MatmulCache>(std::move(*Opened));
  return {};
}

Status CUDAExecutable::prepareMatmul(const Step &S, PreparedStep &Out) {
  if (!State->Matmuls) {
    Result<std::unique_ptr<MatmulLibrary>> Loaded = MatmulLibrary::load();
    if (!Loaded)
      return Loaded.getError();
    State->Matmuls = std::move(*Loaded);
    if (Status Opened = openMatmulCaches(); !Opened)
      return Opened;
  }
  MatmulProblem Problem = MatmulProblem::of(*TheProgram, S);
  std::shared_ptr<Matmul> &Known = Products[Problem.getKey()];
  if (!Known) {
    Result<std::unique_ptr<Matmul>> Made =
        State->Matmuls->prepare(Problem, *State->Shipped, State->Cache.get(),
                                State->D, State->TheStream);
    if (!Made)
      return Made.getError();
    Known = std::move(*Made);
  }
  Out.Product = Known;
  return {};
}

/// The problem made ready, or the same one that was before.
template <typename Prepared, typename Problem>
Result<std::shared_ptr<Prepared>> CUDAExecutable::prepareOnce(
    std::map<std::string, std::shared_ptr<Prepared>> &Known, Problem P) {
  std::shared_ptr<Prepared> &Made = Known[P.getKey()];
  if (!Made) {
    Result<std::unique_ptr<Prepared>> New = State->Cudnn->prepare(P);
    if (!New)
      return New.getError();
    Made = std::move(*New);
  }
  return Made;
}

Status CUDAExecutable::prepareCudnn(const Step &S, PreparedStep &Out) {
  if (!State->Cudnn) {
    Result<std::unique_ptr<CudnnLibrary>> Loaded =
        CudnnLibrary::load(State->TheStream);
    if (!Loaded)
      return Loaded.getError();
    State->Cudnn = std::move(*Loaded);
  }
  if (ConvolutionProblem::isConvolution(S.Op)) {
    auto Made =
        prepareOnce(KnownConvolutions, ConvolutionProblem::of(*TheProgram, S));
    if (!Made)
      return Made.getError();
    Out.TheConvolution = *Made;
    return {};
  }
  if (S.Op != "attention" && S.Op != "attention_backward")
    return Error(ErrorCode::Unavailable, "cuDNN does not run this step");
  Result<AttentionProblem> Problem = AttentionProblem::of(*TheProgram, S);
  if (!Problem)
    return Problem.getError();
  auto Made = prepareOnce(KnownAttentions, *Problem);
  if (!Made)
    return Made.getError();
  Out.TheAttention = *Made;
  return {};
}

Status CUDAExecutable::prepareCollective(const Step &S, PreparedStep &Out) {
  // Of these the program's verifier has checked the group.
  if (!std::ranges::any_of(getCollectiveOps(), [&](const OpSignature &Op) {
        return Op.Name == S.Op;
      }))
    return Error(ErrorCode::Unavailable, "NCCL does not run this step");
  Out.IsCollective = true;
  OpCall Op = makeCall(*TheProgram, S);
  if (isLocal(Op))
    return {};
  if (!State->TheCollectives) {
    auto Made = Collectives::create(State->D, State->TheStream,
                                    *State->Options.TheRanks);
    if (!Made)
      return Made.getError();
    State->TheCollectives = std::move(*Made);
  }
  return State->TheCollectives->prepare(Op);
}
