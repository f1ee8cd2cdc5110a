// Convolution and pooling.

// RUN: remat-opt %s | FileCheck %s
// RUN: remat-opt %s --mlir-print-op-generic | remat-opt | FileCheck %s

// CHECK-LABEL: @convolution
func.func @convolution(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x3xf32>, %line: tensor<1x3x7xbf16>,
                       %filter: tensor<5x3x2xbf16>, %each: tensor<4x1x1x1xf32>) {
  // (9 + 1 + 1 - 3) / 2 + 1 = 5 and (8 + 0 + 1 - 5) / 1 + 1 = 5 positions.
  // CHECK: remat.convolution %{{.*}}, %{{.*}} strides [2, 1] pad [1, 0] [1, 1] dilation [1, 2] {groups = 2 : i64} : (tensor<2x4x9x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x5x5xf32>
  %0 = remat.convolution %x, %w strides [2, 1] pad [1, 0] [1, 1] dilation [1, 2] {groups = 2 : i64} : (tensor<2x4x9x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x5x5xf32>
  // CHECK: remat.convolution_input_grad %{{.*}}, %{{.*}} strides [2, 1] pad [1, 0] [1, 1] dilation [1, 2] {groups = 2 : i64} : (tensor<2x6x5x5xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x9x8xf32>
  %1 = remat.convolution_input_grad %0, %w strides [2, 1] pad [1, 0] [1, 1] dilation [1, 2] {groups = 2 : i64} : (tensor<2x6x5x5xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x9x8xf32>
  // Ten rows would give 5 positions as well: the stride leaves one out.
  // CHECK: remat.convolution_input_grad {{.*}} -> tensor<2x4x10x8xf32>
  %2 = remat.convolution_input_grad %0, %w strides [2, 1] pad [1, 0] [1, 1] dilation [1, 2] {groups = 2 : i64} : (tensor<2x6x5x5xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x10x8xf32>
  // CHECK: remat.convolution_weight_grad {{.*}} : (tensor<2x6x5x5xf32>, tensor<2x4x9x8xf32>) -> tensor<6x2x3x3xf32>
  %3 = remat.convolution_weight_grad %0, %x strides [2, 1] pad [1, 0] [1, 1] dilation [1, 2] {groups = 2 : i64} : (tensor<2x6x5x5xf32>, tensor<2x4x9x8xf32>) -> tensor<6x2x3x3xf32>
  // CHECK: remat.convolution %{{.*}}, %{{.*}} strides [1] pad [0] [0] dilation [1] : (tensor<1x3x7xbf16>, tensor<5x3x2xbf16>) -> tensor<1x5x6xbf16>
  %4 = remat.convolution %line, %filter strides [1] pad [0] [0] dilation [1] : (tensor<1x3x7xbf16>, tensor<5x3x2xbf16>) -> tensor<1x5x6xbf16>
  // CHECK: remat.convolution {{.*}} {groups = 4 : i64} : (tensor<2x4x9x8xf32>, tensor<4x1x1x1xf32>) -> tensor<2x4x9x8xf32>
  %5 = remat.convolution %x, %each strides [1, 1] pad [0, 0] [0, 0] dilation [1, 1] {groups = 4 : i64} : (tensor<2x4x9x8xf32>, tensor<4x1x1x1xf32>) -> tensor<2x4x9x8xf32>
  return
}

// CHECK-LABEL: @channels_last
func.func @channels_last(%x: tensor<2x9x8x4xf32>, %w: tensor<6x3x3x2xf32>) {
  // CHECK: remat.convolution %{{.*}} {channels_last, groups = 2 : i64} : (tensor<2x9x8x4xf32>, tensor<6x3x3x2xf32>) -> tensor<2x5x5x6xf32>
  %0 = remat.convolution %x, %w strides [2, 1] pad [1, 0] [1, 1] dilation [1, 2] {groups = 2 : i64, channels_last} : (tensor<2x9x8x4xf32>, tensor<6x3x3x2xf32>) -> tensor<2x5x5x6xf32>
  // CHECK: remat.convolution_input_grad {{.*}} -> tensor<2x9x8x4xf32>
  %1 = remat.convolution_input_grad %0, %w strides [2, 1] pad [1, 0] [1, 1] dilation [1, 2] {groups = 2 : i64, channels_last} : (tensor<2x5x5x6xf32>, tensor<6x3x3x2xf32>) -> tensor<2x9x8x4xf32>
  // CHECK: remat.convolution_weight_grad {{.*}} -> tensor<6x3x3x2xf32>
  %2 = remat.convolution_weight_grad %0, %x strides [2, 1] pad [1, 0] [1, 1] dilation [1, 2] {groups = 2 : i64, channels_last} : (tensor<2x5x5x6xf32>, tensor<2x9x8x4xf32>) -> tensor<6x3x3x2xf32>
  // CHECK: remat.max_pool {{.*}} {channels_last} : (tensor<2x9x8x4xf32>) -> tensor<2x5x4x4xf32>
  %3 = remat.max_pool %x window [3, 2] strides [2, 2] pad [1, 0] [1, 0] dilation [1, 1] {channels_last} : (tensor<2x9x8x4xf32>) -> tensor<2x5x4x4xf32>
  // CHECK: remat.max_pool_backward {{.*}} {channels_last} : (tensor<2x5x4x4xf32>, tensor<2x9x8x4xf32>) -> tensor<2x9x8x4xf32>
  %4 = remat.max_pool_backward %3, %x window [3, 2] strides [2, 2] pad [1, 0] [1, 0] dilation [1, 1] {channels_last} : (tensor<2x5x4x4xf32>, tensor<2x9x8x4xf32>) -> tensor<2x9x8x4xf32>
  return
}

// CHECK-LABEL: @max_pool
func.func @max_pool(%x: tensor<2x4x9x8xf32>) {
  // CHECK: remat.max_pool %{{.*}} window [3, 2] strides [2, 2] pad [1, 0] [1, 0] dilation [1, 1] : (tensor<2x4x9x8xf32>) -> tensor<2x4x5x4xf32>
  %0 = remat.max_pool %x window [3, 2] strides [2, 2] pad [1, 0] [1, 0] dilation [1, 1] : (tensor<2x4x9x8xf32>) -> tensor<2x4x5x4xf32>
  // CHECK: remat.max_pool_backward %{{.*}}, %{{.*}} window [3, 2] strides [2, 2] pad [1, 0] [1, 0] dilation [1, 1] : (tensor<2x4x5x4xf32>, tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %1 = remat.max_pool_backward %0, %x window [3, 2] strides [2, 2] pad [1, 0] [1, 0] dilation [1, 1] : (tensor<2x4x5x4xf32>, tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  // Three dimensions, one before them.
  // CHECK: remat.max_pool {{.*}} : (tensor<2x4x9x8xf32>) -> tensor<2x2x4x4xf32>
  %2 = remat.max_pool %x window [2, 2, 2] strides [2, 2, 2] pad [0, 0, 0] [0, 0, 0] dilation [1, 1, 1] : (tensor<2x4x9x8xf32>) -> tensor<2x2x4x4xf32>
  return
}
