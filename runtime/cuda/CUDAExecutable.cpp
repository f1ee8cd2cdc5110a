//===- CUDAExecutable.cpp - a program made ready on a GPU -----------------===//

#include "cuda/CUDAExecutable.h"
#include "cuda/StepOrder.h"
#include "remat/Support/Numbers.h"
#include "remat/runtime/Ranges.h"
#include <algorithm>
#include <cstdlib>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

DeviceState::~DeviceState() {
  if (!TheContext)
    return;
  D.SetCurrent(TheContext);
  TheCollectives.reset();
  Cudnn.reset();
  Matmuls.reset();
  if (TheStream && !Options.Stream)
    D.StreamDestroy(TheStream);
  D.PrimaryRelease(Device);
}

Status DeviceState::synchronize(const std::string &What) {
  if (!TheCollectives)
    return D.check(D.StreamSynchronize(TheStream), What);
  return TheCollectives->wait();
}

CUDAExecutable::~CUDAExecutable() {
  State->D.SetCurrent(State->TheContext);
  State->D.StreamSynchronize(State->TheStream);
  dropGraph();
  for (Module M : Modules)
    State->D.ModuleUnload(M);
}

void CUDAExecutable::dropGraph() {
  if (TheGraph)
    State->D.GraphExecDestroy(TheGraph);
  TheGraph = nullptr;
}

std::string CUDAExecutable::describe(size_t Index) const {
  const Step &S = TheProgram->Steps[Index];
  return "step " + std::to_string(Index) + " (" + S.Op +
         (S.Location.empty() ? ")" : " at " + S.Location + ")");
}

Error CUDAExecutable::describeFailure(size_t Index, const Error &E) const {
  return E.within(describe(Index));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

char *CUDAExecutable::getAddress(uint32_t Tensor) const {
  return locate(TheProgram->Tensors[Tensor].Offset);
}

Status CUDAExecutable::runLaunch(const Step &S, const Launch &L) {
  std::vector<uint64_t> Words(L.Arguments.size());
  // The driver reads as many arguments as the kernel has, at most 32764 bytes.
  // Those that the program does not give are zero, so that it never reads past
  // what is here.
  constexpr size_t MostBytes = 32764;
  static const std::vector<char> Zeros(MostBytes);
  Pointers.resize(MostBytes, const_cast<char *>(Zeros.data()));
  for (size_t I = 0; I < L.Arguments.size(); ++I) {
    const KernelArgument &A = L.Arguments[I];
    Pointers[I] = &Words[I];
    switch (A.Kind) {
    case KernelArgument::Kind::Tensor:
      Words[I] = reinterpret_cast<uint64_t>(getAddress(A.Index));
      break;
    case KernelArgument::Kind::Workspace:
      Words[I] = reinterpret_cast<uint64_t>(locate(S.Workspace.Offset) + A.Int);
      break;
    case KernelArgument::Kind::Int:
      Words[I] = static_cast<uint64_t>(A.Int);
      break;
    }
  }
  // Beside collectives on streams of their own kernels start in turn.
  bool StartsEarly = HasEarlyStart && FollowsOne && !State->TheCollectives;
  LaunchAttribute Early = {EarlyStart, 1, {}};
  LaunchConfig Config = {{L.Grid[0], L.Grid[1], L.Grid[2]},
                         {L.Block[0], L.Block[1], L.Block[2]},
                         L.SharedBytes,
                         State->TheStream,
                         &Early,
                         StartsEarly ? 1u : 0u};
  Code Launched = State->D.LaunchKernelEx(&Config, Functions[L.Kernel],
                                          Pointers.data(), nullptr);
  FollowsOne = true; // the next one: this kernel
  std::fill_n(Pointers.begin(), Words.size(), const_cast<char *>(Zeros.data()));
  return State->D.check(Launched, "cannot launch kernel '" +
                                      TheProgram->Kernels[L.Kernel].Name + "'");
}

Status CUDAExecutable::runMatmul(const Step &S, Matmul &Product) {
  MatmulAddresses Where;
  Where.Lhs = getAddress(S.Operands[0]);
  Where.Rhs = getAddress(S.Operands[1]);
  if (S.hasOperand(2))
    Where.Bias = getAddress(S.Operands[2]);
  if (S.hasOperand(3))
    Where.Addend = getAddress(S.Operands[3]);
  Where.Result = getAddress(S.Results[0]);
  Where.Workspace = S.Workspace.Bytes ? locate(S.Workspace.Offset) : nullptr;
  return Product.run(Where, State->TheStream);
}

Status CUDAExecutable::runAttention(const Step &S, Attention &A) {
  bool IsBackward = S.Op == "attention_backward";
  bool IsPacked = S.Attributes.getFlag("packed");
  size_t First = IsBackward ? 1 : 0;
  const Tensor &Query = TheProgram->Tensors[S.Operands[First]];
  // Query, key and value of a packed row lie one after the other.
  uint64_t Part =
      IsPacked ? Query.Shape[3] * Query.Shape[4] * getByteWidth(Query.Type) : 0;
  auto Pick = [&](const std::vector<uint32_t> &List, size_t At, size_t Which) {
    return IsPacked ? getAddress(List[At]) + Which * Part
                    : getAddress(List[At + Which]);
  };
  AttentionAddresses Where;
  Where.Query = Pick(S.Operands, First, 0);
  Where.Key = Pick(S.Operands, First, 1);
  Where.Value = Pick(S.Operands, First, 2);
  Where.Workspace = locate(S.Workspace.Offset);
  if (!IsBackward) {
    Where.Output = getAddress(S.Results[0]);
    Where.Lse = getAddress(S.Results[1]);
    return A.run(Where);
  }
  size_t Output = First + (IsPacked ? 1 : 3);
  Where.Grad = getAddress(S.Operands[0]);
  Where.Output = getAddress(S.Operands[Output]);
  Where.Lse = getAddress(S.Operands[Output + 1]);
  Where.QueryGrad = Pick(S.Results, 0, 0);
  Where.KeyGrad = Pick(S.Results, 0, 1);
  Where.ValueGrad = Pick(S.Results, 0, 2);
  return A.run(Where);
}

Status CUDAExecutable::runConvolution(const Step &S, Convolution &C) {
  char *First = getAddress(S.Operands[0]), *Second = getAddress(S.Operands[1]);
  char *Result = getAddress(S.Results[0]);
  ConvolutionAddresses Where = {First, Second, Result,
                                locate(S.Workspace.Offset)};
  if (S.Op == "convolution_input_grad")
    std::swap(Where.X, Where.Y);
  if (S.Op == "convolution_weight_grad")
    Where = {Second, Result, First, Where.Workspace};
  return C.run(Where);
}

Status CUDAExecutable::runStep(size_t Index) {
  const Step &S = TheProgram->Steps[Index];
  const PreparedStep &Prepared = Steps[Index];
  Status Ran = joinCollectives(S);
  for (const Launch &L : S.Launches)
    if (Ran)
      Ran = runLaunch(S, L);
  if (!Ran)
    return describeFailure(Index, Ran.getError());
  if (Prepared.IsCollective)
    Ran = runCollective(Index);
  if (Prepared.Product)
    Ran = runMatmul(S, *Prepared.Product);
  if (Prepared.TheAttention)
    Ran = runAttention(S, *Prepared.TheAttention);
  if (Prepared.TheConvolution)
    Ran = runConvolution(S, *Prepared.TheConvolution);
  if (Prepared.Body)
    Ran = runLoop(S, *Prepared.Body);
  if (!Ran)
    return describeFailure(Index, Ran.getError());
  return {};
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Status CUDAExecutable::runCollective(size_t Index) {
  OpCall Op = makeCall(*TheProgram, TheProgram->Steps[Index]);
  bindCall(Op, *TheProgram, [&](uint64_t Offset) { return locate(Offset); });
  const Ranks *All = State->Options.TheRanks.get();
  if (isLocal(Op))
    return runLocal(Op, State->D, State->TheStream, All ? All->getRank() : 0);
  REMAT_TRY(State->TheCollectives->run(Op, describe(Index)));
  return Overlaps ? Status() : State->TheCollectives->joinAll();
}

/// Waits for the collectives whose bytes a step touches: by addresses, so that
/// it holds for every plan and in loops.
Status CUDAExecutable::joinCollectives(const Step &S) {
  if (!State->TheCollectives)
    return {};
  std::vector<Collectives::Range> Touched;
  for (const TouchedRange &T : getTouched(*TheProgram, S))
    Touched.push_back({locate(T.Range.Offset), T.Range.Bytes, T.IsWritten});
  return State->TheCollectives->join(Touched);
}

void CUDAExecutable::usePlaces(std::vector<std::string> &Of) {
  if (State->TheCollectives)
    State->TheCollectives->setPlaces(Of);
}

Status CUDAExecutable::joinAllCollectives() {
  return State->TheCollectives ? State->TheCollectives->joinAll() : Status();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Status CUDAExecutable::copy(const std::vector<LoopFrame::Copy> &Rows) {
  for (const LoopFrame::Copy &Row : Rows)
    if (Status S = State->D.check(
            State->D.CopyWithin(reinterpret_cast<Address>(Row.To),
                                reinterpret_cast<Address>(Row.From), Row.Bytes,
                                State->TheStream),
            "cannot copy a row");
        !S)
      return S;
  return {};
}

/// One step of the loop that this is the body of.
Status CUDAExecutable::runBody(const LoopFrame &Of) {
  Frame = &Of;
  Status Ran;
  if (Poisons)
    Ran = poison(TheProgram->UnusedAtStart);
  if (Ran)
    Ran = copy(Of.getRowsIn());
  for (size_t I = 0; Ran && I < Steps.size(); ++I) {
    Ran = runStep(I);
    if (Ran && Poisons)
      Ran = poison(TheProgram->Steps[I].Freed);
  }
  if (Ran)
    Ran = joinAllCollectives();
  if (Ran)
    Ran = copy(Of.getRowsOut());
  Frame = nullptr;
  return Ran;
}

/// Launches every step of the loop: in a capture, nodes of the one graph.
Status CUDAExecutable::runLoop(const Step &S, CUDAExecutable &Body) {
  std::vector<char *> Operands, Results;
  for (uint32_t Tensor : S.Operands)
    Operands.push_back(getAddress(Tensor));
  for (uint32_t Tensor : S.Results)
    Results.push_back(getAddress(Tensor));
  LoopFrame Of(S, Operands, Results,
               S.Workspace.Bytes ? locate(S.Workspace.Offset) : nullptr);
  Body.Poisons = Poisons;
  Body.Overlaps = Overlaps;
  Body.FollowsOne = FollowsOne;
  Status Ran = copy(Of.getBegin());
  for (int64_t I = 0; Ran && I < Of.getNumSteps(); ++I) {
    Of.enter(I);
    Ran = Body.runBody(Of);
  }
  return Ran;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Status CUDAExecutable::poison(const std::vector<ByteRange> &Ranges) {
  for (const ByteRange &R : Ranges)
    if (Status S = State->D.check(
            State->D.Fill(reinterpret_cast<Address>(locate(R.Offset)), 0xff,
                          R.Bytes, State->TheStream),
            "cannot poison freed memory");
        !S)
      return S;
  return {};
}

Status CUDAExecutable::runAll(const RunOptions &Options) {
  if (Options.Poison)
    if (Status S = poison(TheProgram->UnusedAtStart); !S)
      return S;
  ScopeRanges Ranges(Options.Ranges);
  for (size_t I = 0; I < Steps.size(); ++I) {
    Ranges.enter(TheProgram->Steps[I]);
    if (Status S = runStep(I); !S)
      return S;
    if (Options.AfterStep) {
      if (Status S = State->synchronize("the step failed"); !S)
        return S;
      if (Status S = Options.AfterStep(I); !S)
        return S;
    }
    if (Options.Poison)
      if (Status S = poison(TheProgram->Steps[I].Freed); !S)
        return S;
  }
  return {};
}

Status CUDAExecutable::runProfiled(const RunOptions &Options) {
  const Driver &D = State->D;
  std::vector<Event> Events(Steps.size() + 1, nullptr);
  Status Ran;
  for (Event &E : Events)
    if (Ran)
      Ran = D.check(D.EventCreate(&E, 0), "cannot measure a step");
  ScopeRanges Ranges(Options.Ranges);
  for (size_t I = 0; Ran && I < Events.size(); ++I) {
    Ran = D.check(D.EventRecord(Events[I], State->TheStream),
                  "cannot measure a step");
    if (Ran && I < Steps.size()) {
      Ranges.enter(TheProgram->Steps[I]);
      Ran = runStep(I);
    }
  }
  if (Ran)
    Ran = State->synchronize("the step failed");
  for (size_t I = 0; Ran && I < Steps.size(); ++I) {
    float Ms = 0;
    Ran = D.check(D.EventElapsed(&Ms, Events[I], Events[I + 1]),
                  "cannot measure a step");
    StepMs.push_back(Ms);
  }
  for (Event E : Events)
    if (E)
      D.EventDestroy(E);
  return Ran;
}

/// An error of one rank ends the others, which would wait for it.
Status CUDAExecutable::run(void *Arena, const RunOptions &Options) {
  Status Ran = start(Arena, Options);
  if (Ranks *Others = State->Options.TheRanks.get(); Others && !Ran)
    Others->abort(Ran.getError().getMessage());
  return Ran;
}

Status CUDAExecutable::start(void *Arena, const RunOptions &Options) {
  const Driver &D = State->D;
  if (Status S = D.check(D.SetCurrent(State->TheContext), "no context"); !S)
    return S;
  StepMs.clear();
  Poisons = Options.Poison;
  if (Options.Poison || Options.Ranges || Options.AfterStep || Profiling) {
    if (Base != Arena)
      dropGraph();
    Base = static_cast<char *>(Arena);
    usePlaces(SinglePlaces);
    SinglePlaces.clear();
    return Profiling && !Options.AfterStep ? runProfiled(Options)
                                           : runAll(Options);
  }
  if (!TheGraph || Base != Arena)
    if (Status S = capture(Arena); !S) {
      dropGraph();
      return S;
    }
  usePlaces(Places);
  return D.check(D.GraphLaunch(TheGraph, State->TheStream),
                 "cannot launch the step");
}
