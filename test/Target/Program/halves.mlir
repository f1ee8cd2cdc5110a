// A parameter in halves: the update writes it in place, and its bf16 are no
// bytes of their own: 256 bytes of f32, of which the first 128 are the bf16.
// RUN: remat-opt %s --remat-assign-memory | FileCheck %s --check-prefix=PLACES
// RUN: remat-opt %s --remat-assign-memory | remat-translate --remat-to-program -o %t.remat
// RUN: remat-translate --program-to-text %t.remat | FileCheck %s --check-prefix=PROGRAM
// RUN: sed 's/remat.upper_half %w : .*/remat.cast %w : tensor<64xf32> to tensor<64xbf16>/' %s | remat-opt --remat-assign-memory -o %t.mlir
// RUN: not remat-translate --remat-to-program %t.mlir 2>&1 | FileCheck %s --check-prefix=READER

// PLACES-LABEL: func.func @main
// PLACES: remat.upper_half %arg0 {remat.offsets = array<i64: [[W:[0-9]+]]>}
// PLACES: remat.adamw %arg0, {{.*}} {in_halves, remat.offsets = array<i64: [[W]],
// PROGRAM: tensor %0 f32[64] in halves at [[P:[0-9]+]] Parameters
// PROGRAM: tensor %{{[0-9]+}} bf16[64] at [[P]] Parameters
// PROGRAM: tensor %{{[0-9]+}} f32[64] in halves at [[P]] Parameters
// READER: error: 'remat.cast' op reads operand 0 as f32, which lies in halves: remat-halve-parameters comes behind whatever adds readers
func.func @main(%w: tensor<64xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.in_halves, remat.donated = 0 : i64}, %m: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "m", remat.donated = 1 : i64}, %v: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "v", remat.donated = 2 : i64},
    %rate: tensor<f32> {remat.role = #remat.role<learning_rate>, remat.name = "rate"}, %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<64xf32> {remat.role = #remat.role<parameter>, remat.name = "w"}, tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "m"}, tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "v"}) {
  %0 = remat.upper_half %w : (tensor<64xf32>) -> tensor<64xbf16>
  %1 = remat.exp %0 : tensor<64xbf16>
  %new, %nm, %nv = remat.adamw %w, %1 moments %m, %v rate %rate step %step {in_halves} : (tensor<64xf32>, tensor<64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<i64>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  return %new, %nm, %nv : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
