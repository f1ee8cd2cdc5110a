//===- Loop.h - where a loop's body finds its bytes -------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LOOP_H
#define REMAT_RUNTIME_LOOP_H

#include "remat/runtime/Program.h"
#include <vector>

namespace remat::runtime {

/// Device addresses of a body's bytes in one of its steps. It copies nothing
/// itself: a device does what it is told here, in this order: `getBegin` once;
/// in each step `enter`, then `getRowsIn`, the body's steps, `getRowsOut`.
class LoopFrame {
public:
  struct Copy {
    char *To;
    const char *From;
    uint64_t Bytes;
  };

  /// `S` is a step of "scan", `Operands` and `Results` are the addresses of
  /// its tensors in order, `Workspace` that of its workspace.
  LoopFrame(const Step &S, const std::vector<char *> &Operands,
            const std::vector<char *> &Results, char *Workspace);

  int64_t getNumSteps() const { return NumSteps; }
  /// From now on addresses are those of step number `Step`.
  void enter(int64_t Step);

  /// The address of a byte of the body's arena.
  char *at(uint64_t Offset) const;

  /// What carries begin with, where it is not there already.
  const std::vector<Copy> &getBegin() const { return Begin; }
  /// Rows that the body cannot use in place.
  std::vector<Copy> getRowsIn() const { return getRows(/*Out=*/false); }
  std::vector<Copy> getRowsOut() const { return getRows(/*Out=*/true); }

private:
  struct Slot {
    LoopSlot Of;
    char *First;   ///< in the first step
    char *Address; ///< in this step
    int64_t Stride;
  };
  std::vector<Copy> getRows(bool Out) const;

  const Loop &TheLoop;
  char *Workspace;
  int64_t NumSteps;
  std::vector<Slot> Bound; ///< by offset
  std::vector<Slot> Copied;
  std::vector<Copy> Begin;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LOOP_H
