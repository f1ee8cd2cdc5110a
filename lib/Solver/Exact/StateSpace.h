//===- StateSpace.h - What is done and what is held -----------------------===//
#ifndef REMAT_LIB_SOLVER_STATESPACE_H
#define REMAT_LIB_SOLVER_STATESPACE_H

#include "Model/Model.h"

#include <map>

namespace remat::solver {

/// What decides how a plan can go on. Ops and values are bits.
struct State {
  /// Ops that ran.
  uint64_t Done = 0;
  /// Values whose newest instance may still be read.
  uint64_t Held = 0;
  /// Names the storages that `Held` alone does not tell: see `Storage`.
  int32_t Special = 0;
  bool operator==(const State &) const = default;
};

/// A storage that lives, with the values that may be read from it. Special are
/// those in a resident value's place, and those of a class that has several.
struct Storage {
  uint64_t Mask = 0;
  ValueId Class = None;
  /// The bytes of the resident value's place it is in, or `None`.
  int64_t Place = None;
  auto operator<=>(const Storage &) const = default;
};

/// The states of a small problem and the steps between them, every rule of
/// `verify` included. Values go only when a step would not fit otherwise, and
/// as few as needed: holding more is never worse.
class StateSpace {
public:
  explicit StateSpace(const Model &M);

  /// False when the problem has too many ops or values.
  bool applies() const { return Applies; }

  State start() const { return {0, Residents, 0}; }
  bool finished(const State &X) const {
    return X.Done == AllOps && (X.Held & Wanted) == Wanted;
  }

  struct Next {
    State To;
    Step By;
  };
  /// All ways to go on within the budget that can be part of a best plan.
  /// Returns false when there are too many to list.
  bool expand(const State &X, int64_t Budget, std::vector<Next> &Out);

  /// The ops that every way from here to the end runs: those not done, and
  /// those that ran and made values which are needed and gone. False when such
  /// a value is lost for good.
  bool mustRun(const State &X, uint64_t &Ops) const;

private:
  /// One step under way.
  struct Gain {
    int64_t Bytes;
    int32_t Storage;
    /// The output that takes the storage over, or `None`: it goes before.
    int32_t Taker;
  };
  struct Frame {
    State From;
    OpId Op = None;
    int64_t Budget = 0;
    /// What can be read after the step.
    uint64_t Keep = 0;
    /// Storages from before, then the outputs' own.
    std::vector<Storage> All;
    size_t NumOld = 0;
    std::vector<bool> Gone;
    int64_t Bytes = 0;
    /// What may go: for this step, and into a resident value's place for good.
    std::vector<Gain> Gains, Moves;
    /// Bytes of `Gains` from each on.
    std::vector<int64_t> Rest;
    std::vector<Next> *Ways = nullptr;
    /// The step fits with nothing gone and the fastest choice.
    bool Free = false;
  };

  const Model &M;
  bool Applies = false;
  std::vector<int32_t> Bit;
  /// Per op: values read and made. Residents are bits only where an output may
  /// take their place.
  std::vector<uint64_t> In, Out;
  /// Per op: those that it runs after, and those that run after it.
  std::vector<uint64_t> Earlier, Later;
  /// Per op: choices from fast to slow, each with less workspace.
  std::vector<std::vector<int32_t>> Choices;
  /// Per op: running it again may move a value that is held to a storage that
  /// costs less.
  std::vector<bool> Moves;
  std::vector<ValueId> Classes;
  std::vector<uint64_t> ClassMask;
  uint64_t AllOps = 0, Wanted = 0, Residents = 0, NeverMask = 0;
  std::map<std::vector<Storage>, int32_t> SpecialIds;
  std::vector<std::vector<Storage>> Specials;
  Frame F;

  uint64_t bitOf(ValueId V) const {
    return Bit[V] < 0 ? 0 : uint64_t(1) << Bit[V];
  }
  int64_t bytesOf(const Storage &S) const {
    return S.Place == None ? M.P.Values[S.Class].Bytes : 0;
  }
  void findMoves();
  /// May an op run again when these have run?
  bool mayRepeat(OpId O, uint64_t Done) const {
    return M.Again[O] && !(Done & Later[O]);
  }
  bool mayFollow(const State &X, OpId O) const {
    return (X.Held & In[O]) == In[O] && !(Earlier[O] & ~X.Done);
  }
  uint64_t useful(uint64_t Done) const;
  void storagesOf(const State &X, std::vector<Storage> &All) const;
  bool mayRun(const State &X, OpId O, uint64_t Useful) const;
  void run(const State &X, OpId O, int64_t Budget, std::vector<Next> &Ways);
  void place();
  void findGains();
  int32_t takerOf(const Storage &S) const;
  uint64_t irreplaceable() const;
  void chooseMoves(size_t Index);
  void chooseKernel();
  void chooseGains(size_t Index, int64_t Need, int64_t Enough, int32_t Choice);
  void emit(int32_t Choice);
  int32_t intern(std::vector<Storage> List);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_STATESPACE_H
