// Folders and canonical forms.

// RUN: remat-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @identities
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[I:.*]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[I]]
func.func @identities(%x: tensor<2x3xf32>, %i: tensor<4xi32>, %s: tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xi32>) {
  %0 = remat.reshape %x : tensor<2x3xf32> to tensor<2x3xf32>
  %1 = remat.transpose %x, [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = remat.cast %x : tensor<2x3xf32> to tensor<2x3xf32>
  %3 = remat.broadcast %x : tensor<2x3xf32> to tensor<2x3xf32>
  %4 = remat.slice %x, [0, 0] [2, 3] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = remat.concat %x {dim = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = remat.reduce <sum> %x, [] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %7 = remat.dropout %x, %s, %s {p = 0.0 : f64, id = 1 : i64} : tensor<2x3xf32>
  %8 = remat.neg %x : tensor<2x3xf32>
  %9 = remat.neg %8 : tensor<2x3xf32>
  %one = remat.constant dense<1> : tensor<1xi32>
  %10 = remat.div %i, %one : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %9, %10 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xi32>
}

// CHECK-LABEL: @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]]
func.func @neutral(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %zero = remat.constant dense<0.0> : tensor<f32>
  %one = remat.constant dense<1.0> : tensor<3xf32>
  %0 = remat.add %zero, %x : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = remat.sub %x, %zero : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = remat.mul %one, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = remat.div %x, %one : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// A neutral operand that makes the result larger stays, and so does 0 - x.
// CHECK-LABEL: @not_neutral
// CHECK: remat.add
// CHECK: remat.sub
func.func @not_neutral(%x: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
  %zeros = remat.constant dense<0.0> : tensor<2x3xf32>
  %zero = remat.constant dense<0.0> : tensor<f32>
  %0 = remat.add %x, %zeros : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = remat.sub %zero, %x : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @chains
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[Y:.*]]: tensor<3xf32>)
// CHECK-DAG: %[[R:.*]] = remat.reshape %[[X]] : tensor<2x3x4xf32> to tensor<24xf32>
// CHECK-DAG: %[[T:.*]] = remat.transpose %[[X]], [2, 1, 0]
// CHECK-DAG: %[[S:.*]] = remat.slice %[[X]], [1, 1, 3] [1, 1, 1]
// CHECK-DAG: %[[B:.*]] = remat.broadcast %[[Y]] : tensor<3xf32> to tensor<5x2x3xf32>
// CHECK: return %[[R]], %[[X]], %[[T]], %[[X]], %[[S]], %[[B]]
func.func @chains(%x: tensor<2x3x4xf32>, %y: tensor<3xf32>) -> (tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x3x2xf32>, tensor<2x3x4xf32>, tensor<1x1x1xf32>, tensor<5x2x3xf32>) {
  %0 = remat.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  %1 = remat.reshape %0 : tensor<6x4xf32> to tensor<24xf32>
  %2 = remat.reshape %1 : tensor<24xf32> to tensor<2x3x4xf32>
  %3 = remat.transpose %x, [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %4 = remat.transpose %3, [1, 0, 2] : (tensor<3x4x2xf32>) -> tensor<4x3x2xf32>
  %5 = remat.transpose %3, [2, 0, 1] : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  %6 = remat.slice %x, [1, 0, 2] [1, 3, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x2xf32>
  %7 = remat.slice %6, [0, 1, 1] [1, 1, 1] : (tensor<1x3x2xf32>) -> tensor<1x1x1xf32>
  %8 = remat.broadcast %y : tensor<3xf32> to tensor<2x3xf32>
  %9 = remat.broadcast %8 : tensor<2x3xf32> to tensor<5x2x3xf32>
  return %1, %2, %4, %5, %7, %9 : tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x3x2xf32>, tensor<2x3x4xf32>, tensor<1x1x1xf32>, tensor<5x2x3xf32>
}

// Rolls of one dimension are one, or none where 2 + 3 places are once round;
// those of two dimensions stay, a splat has no places.
// CHECK-LABEL: @rolls
// CHECK-SAME: (%[[X:.*]]: tensor<4x5xf32>)
// CHECK-DAG: %[[C:.*]] = remat.constant dense<2.000000e+00> : tensor<4x5xf32>
// CHECK-DAG: %[[R:.*]] = remat.roll %[[X]] {dim = 1 : i64, shift = 1 : i64} : tensor<4x5xf32>
// CHECK-DAG: %[[A:.*]] = remat.roll %[[X]] {dim = 1 : i64, shift = 3 : i64} : tensor<4x5xf32>
// CHECK-DAG: %[[B:.*]] = remat.roll %[[A]] {dim = 0 : i64, shift = 3 : i64} : tensor<4x5xf32>
// CHECK: return %[[X]], %[[R]], %[[X]], %[[B]], %[[C]]
func.func @rolls(%x: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) {
  %0 = remat.roll %x {dim = 1 : i64, shift = 0 : i64} : tensor<4x5xf32>
  %1 = remat.roll %x {dim = 1 : i64, shift = 3 : i64} : tensor<4x5xf32>
  %2 = remat.roll %1 {dim = 1 : i64, shift = 3 : i64} : tensor<4x5xf32>
  %3 = remat.roll %1 {dim = 1 : i64, shift = 2 : i64} : tensor<4x5xf32>
  %4 = remat.roll %1 {dim = 0 : i64, shift = 3 : i64} : tensor<4x5xf32>
  %c = remat.constant dense<2.0> : tensor<4x5xf32>
  %5 = remat.roll %c {dim = 0 : i64, shift = 1 : i64} : tensor<4x5xf32>
  return %0, %2, %3, %4, %5 : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>
}

// A first cast that loses nothing goes, one that rounds stays.
// CHECK-LABEL: @casts
// CHECK-SAME: (%[[H:.*]]: tensor<3xbf16>, %[[X:.*]]: tensor<3xf32>, %[[C:.*]]: tensor<3xi1>)
// CHECK-DAG: %[[F:.*]] = remat.cast %[[H]] : tensor<3xbf16> to tensor<3xf16>
// CHECK-DAG: %[[N:.*]] = remat.cast %[[X]] : tensor<3xf32> to tensor<3xbf16>
// CHECK-DAG: %[[W:.*]] = remat.cast %[[N]] : tensor<3xbf16> to tensor<3xf32>
// CHECK-DAG: %[[I:.*]] = remat.cast %[[C]] : tensor<3xi1> to tensor<3xi64>
// CHECK: return %[[H]], %[[F]], %[[W]], %[[I]]
func.func @casts(%h: tensor<3xbf16>, %x: tensor<3xf32>, %c: tensor<3xi1>) -> (tensor<3xbf16>, tensor<3xf16>, tensor<3xf32>, tensor<3xi64>) {
  %0 = remat.cast %h : tensor<3xbf16> to tensor<3xf32>
  %1 = remat.cast %0 : tensor<3xf32> to tensor<3xbf16>
  %2 = remat.cast %0 : tensor<3xf32> to tensor<3xf16>
  %3 = remat.cast %x : tensor<3xf32> to tensor<3xbf16>
  %4 = remat.cast %3 : tensor<3xbf16> to tensor<3xf32>
  %5 = remat.cast %c : tensor<3xi1> to tensor<3xf32>
  %6 = remat.cast %5 : tensor<3xf32> to tensor<3xi64>
  return %1, %2, %4, %6 : tensor<3xbf16>, tensor<3xf16>, tensor<3xf32>, tensor<3xi64>
}

// CHECK-LABEL: @select
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<3xf32>, %[[C:.*]]: tensor<3xi1>)
// CHECK-NEXT: return %[[X]], %[[Y]], %[[X]]
func.func @select(%x: tensor<3xf32>, %y: tensor<3xf32>, %c: tensor<3xi1>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %true = remat.constant dense<true> : tensor<3xi1>
  %false = remat.constant dense<false> : tensor<i1>
  %0 = remat.select %true, %x, %y : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = remat.select %false, %x, %y : (tensor<i1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = remat.select %c, %x, %x : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Constants: f32 arithmetic, bf16 computed in f32 and rounded once, integers
// that wrap, division by zero.
// CHECK-LABEL: @constants
// CHECK-DAG: dense<-3.500000e+00> : tensor<2x3xf32>
// CHECK-DAG: dense<2.570000e+02> : tensor<f32>
// CHECK-DAG: dense<2.560000e+02> : tensor<bf16>
// CHECK-DAG: dense<-2147483648> : tensor<i32>
// CHECK-DAG: dense<0> : tensor<i32>
// CHECK-DAG: dense<-3> : tensor<i64>
// CHECK-DAG: dense<true> : tensor<i1>
// CHECK-DAG: dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi64>
// CHECK-NOT: remat.{{[a-b]|[d-z]}}
// CHECK: return
func.func @constants() -> (tensor<2x3xf32>, tensor<f32>, tensor<bf16>, tensor<i32>, tensor<i32>, tensor<i64>, tensor<i1>, tensor<2x2xi64>) {
  %a = remat.constant dense<3.5> : tensor<3x1xf32>
  %0 = remat.neg %a : tensor<3x1xf32>
  %1 = remat.transpose %0, [1, 0] : (tensor<3x1xf32>) -> tensor<1x3xf32>
  %2 = remat.broadcast %1 : tensor<1x3xf32> to tensor<2x3xf32>
  %f256 = remat.constant dense<256.0> : tensor<f32>
  %f1 = remat.constant dense<1.0> : tensor<f32>
  %3 = remat.add %f256, %f1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %4 = remat.cast %3 : tensor<f32> to tensor<bf16>
  %i = remat.constant dense<2147483647> : tensor<i32>
  %i1 = remat.constant dense<1> : tensor<i32>
  %i0 = remat.constant dense<0> : tensor<i32>
  %5 = remat.add %i, %i1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %6 = remat.div %i, %i0 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %7 = remat.cast %0 : tensor<3x1xf32> to tensor<3x1xi64>
  %8 = remat.slice %7, [1, 0] [1, 1] : (tensor<3x1xi64>) -> tensor<1x1xi64>
  %9 = remat.reshape %8 : tensor<1x1xi64> to tensor<i64>
  %10 = remat.cast %9 : tensor<i64> to tensor<i1>
  %m = remat.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %11 = remat.reshape %m : tensor<4xi64> to tensor<2x2xi64>
  return %2, %3, %4, %5, %6, %9, %10, %11 : tensor<2x3xf32>, tensor<f32>, tensor<bf16>, tensor<i32>, tensor<i32>, tensor<i64>, tensor<i1>, tensor<2x2xi64>
}

// What a float that does not fit an integer becomes is not defined: it stays.
// CHECK-LABEL: @too_large
// CHECK: remat.cast
func.func @too_large() -> tensor<i32> {
  %0 = remat.constant dense<1.0e20> : tensor<f32>
  %1 = remat.cast %0 : tensor<f32> to tensor<i32>
  return %1 : tensor<i32>
}

// Three slices of one tensor are its packed form.
// CHECK-LABEL: @packed
// CHECK-SAME: (%[[X:.*]]: tensor<2x8x3x4x16xf32>)
// CHECK-NEXT: %[[R:.*]], %[[L:.*]] = remat.attention %[[X]] {causal} : (tensor<2x8x3x4x16xf32>)
func.func @packed(%x: tensor<2x8x3x4x16xf32>) -> tensor<2x8x4x16xf32> {
  %0 = remat.slice %x, [0, 0, 0, 0, 0] [2, 8, 1, 4, 16] : (tensor<2x8x3x4x16xf32>) -> tensor<2x8x1x4x16xf32>
  %1 = remat.slice %x, [0, 0, 1, 0, 0] [2, 8, 1, 4, 16] : (tensor<2x8x3x4x16xf32>) -> tensor<2x8x1x4x16xf32>
  %2 = remat.slice %x, [0, 0, 2, 0, 0] [2, 8, 1, 4, 16] : (tensor<2x8x3x4x16xf32>) -> tensor<2x8x1x4x16xf32>
  %q = remat.reshape %0 : tensor<2x8x1x4x16xf32> to tensor<2x8x4x16xf32>
  %k = remat.reshape %1 : tensor<2x8x1x4x16xf32> to tensor<2x8x4x16xf32>
  %v = remat.reshape %2 : tensor<2x8x1x4x16xf32> to tensor<2x8x4x16xf32>
  %r, %lse = remat.attention %q, %k, %v {causal} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return %r : tensor<2x8x4x16xf32>
}

// CHECK-LABEL: @packed_flat
// CHECK-SAME: (%[[X:.*]]: tensor<2x8x192xf32>)
// CHECK-NEXT: %[[P:.*]] = remat.reshape %[[X]] : tensor<2x8x192xf32> to tensor<2x8x3x4x16xf32>
// CHECK-NEXT: remat.attention %[[P]] : (tensor<2x8x3x4x16xf32>)
func.func @packed_flat(%x: tensor<2x8x192xf32>) -> tensor<2x8x4x16xf32> {
  %0 = remat.slice %x, [0, 0, 0] [2, 8, 64] : (tensor<2x8x192xf32>) -> tensor<2x8x64xf32>
  %1 = remat.slice %x, [0, 0, 64] [2, 8, 64] : (tensor<2x8x192xf32>) -> tensor<2x8x64xf32>
  %2 = remat.slice %x, [0, 0, 128] [2, 8, 64] : (tensor<2x8x192xf32>) -> tensor<2x8x64xf32>
  %q = remat.reshape %0 : tensor<2x8x64xf32> to tensor<2x8x4x16xf32>
  %k = remat.reshape %1 : tensor<2x8x64xf32> to tensor<2x8x4x16xf32>
  %v = remat.reshape %2 : tensor<2x8x64xf32> to tensor<2x8x4x16xf32>
  %r, %lse = remat.attention %q, %k, %v : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return %r : tensor<2x8x4x16xf32>
}

// Key and value swapped: these are not the packed form.
// CHECK-LABEL: @not_packed
// CHECK: remat.attention %{{.*}}, %{{.*}}, %{{.*}} :
func.func @not_packed(%x: tensor<2x8x192xf32>) -> tensor<2x8x4x16xf32> {
  %0 = remat.slice %x, [0, 0, 0] [2, 8, 64] : (tensor<2x8x192xf32>) -> tensor<2x8x64xf32>
  %1 = remat.slice %x, [0, 0, 128] [2, 8, 64] : (tensor<2x8x192xf32>) -> tensor<2x8x64xf32>
  %2 = remat.slice %x, [0, 0, 64] [2, 8, 64] : (tensor<2x8x192xf32>) -> tensor<2x8x64xf32>
  %q = remat.reshape %0 : tensor<2x8x64xf32> to tensor<2x8x4x16xf32>
  %k = remat.reshape %1 : tensor<2x8x64xf32> to tensor<2x8x4x16xf32>
  %v = remat.reshape %2 : tensor<2x8x64xf32> to tensor<2x8x4x16xf32>
  %r, %lse = remat.attention %q, %k, %v : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return %r : tensor<2x8x4x16xf32>
}

// A copy is there because a value must be there twice.
// CHECK-LABEL: @copies
// CHECK-NEXT: %[[COPY:.*]] = remat.copy
// CHECK-NEXT: return %[[COPY]]
func.func @copies(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = remat.copy %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Sums of gradients are made in f32: gradients that are widened for them alone
// are read as they are. A cast that rounds stays.
// CHECK-LABEL: @widened_gradients
// CHECK-SAME: %[[I:.*]]: tensor<2xi64>, %[[H:.*]]: tensor<2x4xbf16>, %[[G:.*]]: tensor<2x4xf32>
// CHECK-DAG: %[[A:.*]] = remat.embedding_backward %[[I]], %[[H]] : (tensor<2xi64>, tensor<2x4xbf16>) -> tensor<8x4xf32>
// CHECK-DAG: %[[N:.*]] = remat.cast %[[G]] : tensor<2x4xf32> to tensor<2x4xbf16>
// CHECK-DAG: %[[B:.*]] = remat.embedding_backward %[[I]], %[[N]] : (tensor<2xi64>, tensor<2x4xbf16>) -> tensor<8x4xbf16>
// CHECK: return %[[A]], %[[B]]
func.func @widened_gradients(%i: tensor<2xi64>, %h: tensor<2x4xbf16>, %g: tensor<2x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xbf16>) {
  %0 = remat.cast %h : tensor<2x4xbf16> to tensor<2x4xf32>
  %1 = remat.embedding_backward %i, %0 : (tensor<2xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %2 = remat.cast %g : tensor<2x4xf32> to tensor<2x4xbf16>
  %3 = remat.embedding_backward %i, %2 : (tensor<2xi64>, tensor<2x4xbf16>) -> tensor<8x4xbf16>
  return %1, %3 : tensor<8x4xf32>, tensor<8x4xbf16>
}
