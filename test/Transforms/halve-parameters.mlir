// All that is read of the parameter is its bf16, and by its update: its 4 KiB
// lie as 2 KiB of bf16 and 2 KiB of what is missing, and nothing is cast.
// RUN: remat-opt %s --remat-set-target=device=cuda --remat-halve-parameters --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-halve-parameters --split-input-file | FileCheck %s --check-prefix=HOST
// HOST-NOT: upper_half

// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<32x32xf32> {{{.*}}remat.in_halves
// CHECK: %[[W:.*]] = remat.upper_half %arg0 : (tensor<32x32xf32>) -> tensor<32x32xbf16>
// CHECK-NEXT: remat.matmul %{{.*}}, %[[W]]
// CHECK-NEXT: %[[V:.*]] = remat.upper_half %arg0 {remat.phase = #remat.phase<backward>}
// CHECK-NEXT: remat.matmul %{{.*}}, %[[V]]
// CHECK: remat.adamw %arg0, %{{.*}} {in_halves, remat.phase = #remat.phase<optimizer>}
func.func @main(%w: tensor<32x32xf32> {remat.role = #remat.role<parameter>, remat.donated = 0 : i64}, %x: tensor<8x32xbf16> {remat.role = #remat.role<input>},
    %m: tensor<32x32xf32> {remat.role = #remat.role<state>, remat.donated = 1 : i64}, %v: tensor<32x32xf32> {remat.role = #remat.role<state>, remat.donated = 2 : i64}, %rate: tensor<f32> {remat.role = #remat.role<learning_rate>}, %step: tensor<i64> {remat.role = #remat.role<step>})
    -> (tensor<32x32xf32> {remat.role = #remat.role<parameter>}, tensor<32x32xf32> {remat.role = #remat.role<state>}, tensor<32x32xf32> {remat.role = #remat.role<state>}, tensor<8x32xbf16> {remat.role = #remat.role<output>}) {
  %0 = remat.cast %w : tensor<32x32xf32> to tensor<32x32xbf16>
  %1 = remat.matmul %x, %0 : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xbf16>
  %2 = remat.cast %w {remat.phase = #remat.phase<backward>} : tensor<32x32xf32> to tensor<32x32xbf16>
  %3 = remat.matmul %1, %2 : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xbf16>
  %4 = remat.matmul %x, %3 {transpose_lhs} : (tensor<8x32xbf16>, tensor<8x32xbf16>) -> tensor<32x32xbf16>
  %new, %nm, %nv = remat.adamw %w, %4 moments %m, %v rate %rate step %step {remat.phase = #remat.phase<optimizer>} : (tensor<32x32xf32>, tensor<32x32xbf16>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<f32>, tensor<i64>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>)
  return %new, %nm, %nv, %1 : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<8x32xbf16>
}

// -----

// These stay as they are: one that is read as f32 too (%a), whose update is
// read by another operation than the end (%b), or is not the argument's next
// value (%c), that is rounded to f16 (%d), whose bf16 a user keeps (%e), that
// nobody updates (%f), and that nobody rounds (%g).
// CHECK-LABEL: func.func @main
// CHECK-NOT: in_halves
// CHECK-NOT: upper_half
// CHECK: return
func.func @main(%a: tensor<8xf32> {remat.role = #remat.role<parameter>, remat.donated = 0 : i64}, %b: tensor<8xf32> {remat.role = #remat.role<parameter>, remat.donated = 1 : i64}, %c: tensor<8xf32> {remat.role = #remat.role<parameter>},
    %d: tensor<8xf32> {remat.role = #remat.role<parameter>, remat.donated = 3 : i64}, %e: tensor<8xf32> {remat.role = #remat.role<parameter>, remat.donated = 4 : i64}, %f: tensor<8xf32> {remat.role = #remat.role<parameter>}, %g: tensor<8xf32> {remat.role = #remat.role<parameter>, remat.donated = 5 : i64},
    %m: tensor<8xf32>, %rate: tensor<f32>, %step: tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>) {
  %a0 = remat.cast %a : tensor<8xf32> to tensor<8xbf16>
  %a1 = remat.exp %a : tensor<8xf32>
  %a2, %a3, %a4 = remat.adamw %a, %a1 moments %m, %m rate %rate step %step : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %b0 = remat.cast %b : tensor<8xf32> to tensor<8xbf16>
  %b2, %b3, %b4 = remat.adamw %b, %a1 moments %m, %m rate %rate step %step : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %b5 = remat.exp %b2 : tensor<8xf32>
  %c0 = remat.cast %c : tensor<8xf32> to tensor<8xbf16>
  %c2, %c3, %c4 = remat.adamw %c, %b5 moments %m, %m rate %rate step %step : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %d0 = remat.cast %d : tensor<8xf32> to tensor<8xf16>
  %d2, %d3, %d4 = remat.adamw %d, %d0 moments %m, %m rate %rate step %step : (tensor<8xf32>, tensor<8xf16>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %e0 = remat.cast %e {remat.keep = #remat.keep<must>} : tensor<8xf32> to tensor<8xbf16>
  %e2, %e3, %e4 = remat.adamw %e, %e0 moments %m, %m rate %rate step %step : (tensor<8xf32>, tensor<8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %f0 = remat.cast %f : tensor<8xf32> to tensor<8xbf16>
  %g2, %g3, %g4 = remat.adamw %g, %f0 moments %m, %m rate %rate step %step : (tensor<8xf32>, tensor<8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %z0 = remat.add %a0, %b0 : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  %z1 = remat.add %z0, %c0 : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  return %a2, %b2, %c2, %d2, %e2, %g2, %z1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>
}

// -----

// An argument that lies in halves already, as a function has it that shares it:
// what is no bf16 of it is joined.
// CHECK-LABEL: func.func @main
// CHECK: %[[U:.*]] = remat.upper_half %arg0
// CHECK: %[[J:.*]] = remat.join_halves %arg0 : (tensor<8xf32>) -> tensor<8xf32>
// CHECK: remat.mul %[[J]], %[[J]]
// CHECK: return %{{.*}}, %[[U]]
func.func @main(%w: tensor<8xf32> {remat.role = #remat.role<parameter>, remat.in_halves}) -> (tensor<8xf32>, tensor<8xbf16>) {
  %0 = remat.cast %w : tensor<8xf32> to tensor<8xbf16>
  %1 = remat.mul %w, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1, %0 : tensor<8xf32>, tensor<8xbf16>
}

// -----

// One of two ranks updates 4 of the 8 elements that both hold: the parameter
// lies whole, with the numbers of halves, so that the ranks have the bits of one
// process.
// CHECK-LABEL: func.func @main
// CHECK-NOT: in_halves
// CHECK: remat.cast %arg0
// CHECK: remat.adamw %{{.*}} {as_halves}
func.func @main(%w: tensor<2x4xf32> {remat.role = #remat.role<parameter>, remat.donated = 1 : i64}, %m: tensor<4xf32>, %rate: tensor<f32>, %step: tensor<i64>) -> (tensor<2x4xbf16>, tensor<2x4xf32>)
    attributes {remat.mesh = #remat.mesh<data = 2>} {
  %0 = remat.cast %w : tensor<2x4xf32> to tensor<2x4xbf16>
  %1 = remat.reshape %w : tensor<2x4xf32> to tensor<8xf32>
  %2 = remat.rank_part %1 over ["data"] : (tensor<8xf32>) -> tensor<4xf32>
  %new, %nm, %nv = remat.adamw %2, %m moments %m, %m rate %rate step %step : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %3 = remat.all_gather %new over ["data"] : (tensor<4xf32>) -> tensor<8xf32>
  %4 = remat.reshape %3 : tensor<8xf32> to tensor<2x4xf32>
  return %0, %4 : tensor<2x4xbf16>, tensor<2x4xf32>
}

// -----

// The new parameter gets its shape back behind the update, whose result is no
// argument's next value as it lies.
// CHECK-LABEL: func.func @main
// CHECK-NOT: in_halves
// CHECK: remat.adamw %{{.*}} {as_halves}
func.func @main(%w: tensor<8xf32> {remat.role = #remat.role<parameter>, remat.donated = 1 : i64}, %m: tensor<8xf32>, %rate: tensor<f32>, %step: tensor<i64>) -> (tensor<8xbf16>, tensor<8xf32>) {
  %0 = remat.cast %w : tensor<8xf32> to tensor<8xbf16>
  %new, %nm, %nv = remat.adamw %w, %m moments %m, %m rate %rate step %step : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %1 = remat.slice %new, [0] [8] : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xbf16>, tensor<8xf32>
}

// -----

// Rows that are looked up and then rounded come from the bf16 half: the lookup
// reads and writes half as much. Two casts of one lookup are one.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<16x4xf32> {{{.*}}remat.in_halves
// CHECK: %[[T:.*]] = remat.upper_half %arg0 : (tensor<16x4xf32>) -> tensor<16x4xbf16>
// CHECK-NEXT: %[[R:.*]] = remat.embedding %arg1, %[[T]] : (tensor<3xi64>, tensor<16x4xbf16>) -> tensor<3x4xbf16>
// CHECK-NEXT: remat.mul %[[R]], %[[R]]
// CHECK-NOT: remat.cast
func.func @main(%w: tensor<16x4xf32> {remat.role = #remat.role<parameter>, remat.donated = 1 : i64}, %ids: tensor<3xi64>, %g: tensor<16x4xf32>, %m: tensor<16x4xf32>, %rate: tensor<f32>, %step: tensor<i64>) -> (tensor<3x4xbf16>, tensor<16x4xf32>) {
  %0 = remat.embedding %ids, %w : (tensor<3xi64>, tensor<16x4xf32>) -> tensor<3x4xf32>
  %1 = remat.cast %0 : tensor<3x4xf32> to tensor<3x4xbf16>
  %2 = remat.cast %0 : tensor<3x4xf32> to tensor<3x4xbf16>
  %3 = remat.mul %1, %2 : (tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<3x4xbf16>
  %new, %nm, %nv = remat.adamw %w, %g moments %m, %m rate %rate step %step : (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<f32>, tensor<i64>) -> (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>)
  return %3, %new : tensor<3x4xbf16>, tensor<16x4xf32>
}

// -----

// Rows that something reads as f32, that a user keeps, or that nothing reads,
// are looked up in f32, and their tables stay.
// CHECK-LABEL: func.func @main
// CHECK-NOT: in_halves
// CHECK-NOT: upper_half
// CHECK: return
func.func @main(%a: tensor<16x4xf32> {remat.role = #remat.role<parameter>, remat.donated = 2 : i64}, %b: tensor<16x4xf32> {remat.role = #remat.role<parameter>, remat.donated = 3 : i64}, %c: tensor<16x4xf32> {remat.role = #remat.role<parameter>, remat.donated = 4 : i64}, %ids: tensor<3xi64>, %g: tensor<16x4xf32>, %m: tensor<16x4xf32>, %rate: tensor<f32>, %step: tensor<i64>)
    -> (tensor<3x4xf32>, tensor<3x4xbf16>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>) {
  %a0 = remat.embedding %ids, %a : (tensor<3xi64>, tensor<16x4xf32>) -> tensor<3x4xf32>
  %a1 = remat.cast %a0 : tensor<3x4xf32> to tensor<3x4xbf16>
  %b0 = remat.embedding %ids, %b {remat.keep = #remat.keep<must>} : (tensor<3xi64>, tensor<16x4xf32>) -> tensor<3x4xf32>
  %b1 = remat.cast %b0 : tensor<3x4xf32> to tensor<3x4xbf16>
  %c0 = remat.embedding %ids, %c : (tensor<3xi64>, tensor<16x4xf32>) -> tensor<3x4xf32>
  %0 = remat.add %a1, %b1 : (tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<3x4xbf16>
  %a2, %a3, %a4 = remat.adamw %a, %g moments %m, %m rate %rate step %step : (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<f32>, tensor<i64>) -> (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>)
  %b2, %b3, %b4 = remat.adamw %b, %g moments %m, %m rate %rate step %step : (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<f32>, tensor<i64>) -> (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>)
  %c2, %c3, %c4 = remat.adamw %c, %g moments %m, %m rate %rate step %step : (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<f32>, tensor<i64>) -> (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>)
  return %a0, %0, %a2, %b2, %c2 : tensor<3x4xf32>, tensor<3x4xbf16>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>
}

// -----

// The same in a loop, as over micro-batches: the half comes in from outside.
// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = remat.upper_half %arg0 : (tensor<16x4xf32>) -> tensor<16x4xbf16>
// CHECK: remat.scan 2 ({{.*}}) over (%[[I:.*]] = %arg1 : tensor<2x3xi64>) with (%[[B:.*]] = %[[T]] : tensor<16x4xbf16>)
// CHECK-NEXT: %[[R:.*]] = remat.embedding %[[I]], %[[B]] : (tensor<3xi64>, tensor<16x4xbf16>) -> tensor<3x4xbf16>
// CHECK-NEXT: remat.add %{{.*}}, %[[R]]
func.func @main(%w: tensor<16x4xf32> {remat.role = #remat.role<parameter>, remat.donated = 1 : i64}, %ids: tensor<2x3xi64>, %g: tensor<16x4xf32>, %m: tensor<16x4xf32>, %rate: tensor<f32>, %step: tensor<i64>, %zero: tensor<3x4xbf16>) -> (tensor<3x4xbf16>, tensor<16x4xf32>) {
  %0 = remat.scan 2 (%sum = %zero : tensor<3x4xbf16>) over (%i = %ids : tensor<2x3xi64>) with (%t = %w : tensor<16x4xf32>) -> tensor<3x4xbf16> {
    %1 = remat.embedding %i, %t : (tensor<3xi64>, tensor<16x4xf32>) -> tensor<3x4xf32>
    %2 = remat.cast %1 : tensor<3x4xf32> to tensor<3x4xbf16>
    %3 = remat.add %sum, %2 : (tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<3x4xbf16>
    remat.yield %3 : tensor<3x4xbf16>
  }
  %new, %nm, %nv = remat.adamw %w, %g moments %m, %m rate %rate step %step : (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<f32>, tensor<i64>) -> (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>)
  return %0, %new : tensor<3x4xbf16>, tensor<16x4xf32>
}
