//===- RankPrograms.h - programs that several ranks run ---------*- C++ -*-===//

#ifndef REMAT_TEST_RUNTIME_COMM_RANKPROGRAMS_H
#define REMAT_TEST_RUNTIME_COMM_RANKPROGRAMS_H

#include "TestProgram.h"
#include "remat/runtime/Ranks.h"
#include <functional>

namespace remat::runtime::test {

/// Sizes of the axes, which are named "a", "b", ...
using Mesh = std::vector<uint32_t>;

void setMesh(ProgramMaker &P, const Mesh &Sizes);
/// The attribute `group` over these axes of the mesh.
Attr groupOf(const Mesh &Sizes, const std::vector<size_t> &Axes);

/// Calls F(rank) for each of `Count` ranks in a thread of its own.
void onThreads(uint32_t Count, const std::function<void(uint32_t)> &F);

/// What a rank's program gave: its results "0", "1", ..., or an error.
struct Outcome {
  std::vector<Array> Results;
  std::string Failed;
};

/// Runs the program on every rank, with the operands "0", "1", ... of each.
std::vector<Outcome> runOnRanks(const ProgramMaker &P, uint32_t Count,
                                const std::vector<std::vector<Array>> &Operands,
                                const std::vector<Array> &Results);

/// One op on every rank.
struct RankedOp {
  std::string Op;
  Mesh Sizes;
  Attrs List = {};
  std::vector<std::vector<Array>> Operands = {}; ///< by rank
  std::vector<Array> Results = {};               ///< types and shapes
  bool InPlace = false; ///< each result lies over its operand

  ProgramMaker make() const;
  /// The results by rank; fails the test where a rank fails.
  std::vector<std::vector<Array>> run() const;
};

/// The members of the group of each rank, found by coordinates: two ranks are
/// in one group if they differ along `Axes` only.
std::vector<std::vector<uint32_t>> findGroups(const Mesh &Sizes,
                                              const std::vector<size_t> &Axes);

} // namespace remat::runtime::test

#endif // REMAT_TEST_RUNTIME_COMM_RANKPROGRAMS_H
