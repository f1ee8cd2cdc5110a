// What canonicalization makes of operations for the devices.
// RUN: remat-opt --canonicalize %s | FileCheck %s

// A library adds a bias of the result's type only. The cast widens 16 bits to
// f32, so that the sums have the same bits.
// CHECK-LABEL: func.func @bias
// CHECK-NEXT: %[[B:.*]] = remat.cast %arg2 {remat.phase = #remat.phase<backward>} : tensor<4xbf16> to tensor<4xf32>
// CHECK-NEXT: remat.matmul %arg0, %arg1 bias %[[B]] {remat.phase = #remat.phase<backward>} : (tensor<8x16xbf16>, tensor<16x4xbf16>, tensor<4xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: remat.matmul %arg0, %arg1 bias %arg2 : (tensor<8x16xbf16>, tensor<16x4xbf16>, tensor<4xbf16>) -> tensor<8x4xbf16>
func.func @bias(%x: tensor<8x16xbf16>, %w: tensor<16x4xbf16>, %b: tensor<4xbf16>) -> (tensor<8x4xf32>, tensor<8x4xbf16>) {
  %0 = remat.matmul %x, %w bias %b {remat.phase = #remat.phase<backward>} : (tensor<8x16xbf16>, tensor<16x4xbf16>, tensor<4xbf16>) -> tensor<8x4xf32>
  %1 = remat.matmul %x, %w bias %b : (tensor<8x16xbf16>, tensor<16x4xbf16>, tensor<4xbf16>) -> tensor<8x4xbf16>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xbf16>
}

// A kernel with rows inside, and one of values of several shapes, are taken
// apart; what the user wants kept is what they yield. One over a single shape
// stays, whatever it reads or adds.
// CHECK-LABEL: func.func @kernels
// CHECK-NEXT: %[[E:.*]] = remat.exp %arg0 : tensor<4x8xf32>
// CHECK-NEXT: %[[R:.*]] = remat.reduce <sum> %[[E]], [1] {remat.keep = #remat.keep<must>}
// CHECK-NEXT: %[[N:.*]] = remat.neg %arg1 : tensor<8xf32>
// CHECK-NEXT: %[[A:.*]] = remat.add %arg0, %[[N]]
// CHECK-NEXT: remat.kernel(
// CHECK: return %[[R]], %[[A]],
func.func @kernels(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = remat.kernel(%a = %x : tensor<4x8xf32>) -> tensor<4xf32> attributes {remat.keep = #remat.keep<must>} {
    %3 = remat.exp %a : tensor<4x8xf32>
    %4 = remat.reduce <sum> %3, [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    remat.yield %4 : tensor<4xf32>
  }
  %1 = remat.kernel(%a = %x : tensor<4x8xf32>, %b = %y : tensor<8xf32>) -> tensor<4x8xf32> {
    %3 = remat.neg %b : tensor<8xf32>
    %4 = remat.add %a, %3 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    remat.yield %4 : tensor<4x8xf32>
  }
  %2 = remat.kernel(%a = %x : tensor<4x8xf32>, %b = %y : tensor<8xf32>) -> tensor<4x8xf32> {
    %c = remat.constant dense<2.0> : tensor<f32>
    %3 = remat.mul %a, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %4 = remat.add %3, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    remat.yield %4 : tensor<4x8xf32>
  }
  return %0, %1, %2 : tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// Over one element each there is nothing to add or to compare. A loss of one
// element is made in f32. A kernel, which has no reshape, is taken apart first.
// CHECK-LABEL: func.func @reduce_nothing
// CHECK-NEXT: %[[S:.*]] = remat.reshape %arg0 {remat.phase = #remat.phase<backward>} : tensor<1x4x8xbf16> to tensor<4x8xbf16>
// CHECK-NEXT: %[[M:.*]] = remat.reduce <mean> %arg0, [1]
// CHECK-NEXT: %[[L:.*]] = remat.reduce <sum> %arg1, [0]
// CHECK-NEXT: %[[K:.*]] = remat.exp %arg2
// CHECK-NEXT: return %[[S]], %arg2, %[[M]], %[[L]], %[[K]]
func.func @reduce_nothing(%x: tensor<1x4x8xbf16>, %one: tensor<1xbf16>, %y: tensor<4x1xf32>)
    -> (tensor<4x8xbf16>, tensor<4x1xf32>, tensor<1x8xbf16>, tensor<bf16>, tensor<4x1xf32>) {
  %0 = remat.reduce <sum> %x, [0] {remat.phase = #remat.phase<backward>} : (tensor<1x4x8xbf16>) -> tensor<4x8xbf16>
  %1 = remat.reduce <max> %y, [1] {keep_dims} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %2 = remat.reduce <mean> %x, [1] : (tensor<1x4x8xbf16>) -> tensor<1x8xbf16>
  %3 = remat.reduce <sum> %one, [0] : (tensor<1xbf16>) -> tensor<bf16>
  %4 = remat.kernel(%a = %y : tensor<4x1xf32>) -> tensor<4x1xf32> {
    %5 = remat.exp %a : tensor<4x1xf32>
    %6 = remat.reduce <sum> %5, [1] {keep_dims} : (tensor<4x1xf32>) -> tensor<4x1xf32>
    remat.yield %6 : tensor<4x1xf32>
  }
  return %0, %1, %2, %3, %4 : tensor<4x8xbf16>, tensor<4x1xf32>, tensor<1x8xbf16>, tensor<bf16>, tensor<4x1xf32>
}

// The mask of relu follows from what normalize read: neither the sums nor the
// elementwise backward reads relu's result.
// CHECK-LABEL: @relu_of_normalize
// CHECK: %[[Y:.*]] = remat.relu
// CHECK: %[[N:.*]] = remat.normalize {{.*}} {remat.phase = #remat.phase<backward>}
// CHECK: %[[M:.*]] = remat.relu_backward %[[N]], %arg1
// CHECK: remat.normalize_sums %arg1, %arg0, %arg2 relu %arg3, %arg4, %arg4
// CHECK: return %[[Y]], %[[M]]
func.func @relu_of_normalize(%x: tensor<8x4xf32>, %g: tensor<8x4xf32>, %mean: tensor<1x4xf32>, %rstd: tensor<1x4xf32>, %s: tensor<1x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %0 = remat.normalize %x, %mean, %rstd, %s, %s : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
  %1 = remat.relu %0 : tensor<8x4xf32>
  %2 = remat.relu_backward %1, %g {remat.phase = #remat.phase<backward>} : tensor<8x4xf32>
  %3:2 = remat.normalize_sums %2, %x, %mean {remat.phase = #remat.phase<backward>} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>)
  return %1, %2, %3#0, %3#1 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}

// The gradient of a tensor that was cut in three: [0, 2), [2, 3) and [3, 7) of
// dimension 0. The pads become a join.
// CHECK-LABEL: func @pads_beside_each_other
func.func @pads_beside_each_other(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>,
                                  %c: tensor<4x3xf32>) -> tensor<7x3xf32> {
  // CHECK-NEXT: %[[S:.*]] = remat.concat %{{.*}}, %{{.*}}, %{{.*}} {dim = 0 : i64} : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<4x3xf32>)
  // CHECK-NEXT: return %[[S]]
  %0 = remat.pad %c, [3, 0] [0, 0] : (tensor<4x3xf32>) -> tensor<7x3xf32>
  %1 = remat.pad %b, [2, 0] [4, 0] : (tensor<1x3xf32>) -> tensor<7x3xf32>
  %2 = remat.add %0, %1 : (tensor<7x3xf32>, tensor<7x3xf32>) -> tensor<7x3xf32>
  %3 = remat.pad %a, [0, 0] [5, 0] : (tensor<2x3xf32>) -> tensor<7x3xf32>
  %4 = remat.add %2, %3 : (tensor<7x3xf32>, tensor<7x3xf32>) -> tensor<7x3xf32>
  return %4 : tensor<7x3xf32>
}

// What else is added stays; [1, 3) and [3, 4) of 6 leave zeros at both ends.
// CHECK-LABEL: func @pads_and_another
func.func @pads_and_another(%x: tensor<6xf32>, %a: tensor<2xf32>,
                            %b: tensor<1xf32>) -> tensor<6xf32> {
  // CHECK-NEXT: %[[S:.*]] = remat.concat %{{.*}}, %{{.*}} {dim = 0 : i64, remat.phase = #remat.phase<backward>} : (tensor<2xf32>, tensor<1xf32>)
  // CHECK-NEXT: %[[P:.*]] = remat.pad %[[S]], [1] [2] {remat.phase = #remat.phase<backward>}
  // CHECK-NEXT: remat.add %arg0, %[[P]] {remat.phase = #remat.phase<backward>}
  %0 = remat.pad %a, [1] [3] : (tensor<2xf32>) -> tensor<6xf32>
  %1 = remat.add %x, %0 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %2 = remat.pad %b, [3] [2] : (tensor<1xf32>) -> tensor<6xf32>
  %3 = remat.add %1, %2 {remat.phase = #remat.phase<backward>} : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return %3 : tensor<6xf32>
}

// Pads that overlap, or leave a gap, stay as they are.
// CHECK-LABEL: func @pads_that_do_not_touch
func.func @pads_that_do_not_touch(%a: tensor<2xf32>, %b: tensor<1xf32>)
    -> (tensor<6xf32>, tensor<6xf32>) {
  // CHECK-NOT: remat.concat
  // CHECK: return
  %0 = remat.pad %a, [1] [3] : (tensor<2xf32>) -> tensor<6xf32>
  %1 = remat.pad %b, [2] [3] : (tensor<1xf32>) -> tensor<6xf32>
  %2 = remat.add %0, %1 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %3 = remat.pad %a, [1] [3] : (tensor<2xf32>) -> tensor<6xf32>
  %4 = remat.pad %b, [4] [1] : (tensor<1xf32>) -> tensor<6xf32>
  %5 = remat.add %3, %4 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return %2, %5 : tensor<6xf32>, tensor<6xf32>
}
