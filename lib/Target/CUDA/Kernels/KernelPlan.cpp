//===- KernelPlan.cpp - how own CUDA kernels split their work -------------===//

#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace remat;
using namespace remat::cuda;

RowPlan remat::cuda::getRowPlan(int64_t Columns) {
  if (Columns <= 256)
    return {32, 8};
  if (Columns <= 1024)
    return {32, 2};
  if (Columns <= 4096)
    return {128, 1};
  if (Columns <= 65536)
    return {256, 1};
  return {1024, 1};
}

/// Parts of a reduction so that about `Wanted` blocks run, none of which
/// reduces fewer than `Least` elements.
static int64_t getChunks(int64_t Reduced, int64_t Blocks, int64_t Wanted,
                         int64_t Least) {
  int64_t Most = llvm::divideCeil(Reduced, Least);
  return std::max<int64_t>(1, std::min(Most, Wanted / Blocks));
}

/// Makes a strided plan one of rows and columns, if the shape is [Columns,
/// Outer, Reduced] with dimensions to reduce at both ends.
static void splitStrided(llvm::ArrayRef<int64_t> Shape,
                         llvm::ArrayRef<int64_t> Dims, ReducePlan &Plan) {
  int64_t Columns = 1, Outer = 1, Reduced = 1;
  enum { Before, Within, After } Place = Before;
  for (auto [Dim, Size] : llvm::enumerate(Shape)) {
    if (Size == 1)
      continue;
    bool IsReduced = llvm::is_contained(Dims, static_cast<int64_t>(Dim));
    if (IsReduced && Place == Within)
      Place = After;
    else if (!IsReduced && Place == After)
      return;
    else if (!IsReduced)
      Place = Within;
    (Place == Before ? Columns : Place == Within ? Outer : Reduced) *= Size;
  }
  // Short rows leave most of a warp without work.
  constexpr int64_t LeastRow = 16;
  if (Columns > 1 && Reduced >= LeastRow)
    Plan = {.Outer = Outer, .Reduced = Reduced, .Columns = Columns};
}

ReducePlan remat::cuda::getReducePlan(llvm::ArrayRef<int64_t> Shape,
                                      llvm::ArrayRef<int64_t> Dims) {
  ReducePlan Plan;
  // Where the reduced dimensions are one run, but for sizes of 1, the shape is
  // [Outer, Reduced, Inner].
  enum { Before, Within, After } Place = Before;
  for (auto [Dim, Size] : llvm::enumerate(Shape)) {
    if (Size == 1)
      continue;
    bool IsReduced = llvm::is_contained(Dims, static_cast<int64_t>(Dim));
    if (IsReduced && Place == After)
      Plan.Strided = true;
    if (IsReduced)
      Place = Within;
    else if (Place == Within)
      Place = After;
    (IsReduced         ? Plan.Reduced
     : Place == Before ? Plan.Outer
                       : Plan.Inner) *= Size;
  }
  if (Plan.Strided)
    splitStrided(Shape, Dims, Plan);
  if (Plan.Strided || Plan.Columns > 1 || Plan.Outer * Plan.Inner == 0)
    return Plan;
  if (Plan.Inner == 1)
    Plan.Chunks = getChunks(Plan.Reduced, Plan.Outer, 512, 8192);
  else
    Plan.Chunks = getChunks(
        Plan.Reduced, Plan.Outer * llvm::divideCeil(Plan.Inner, 256), 512, 64);
  return Plan;
}

int64_t remat::cuda::getNormBackwardBlocks(int64_t Rows) {
  constexpr int64_t LeastRows = 32;
  return std::clamp<int64_t>(llvm::divideCeil(Rows, LeastRows), 1,
                             Multiprocessors);
}

int64_t remat::cuda::getFlatChunks(int64_t Elements) {
  return std::clamp<int64_t>(llvm::divideCeil(Elements, 8192), 1, 512);
}

int64_t SortPlan::getKeys(int64_t Which) const {
  return llvm::alignTo(Ids * 4, 16) * Which;
}
int64_t SortPlan::getCounts(int64_t Pass) const {
  return getKeys(4) + Pass * Tiles * Digits * 4;
}
int64_t SortPlan::getFirsts() const {
  return getBegins() + llvm::alignTo((Rows + 1) * 4, 16);
}
int64_t SortPlan::getRunSums() const {
  return getFirsts() + llvm::alignTo((Rows + 1) * 4, 16);
}

SortPlan remat::cuda::getSortPlan(int64_t Ids, int64_t TableRows,
                                  int64_t Columns) {
  // Every block reads the counts of all.
  constexpr int64_t MostTiles = 128;
  SortPlan Plan;
  Plan.Ids = Ids;
  Plan.Rows = TableRows;
  Plan.Columns = Columns;
  Plan.Tile = llvm::alignTo(llvm::divideCeil(Ids, MostTiles), SortPlan::Block);
  Plan.Tiles = llvm::divideCeil(Ids, Plan.Tile);
  // Ids outside the table sort behind it, as TableRows.
  Plan.Passes = llvm::divideCeil(llvm::Log2_64(TableRows) + 1, 8);
  return Plan;
}
