//===- AssignMemory.cpp - a byte offset for every value -------------------===//
//
// Lifetimes come from BufferLiveness, offsets from the solver's packing. What
// lives through the whole step lies at the arena's begin, side by side; unless
// another function of the program says where its arguments are.
//
//===----------------------------------------------------------------------===//

#include "remat/Analysis/MemoryProfile.h"
#include "remat/IR/RematOps.h"
#include "remat/Solver/Packing.h"
#include "remat/Solver/Problem.h"
#include "remat/Target/Targets.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Memory.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_ASSIGNMEMORY
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

/// Offsets of buffers and workspaces while they are found.
struct Layout {
  explicit Layout(const BufferLiveness &Liveness)
      : Buffers(Liveness.getBuffers().size(), 0),
        Workspaces(Liveness.getOperations().size(), 0), Placed(Buffers.size()) {
  }

  SmallVector<int64_t> Buffers;    ///< one a buffer of the liveness
  SmallVector<int64_t> Workspaces; ///< one an operation, 0 without workspace
  BitVector Placed;                ///< buffers that have their offset
  int64_t ArenaBytes = 0;
};

} // namespace

/// Packs what is not placed above `Base`, around bytes that are taken all the
/// time.
static LogicalResult packRest(func::FuncOp Func, const BufferLiveness &Liveness,
                              const MemoryProfile &Profile, int64_t Base,
                              std::vector<solver::Buffer> Taken,
                              const solver::PackOptions &Options, Layout &L) {
  std::vector<solver::Buffer> Requests = std::move(Taken);
  SmallVector<int64_t> Given(Requests.size());
  SmallVector<int64_t *> Places;
  for (int64_t &Offset : Given)
    Places.push_back(&Offset);
  for (auto [Number, B] : llvm::enumerate(Liveness.getBuffers())) {
    if (L.Placed[Number])
      continue;
    int64_t Begin = std::max<int64_t>(B.Begin, 0);
    Requests.push_back({Begin, B.End + 1, B.Bytes, BufferAlignment, {}});
    Places.push_back(&L.Buffers[Number]);
  }
  for (auto [Position, Bytes] : llvm::enumerate(Profile.getWorkspaces())) {
    if (Bytes == 0)
      continue;
    auto At = static_cast<int64_t>(Position);
    Requests.push_back({At, At + 1, Bytes, BufferAlignment, {}});
    Places.push_back(&L.Workspaces[Position]);
  }
  solver::PackResult Packed = solver::pack(Requests, Options);
  if (!Packed.Error.empty())
    return emitError(Func.getLoc(), "memory cannot be assigned: ")
           << Packed.Error;
  for (auto [Place, Offset] : llvm::zip_equal(Places, Packed.Offsets))
    *Place = Base + Offset;
  L.ArenaBytes = Base + Packed.Height;
  return success();
}

/// What lives through the whole step, side by side at the arena's begin.
/// Returns its end.
static int64_t placeResidents(const BufferLiveness &Liveness, Layout &L) {
  int64_t End = 0;
  for (auto [Number, B] : llvm::enumerate(Liveness.getBuffers()))
    if (B.Begin < 0) {
      L.Buffers[Number] = End;
      L.Placed.set(Number);
      End += B.Bytes;
    }
  return End;
}

/// Puts arguments whose offset stands already where it says, and gives the runs
/// of bytes that they take; none if there are no such arguments.
static FailureOr<std::vector<solver::Buffer>>
placeGiven(func::FuncOp Func, const BufferLiveness &Liveness, Layout &L) {
  SmallVector<std::pair<int64_t, BlockArgument>> Given;
  for (BlockArgument Argument : Func.getArguments())
    if (auto Offset = Func.getArgAttrOfType<IntegerAttr>(
            Argument.getArgNumber(), OffsetAttrName))
      Given.push_back({Offset.getInt(), Argument});
  llvm::sort(Given, llvm::less_first());
  std::vector<solver::Buffer> Runs;
  auto Until = static_cast<int64_t>(Liveness.getOperations().size()) + 1;
  for (auto [Offset, Argument] : Given) {
    unsigned Number = Liveness.getBuffer(Argument);
    int64_t Bytes = Liveness.getBuffers()[Number].Bytes;
    int64_t End = Runs.empty() ? 0 : *Runs.back().Fixed + Runs.back().Size;
    if (Offset % BufferAlignment || Offset < End ||
        Offset > solver::MaxTotalBytes - Bytes)
      return emitError(Func.getLoc(), "argument '")
             << getArgName(Func, Argument.getArgNumber()) << "' of " << Bytes
             << " bytes cannot lie at " << Offset << ": that is no multiple of "
             << BufferAlignment << ", beyond what can be assigned, or before "
             << End << ", where another one ends";
    L.Buffers[Number] = Offset;
    L.Placed.set(Number);
    if (!Runs.empty() && Offset == End)
      Runs.back().Size += Bytes;
    else
      Runs.push_back({0, Until, Bytes, BufferAlignment, Offset});
  }
  return Runs;
}

/// Names the kernel that runs `Op`, unless it is what no name means: the only
/// one, of the project.
static LogicalResult writeKernel(Operation *Op, const Target &Where) {
  FailureOr<KernelAttr> Kernel = verifyKernel(Where, Op);
  if (failed(Kernel))
    return failure();
  if (Kernel->getKind() != KernelKind::own)
    Op->setAttr(ChoiceAttrName, *Kernel);
  return success();
}

static LogicalResult writeOffsets(func::FuncOp Func,
                                  const BufferLiveness &Liveness,
                                  const MemoryProfile &Profile,
                                  const Target &Where, const Layout &L) {
  Builder B(Func.getContext());
  auto GetOffset = [&](Value V) {
    return L.Buffers[Liveness.getBuffer(V)] +
           Liveness.getStorages().get(V).Offset;
  };
  SignatureEditor Signature(Func);
  for (BlockArgument Argument : Func.getArguments())
    Signature.setArgAttr(Argument.getArgNumber(), OffsetAttrName,
                         B.getI64IntegerAttr(GetOffset(Argument)));
  Signature.write();
  for (auto [Position, Op] : llvm::enumerate(Liveness.getOperations())) {
    Op->setAttr(OffsetsAttrName, B.getDenseI64ArrayAttr(llvm::map_to_vector(
                                     Op->getResults(), GetOffset)));
    Op->removeAttr(WorkspaceAttrName);
    if (int64_t Bytes = Profile.getWorkspaces()[Position])
      Op->setAttr(WorkspaceAttrName,
                  B.getDenseI64ArrayAttr({L.Workspaces[Position], Bytes}));
    if (failed(writeKernel(Op, Where)))
      return failure();
  }
  Func->setAttr(ArenaAttrName, B.getI64IntegerAttr(L.ArenaBytes));
  setStage(Func, Stage::assigned);
  return success();
}

FailureOr<Assignment> remat::assignMemory(func::FuncOp Func,
                                          const Target &Where,
                                          int64_t NodeLimit,
                                          std::optional<int64_t> Target) {
  FailureOr<BufferLiveness> Liveness = BufferLiveness::compute(Func);
  if (failed(Liveness))
    return failure();
  MemoryProfile Profile(*Liveness, Where);
  if (Profile.getPeak() > solver::MaxTotalBytes)
    return emitError(Func.getLoc(), "needs ")
           << Profile.getPeak() << " bytes at once, more than the "
           << solver::MaxTotalBytes << " that can be assigned";

  Layout L(*Liveness);
  FailureOr<std::vector<solver::Buffer>> Given = placeGiven(Func, *Liveness, L);
  if (failed(Given))
    return failure();
  int64_t Base = Given->empty() ? placeResidents(*Liveness, L) : 0;
  solver::PackOptions Options;
  Options.NodeLimit = NodeLimit;
  Options.Explain = false;
  if (Target)
    Options.Capacity = std::max<int64_t>(*Target - Base, 0);
  if (failed(packRest(Func, *Liveness, Profile, Base, std::move(*Given),
                      Options, L)))
    return failure();
  if (failed(writeOffsets(Func, *Liveness, Profile, Where, L)))
    return failure();
  return Assignment{L.ArenaBytes, Profile.getPeak()};
}

namespace {

struct AssignMemoryPass : remat::impl::AssignMemoryBase<AssignMemoryPass> {
  using AssignMemoryBase::AssignMemoryBase;

  void runOnGraph() override {
    if (NodeLimit < 0 || Target < 0) {
      emitError(getOperation().getLoc(), "node-limit is ")
          << NodeLimit.getValue() << " and target is " << Target.getValue()
          << "; neither must be negative";
      return signalPassFailure();
    }
    std::optional<int64_t> Goal;
    if (Target > 0)
      Goal = Target;
    if (failed(assignMemory(getOperation(), *createTarget(getOperation()),
                            NodeLimit, Goal)))
      signalPassFailure();
  }
};

} // namespace
