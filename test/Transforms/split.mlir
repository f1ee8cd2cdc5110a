// RUN: remat-opt %s --split-input-file --remat-split=slices=2 | FileCheck %s
// RUN: remat-opt %s --split-input-file --remat-split=slices=1 | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: remat.slices
// WHOLE-NOT: remat.concat

// The example of Passes.td. Of %0 and %1, 1,024 bytes each, there is a half at a
// time; 16 bytes are joined.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4x2xf32> {{.*}}, %[[W:[^:]*]]: tensor<2x64xf32>
// CHECK-SAME: remat.slices = [#remat.sliced<"", {{.*}}, bytes = 1024, slices = 2>]
// CHECK-NEXT: %[[X0:.*]] = remat.slice %[[X]], [0, 0] [2, 2] : (tensor<4x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %[[P0:.*]] = remat.matmul %[[X0]], %[[W]] : (tensor<2x2xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
// CHECK-NEXT: %[[E0:.*]] = remat.exp %[[P0]] : tensor<2x64xf32>
// CHECK-NEXT: %[[R0:.*]] = remat.reduce <sum> %[[E0]], [1] : (tensor<2x64xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[X1:.*]] = remat.slice %[[X]], [2, 0] [2, 2] : (tensor<4x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %[[P1:.*]] = remat.matmul %[[X1]], %[[W]] : (tensor<2x2xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
// CHECK-NEXT: %[[E1:.*]] = remat.exp %[[P1]] : tensor<2x64xf32>
// CHECK-NEXT: %[[R1:.*]] = remat.reduce <sum> %[[E1]], [1] : (tensor<2x64xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[R:.*]] = remat.concat %[[R0]], %[[R1]] {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %[[R]] : tensor<4xf32>
func.func @main(%x: tensor<4x2xf32> {remat.role = #remat.role<input>},
                %w: tensor<2x64xf32> {remat.role = #remat.role<parameter>}) -> tensor<4xf32> {
  %0 = remat.matmul %x, %w : (tensor<4x2xf32>, tensor<2x64xf32>) -> tensor<4x64xf32>
  %1 = remat.exp %0 : tensor<4x64xf32>
  %2 = remat.reduce <sum> %1, [1] : (tensor<4x64xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A product over the dimension that is cut is a sum over slices, in f32 until it
// is whole: 2,048 rows of 8 in bf16 are 32 KiB, the sum takes 2 * 4 * 64 bytes.
// CHECK-LABEL: func.func @sum
// CHECK: %[[G0:.*]] = remat.matmul {{.*}} {transpose_lhs} : (tensor<1024x8xbf16>, tensor<1024x8xbf16>) -> tensor<8x8xf32>
// CHECK: %[[G1:.*]] = remat.matmul {{.*}} {transpose_lhs} : (tensor<1024x8xbf16>, tensor<1024x8xbf16>) -> tensor<8x8xf32>
// CHECK-NEXT: %[[SUM:.*]] = remat.add %[[G0]], %[[G1]] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %[[OUT:.*]] = remat.cast %[[SUM]] : tensor<8x8xf32> to tensor<8x8xbf16>
// CHECK-NEXT: return %[[OUT]]
func.func @sum(%x: tensor<2048x8xbf16>) -> tensor<8x8xbf16> {
  %0 = remat.exp %x : tensor<2048x8xbf16>
  %1 = remat.matmul %0, %0 {transpose_lhs} : (tensor<2048x8xbf16>, tensor<2048x8xbf16>) -> tensor<8x8xbf16>
  return %1 : tensor<8x8xbf16>
}

// -----

// Who wants the sum in f32 gets it as it is.
// CHECK-LABEL: func.func @wide
// CHECK: %[[SUM:.*]] = remat.add {{.*}} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK: return %[[SUM]]
func.func @wide(%x: tensor<2048x8xbf16>) -> tensor<8x8xf32> {
  %0 = remat.exp %x : tensor<2048x8xbf16>
  %1 = remat.matmul %0, %0 {transpose_lhs} : (tensor<2048x8xbf16>, tensor<2048x8xbf16>) -> tensor<8x8xbf16>
  %2 = remat.cast %1 : tensor<8x8xbf16> to tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Loss and gradient of rows that may not count: each slice has the part of them
// that it holds. The backward of a slice runs behind its forward, whatever
// stood between them.
// CHECK-LABEL: func.func @loss
// CHECK: %[[COUNTS:.*]] = remat.reduce <sum> {{.*}}, [1] : (tensor<2x2xf32>) -> tensor<2xf32>
// CHECK: %[[ALL:.*]] = remat.reduce <sum> %[[COUNTS]], [0]
// CHECK: %[[SOME:.*]] = remat.max %[[ALL]],
// CHECK: %[[SHARES:.*]] = remat.div %[[COUNTS]], %[[SOME]]
// CHECK: %[[S0:.*]] = remat.slice %[[SHARES]], [0] [1]
// CHECK: %[[A0:.*]] = remat.reshape %[[S0]] : tensor<1xf32> to tensor<f32>
// CHECK: %[[LOSS0:.*]], %[[LSE0:.*]] = remat.cross_entropy {{.*}} : (tensor<2x64xf32>, tensor<2xi64>)
// CHECK: remat.mul %[[LOSS0]], %[[A0]]
// CHECK: %[[G0:.*]] = remat.mul {{.*}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %[[D0:.*]] = remat.cross_entropy_backward %[[G0]], {{.*}}, %[[LSE0]]
// CHECK: remat.matmul %[[D0]],
// CHECK: %[[S1:.*]] = remat.slice {{.*}}, [1] [1]
// CHECK: remat.cross_entropy {{.*}} : (tensor<2x64xf32>, tensor<2xi64>)
// CHECK: remat.cross_entropy_backward
func.func @loss(%x: tensor<4x2xf32>, %w: tensor<64x2xf32>, %t: tensor<4xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<4x2xf32>, tensor<f32>) {
  %0 = remat.matmul %x, %w {transpose_rhs} : (tensor<4x2xf32>, tensor<64x2xf32>) -> tensor<4x64xf32>
  %loss, %lse = remat.cross_entropy %0, %t : (tensor<4x64xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
  %twice = remat.add %loss, %loss : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = remat.cross_entropy_backward %g, %0, %t, %lse : (tensor<f32>, tensor<4x64xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x64xf32>
  %2 = remat.matmul %1, %w : (tensor<4x64xf32>, tensor<64x2xf32>) -> tensor<4x2xf32>
  return %loss, %2, %twice : tensor<f32>, tensor<4x2xf32>, tensor<f32>
}

// -----

// The gradient depends on the whole loss, so that no slice of it can run before
// all slices of the loss: nothing is split.
// CHECK-LABEL: func.func @loss_first
// CHECK-NOT: remat.slices
// CHECK-NOT: remat.concat
func.func @loss_first(%x: tensor<4x2xf32>, %w: tensor<64x2xf32>, %t: tensor<4xi64>) -> tensor<4x2xf32> {
  %0 = remat.matmul %x, %w {transpose_rhs} : (tensor<4x2xf32>, tensor<64x2xf32>) -> tensor<4x64xf32>
  %loss, %lse = remat.cross_entropy %0, %t : (tensor<4x64xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
  %g = remat.exp %loss : tensor<f32>
  %1 = remat.cross_entropy_backward %g, %0, %t, %lse : (tensor<f32>, tensor<4x64xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x64xf32>
  %2 = remat.matmul %1, %w : (tensor<4x64xf32>, tensor<64x2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// What draws numbers by the place of an element in the whole stays whole, what
// is returned is whole anyhow, and 3 rows have no halves.
// CHECK-LABEL: func.func @random
// CHECK-NOT: remat.concat
func.func @random(%x: tensor<4x64xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<4xf32> {
  %0 = remat.dropout %x, %seed, %step {p = 0.5 : f64, id = 0 : i64} : tensor<4x64xf32>
  %1 = remat.reduce <sum> %0, [1] : (tensor<4x64xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @returned
// CHECK-NOT: remat.concat
func.func @returned(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = remat.exp %x : tensor<4x64xf32>
  %1 = remat.neg %0 : tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

// A product reads half of a value as one operand and all of it as the other.
// CHECK-LABEL: func.func @both
// CHECK-SAME: (%[[X:[^:]*]]: tensor<64x2xf32>
// CHECK: %[[X0:.*]] = remat.slice %[[X]], [0, 0] [32, 2]
// CHECK-NEXT: remat.matmul %[[X0]], %[[X]] {transpose_rhs} : (tensor<32x2xf32>, tensor<64x2xf32>) -> tensor<32x64xf32>
// CHECK: %[[X1:.*]] = remat.slice %[[X]], [32, 0] [32, 2]
// CHECK-NEXT: remat.matmul %[[X1]], %[[X]] {transpose_rhs}
func.func @both(%x: tensor<64x2xf32>) -> tensor<64xf32> {
  %0 = remat.matmul %x, %x {transpose_rhs} : (tensor<64x2xf32>, tensor<64x2xf32>) -> tensor<64x64xf32>
  %1 = remat.exp %0 : tensor<64x64xf32>
  %2 = remat.reduce <sum> %1, [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

// CHECK-LABEL: func.func @odd
// CHECK-NOT: remat.concat
func.func @odd(%x: tensor<3x63xf32>) -> tensor<3xf32> {
  %0 = remat.exp %x : tensor<3x63xf32>
  %1 = remat.reduce <sum> %0, [1] : (tensor<3x63xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

// Along another dimension where the first has no halves, through a reshape and a
// transpose: the 8 columns of %0 are the rows of %2, cut in 2 * 4.
// CHECK-LABEL: func.func @around
// CHECK: remat.slice {{.*}}, [0, 0] [3, 32] : (tensor<3x64xf32>) -> tensor<3x32xf32>
// CHECK: remat.exp {{.*}} : tensor<3x32xf32>
// CHECK: remat.transpose {{.*}} : (tensor<3x32xf32>) -> tensor<32x3xf32>
// CHECK: remat.reshape {{.*}} : tensor<32x3xf32> to tensor<4x8x3xf32>
// CHECK: remat.reduce <max> {{.*}}, [1, 2] : (tensor<4x8x3xf32>) -> tensor<4xf32>
// CHECK: remat.concat {{.*}} -> tensor<8xf32>
func.func @around(%x: tensor<3x64xf32>) -> tensor<8xf32> {
  %0 = remat.exp %x : tensor<3x64xf32>
  %1 = remat.transpose %0, [1, 0] : (tensor<3x64xf32>) -> tensor<64x3xf32>
  %2 = remat.reshape %1 : tensor<64x3xf32> to tensor<8x8x3xf32>
  %3 = remat.reduce <max> %2, [1, 2] : (tensor<8x8x3xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
