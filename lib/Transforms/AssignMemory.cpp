//===- AssignMemory.cpp - a byte offset for every value -------------------===//
//
// Lifetimes come from BufferLiveness, offsets from the solver's packing. What
// lives through the whole step lies at the arena's begin, side by side.
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

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_ASSIGNMEMORY
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

/// Offsets of buffers and workspaces while they are found.
struct Layout {
  SmallVector<int64_t> Buffers;    ///< one a buffer of the liveness
  SmallVector<int64_t> Workspaces; ///< one an operation, 0 without workspace
  int64_t ArenaBytes = 0;
};

} // namespace

/// Packs what does not live through the whole step above `Base`.
static LogicalResult packTemporaries(func::FuncOp Func,
                                     const BufferLiveness &Liveness,
                                     const MemoryProfile &Profile, int64_t Base,
                                     const solver::PackOptions &Options,
                                     Layout &L) {
  std::vector<solver::Buffer> Requests;
  SmallVector<int64_t *> Places;
  for (auto [Number, B] : llvm::enumerate(Liveness.getBuffers())) {
    if (B.Begin < 0)
      continue;
    Requests.push_back({B.Begin, B.End + 1, B.Bytes, BufferAlignment, {}});
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

  Layout L;
  L.Buffers.assign(Liveness->getBuffers().size(), 0);
  L.Workspaces.assign(Liveness->getOperations().size(), 0);
  int64_t Base = 0;
  for (auto [Number, B] : llvm::enumerate(Liveness->getBuffers()))
    if (B.Begin < 0) {
      L.Buffers[Number] = Base;
      Base += B.Bytes;
    }
  solver::PackOptions Options;
  Options.NodeLimit = NodeLimit;
  Options.Explain = false;
  if (Target)
    Options.Capacity = std::max<int64_t>(*Target - Base, 0);
  if (failed(packTemporaries(Func, *Liveness, Profile, Base, Options, L)))
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
