// RUN: remat-opt %s -split-input-file -remat-cancel-transposes | FileCheck %s

// The example of the pass: one tensor of angles for all heads.
// CHECK-LABEL: func.func @main
// CHECK: %[[WIDE:.*]] = remat.reshape %arg1 : tensor<8x16xf32> to tensor<1x1x8x16xf32>
// CHECK: %[[COS:.*]] = remat.reshape %[[WIDE]] : tensor<1x1x8x16xf32> to tensor<1x8x1x16xf32>
// CHECK: %[[Q:.*]] = remat.mul %arg0, %[[COS]] : (tensor<2x8x4x16xf32>, tensor<1x8x1x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NEXT: return %[[Q]]
func.func @main(%q: tensor<2x8x4x16xf32>, %cos: tensor<8x16xf32>) -> tensor<2x8x4x16xf32> {
  %0 = remat.transpose %q, [0, 2, 1, 3] : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %1 = remat.mul %0, %cos : (tensor<2x4x8x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8x16xf32>
  %2 = remat.transpose %1, [0, 2, 1, 3] : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
  return %2 : tensor<2x8x4x16xf32>
}
