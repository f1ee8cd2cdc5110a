//===- ProgramChecks.h - the stages of loading a program --------*- C++ -*-===//
//
// Private to runtime/lib. Each stage relies on the ones before it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_LIB_PROGRAMCHECKS_H
#define REMAT_RUNTIME_LIB_PROGRAMCHECKS_H

#include "remat/runtime/Program.h"

namespace remat::runtime {

/// What a file holds, before any of it is verified.
struct DecodedProgram {
  Program Main;
  std::vector<std::pair<std::string, Program>> Functions;
};

/// Stage 1: well-formed bytes become programs; numbers are as in the file.
Result<DecodedProgram> decodeProgram(std::span<const uint8_t> Bytes);

/// Stage 2: tensors lie in the arena; every index is in range; names are
/// unique; arguments, results, constants and launches agree with their tensors.
/// Fills Tensor::Bytes and NumElements.
Status verifyStructure(Program &P);

/// Of stage 2: the mesh, and what steps and arguments say of groups of ranks.
Status verifyMesh(const Program &P);

/// All stages, of a program in `Depth` loops around it.
Status verifyProgram(Program &P, unsigned Depth = 0);

/// Between stages 2 and 3: each loop's body has passed all stages and fits its
/// step. Fills the loops' slots.
Status verifyLoops(Program &P, unsigned Depth);

/// Stage 3: every op is known and its check passes.
Status verifyOps(const Program &P);

/// Stage 4: what is read was written and not overwritten. Fills lifetimes,
/// views, Freed, UnusedAtStart and Survives.
Status verifyMemory(Program &P);

/// Stage 5, of a function that has passed the others, as has `P`: it runs on
/// `P`'s device within `P`'s arena, and the bytes that survive a step of `P`
/// are its arguments, which it leaves as they are.
Status verifyFunction(const Program &P, const std::string &Name,
                      const Program &Function);

/// Untrusted text as it can be printed: at most 80 plain characters, quoted.
std::string quoteText(const std::string &Text);
/// "step 3 (matmul at model.mlir:4:8)".
std::string describeStep(const Program &P, size_t Step);
/// "tensor 5 ('w')".
std::string describeTensor(const Program &P, uint32_t Tensor);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_PROGRAMCHECKS_H
