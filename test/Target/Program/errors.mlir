// What is no program, and graphs whose memory does not hold together.
// RUN: not remat-translate --remat-to-program %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed 's/func.func @main/func.func private @x() func.func @main/' %s | not remat-translate --remat-to-program 2>&1 | FileCheck %s --check-prefix=GRAPH
// RUN: remat-opt --remat-assign-memory %s -o %t.mlir
// RUN: sed 's/remat.arena_bytes = [0-9]*/remat.arena_bytes = 100/' %t.mlir | not remat-translate --remat-to-program 2>&1 | FileCheck %s --check-prefix=ARENA
// RUN: sed 's/{remat.offsets = array<i64: [0-9]*>}//; s/, remat.stage = #remat.stage<assigned>//' %t.mlir | not remat-translate --remat-to-program 2>&1 | FileCheck %s --check-prefix=OFFSETS
// RUN: remat-translate --remat-to-program %t.mlir -o %t.remat
// RUN: head -c 7 %t.remat | not remat-translate --program-to-text 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: head -c 200 %t.remat | not remat-translate --program-to-text 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: not remat-translate --program-to-text %s 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not remat-translate --program-to-text %t.absent 2>&1 | FileCheck %s --check-prefix=ABSENT
// NONE: error: 'func.func' op has no assigned memory: attribute 'remat.arena_bytes' is missing, run remat-assign-memory first
// GRAPH: error:
// ARENA: error: 'x' of type 'tensor<64xf32>' at offset {{[0-9]+}} does not lie in the arena of 100 bytes
// OFFSETS: error: 'remat.exp' op has no assigned memory: attribute 'remat.offsets' has no number for result 0
// SHORT: error: no program: 7 bytes
// CUT: error: no program: the bytes are malformed or truncated
// OTHER: error: no program: the identifier is not 'RMAT'
// ABSENT: error:
func.func @main(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "a"}) {
  %0 = remat.exp %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}
