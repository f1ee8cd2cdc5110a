// Before planning a group stays in its phase, since whether a value lives from
// the forward to the backward is not decided yet; what the user wants kept
// stays a value. After planning neither matters. A kernel has the phase and the
// origin of its last operation; ids stay with the operations inside.
// RUN: remat-opt --remat-fuse --split-input-file %s | FileCheck %s --check-prefix=BEFORE
// RUN: remat-opt --remat-fuse=mode=after-plan --split-input-file %s | FileCheck %s --check-prefix=AFTER

// BEFORE-LABEL: func.func @phase
// BEFORE-NOT: remat.kernel
// BEFORE-LABEL: func.func @keep
// BEFORE-NOT: remat.kernel
// BEFORE-LABEL: func.func @origin
// AFTER-LABEL: func.func @phase
// AFTER: remat.kernel{{.*}} attributes {remat.phase = #remat.phase<backward>} {
// AFTER-LABEL: func.func @keep
// AFTER: remat.kernel
func.func @phase(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = remat.exp %x : tensor<8xf32>
  %1 = remat.neg %0 {remat.phase = #remat.phase<backward>} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

func.func @keep(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = remat.exp %x {remat.keep = #remat.keep<must>} : tensor<8xf32>
  %1 = remat.neg %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// AFTER-LABEL: func.func @origin
// AFTER: remat.kernel
// AFTER: remat.exp %{{.*}} {remat.id = 7 : i64}
// AFTER: remat.kernel{{.*}} attributes {remat.origin = 8 : i64}
func.func @origin(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
  %0 = remat.exp %x {remat.id = 7 : i64} : tensor<8xf32>
  %1 = remat.neg %0 {remat.id = 8 : i64} : tensor<8xf32>
  %m = remat.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = remat.broadcast %1 : tensor<8xf32> to tensor<8x8xf32>
  %t = remat.transpose %b, [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = remat.exp %x {remat.origin = 7 : i64} : tensor<8xf32>
  %3 = remat.neg %2 {remat.origin = 8 : i64} : tensor<8xf32>
  return %1, %t, %3 : tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>
}
