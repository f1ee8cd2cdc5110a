//===- PlanBound.cpp - what bounds on programs are proven on --------------===//
//
// The planner counts each operation as one kernel. Fusion after it makes fewer:
// elementwise operations of one shape that read each other, or of one phase
// that read the same tensor, become one kernel, and what only they read needs
// no memory. A bound on programs must hold whichever of them are merged.
//
// A *cluster* is a set of elementwise operations connected by such reads; no
// kernel has operations of two clusters. However it is divided into kernels,
// a cluster does the arithmetic of all its operations, reads each value of
// others at least once, and writes each value that others read. One kernel that
// does no more takes no longer. What is computed again adds arithmetic for
// certain, but no traffic. Splat constants are made inside a kernel, for
// nothing.
//
//===----------------------------------------------------------------------===//

#include "FuseModel.h"
#include "PlanProblem.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/Uses.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace remat;

namespace {

/// The clusters of a block, by position of their operations.
class Clusters {
public:
  explicit Clusters(func::FuncOp Func);

  struct Cluster {
    SmallVector<unsigned> Members;
    /// Whether fusion may change anything here.
    bool Fuses = false;
    double Flops = 0, Bytes = 0; ///< of one kernel that does it all
  };
  ArrayRef<Cluster> get() const { return Found; }
  Operation *getOp(unsigned Position) const { return Ops[Position]; }

private:
  void addWork(Cluster &C, const llvm::IntEqClasses &Classes) const;

  SmallVector<Operation *> Ops;
  DenseMap<Operation *, unsigned> Positions;
  std::vector<Cluster> Found;
};

} // namespace

Clusters::Clusters(func::FuncOp Func) {
  for (Operation &Op : Func.getBody().front().without_terminator()) {
    Positions[&Op] = Ops.size();
    Ops.push_back(&Op);
  }
  llvm::IntEqClasses Classes(Ops.size());
  // The first operation of a phase that reads a tensor as large as its result.
  DenseMap<std::pair<Value, Attribute>, unsigned> FirstReaders;
  for (auto [Position, Op] : llvm::enumerate(Ops))
    for (Value Operand : Op->getOperands()) {
      if (Operation *Def = Operand.getDefiningOp();
          Def && mayShareKernel(Def, Op))
        Classes.join(Positions.at(Def), Position);
      if (readsInFull(Op, Operand))
        Classes.join(
            FirstReaders
                .try_emplace({Operand, Op->getAttr(PhaseAttrName)}, Position)
                .first->second,
            Position);
    }
  Classes.compress();
  Found.resize(Classes.getNumClasses());
  for (unsigned Position = 0; Position < Ops.size(); ++Position)
    Found[Classes[Position]].Members.push_back(Position);
  for (Cluster &C : Found) {
    Operation *First = Ops[C.Members.front()];
    C.Fuses = C.Members.size() > 1 ||
              (getPointwiseShape(First) && readsSplatConstant(First));
    if (C.Fuses)
      addWork(C, Classes);
  }
}

void Clusters::addWork(Cluster &C, const llvm::IntEqClasses &Classes) const {
  unsigned Number = Classes[C.Members.front()];
  auto IsMember = [&](Operation *Op) {
    auto It = Positions.find(Op);
    return It != Positions.end() && Classes[It->second] == Number;
  };
  llvm::SmallDenseSet<Value> Moved;
  for (unsigned Position : C.Members) {
    Operation *Op = Ops[Position];
    C.Flops += getCost(Op).Flops;
    for (Value Operand : Op->getOperands()) {
      Operation *Def = Operand.getDefiningOp();
      if (!Def || (!IsMember(Def) && !isSplatConstant(Def)))
        Moved.insert(Operand);
    }
    for (Value Result : Op->getResults())
      if (llvm::any_of(Result.getUsers(),
                       [&](Operation *User) { return !IsMember(User); }))
        Moved.insert(Result);
  }
  for (Value V : Moved)
    C.Bytes += static_cast<double>(getByteSize(V.getType()).value_or(0));
}

namespace {

/// Takes from a problem what fusion may take from its programs.
class Relaxation {
public:
  Relaxation(BoundProblem &Made, ArrayRef<unsigned> Positions,
             const Target &Where)
      : Made(Made), Where(Where) {
    for (auto [Id, Position] : llvm::enumerate(Positions))
      IdOf[Position] = static_cast<solver::OpId>(Id);
  }

  void run(const Clusters &All) {
    for (const Clusters::Cluster &C : All.get()) {
      Operation *First = All.getOp(C.Members.front());
      if (C.Fuses)
        relaxCluster(C, All);
      else if (isSplatConstant(First) &&
               llvm::any_of(First->getUsers(), getPointwiseShape))
        relax(C.Members.front(), 0);
    }
  }

private:
  /// Makes an operation cost `Again` more where it runs again, and nothing the
  /// first time.
  void relax(unsigned Position, double Again) {
    solver::OpId Id = IdOf.at(Position);
    solver::Op &Op = Made.Problem.Ops[Id];
    Made.LeastMicroseconds -=
        Made.Problem.timeOf(Id, Made.Problem.fastestChoice(Id));
    Op.Choices.clear();
    Op.Workspace = 0;
    Op.Time = Again;
    Made.Unseen.push_back(Id);
  }

  void relaxCluster(const Clusters::Cluster &C, const Clusters &All) {
    double Least = Where.getElementwiseMicroseconds(C.Flops, C.Bytes);
    double Arithmetic = Where.getElementwiseMicroseconds(C.Flops, 0);
    for (unsigned Position : C.Members) {
      double Flops = C.Flops + getCost(All.getOp(Position)).Flops;
      double Again = Where.getElementwiseMicroseconds(Flops, 0) - Arithmetic;
      relax(Position, Arithmetic < Least ? 0 : Again);
    }
    Made.LeastMicroseconds += Least;
  }

  BoundProblem &Made;
  const Target &Where;
  DenseMap<unsigned, solver::OpId> IdOf;
};

} // namespace

FailureOr<BoundProblem>
remat::buildBoundProblem(func::FuncOp Func, const Target &Where, bool Fuses) {
  BoundProblem Made;
  FailureOr<PlanningProblem> Built =
      buildRelaxedProblem(Func, Where, Made.Unseen);
  if (failed(Built))
    return failure();
  Made.Problem = std::move(Built->Problem);
  Made.LeastMicroseconds = Made.Problem.baseTime();
  if (Fuses)
    Relaxation(Made, Built->Positions, Where).run(Clusters(Func));
  return Made;
}
