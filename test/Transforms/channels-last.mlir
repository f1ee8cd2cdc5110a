// RUN: remat-opt %s -remat-set-target=device=cuda -remat-channels-last | FileCheck %s
// RUN: remat-opt %s -remat-set-target=device=host -remat-channels-last | FileCheck %s --check-prefix=HOST
// RUN: remat-opt %s -remat-set-target="device=cuda attention=own" -remat-channels-last | FileCheck %s --check-prefix=HOST

// HOST-NOT: channels_last

// The example of the documentation.
// CHECK-LABEL: @example
// CHECK: %[[X:.*]] = remat.transpose %{{.*}}, [0, 2, 3, 1] : (tensor<8x16x14x14xbf16>) -> tensor<8x14x14x16xbf16>
// CHECK: %[[W:.*]] = remat.transpose %{{.*}}, [0, 2, 3, 1] : (tensor<32x16x3x3xbf16>) -> tensor<32x3x3x16xbf16>
// CHECK: %[[Y:.*]] = remat.convolution %[[X]], %[[W]] {{.*}} {channels_last} : {{.*}} -> tensor<8x14x14x32xbf16>
// CHECK: %[[R:.*]] = remat.relu %[[Y]] : tensor<8x14x14x32xbf16>
// CHECK: %[[M:.*]] = remat.reduce <mean> %[[R]], [1, 2] : (tensor<8x14x14x32xbf16>) -> tensor<8x32xbf16>
// CHECK: return %[[M]]
func.func @example(%x: tensor<8x16x14x14xbf16> {remat.role = #remat.role<input>, remat.name = "x"},
                   %w: tensor<32x16x3x3xbf16> {remat.role = #remat.role<input>, remat.name = "w"})
    -> (tensor<8x32xbf16> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.convolution %x, %w strides [1, 1] pad [1, 1] [1, 1] dilation [1, 1] : (tensor<8x16x14x14xbf16>, tensor<32x16x3x3xbf16>) -> tensor<8x32x14x14xbf16>
  %1 = remat.relu %0 : tensor<8x32x14x14xbf16>
  %2 = remat.reduce <mean> %1, [2, 3] : (tensor<8x32x14x14xbf16>) -> tensor<8x32xbf16>
  return %2 : tensor<8x32xbf16>
}

// Between convolutions: statistics, what is made of them, and pooling follow; a
// weight of one element a channel is a view; the gradient of a weight goes back.
// CHECK-LABEL: @between
// CHECK: %[[Y:.*]] = remat.convolution {{.*}} {channels_last} : {{.*}} -> tensor<8x14x14x32xbf16>
// CHECK: %[[M:.*]], %[[V:.*]] = remat.moments %[[Y]], [0, 1, 2] : (tensor<8x14x14x32xbf16>) -> (tensor<1x1x1x32xf32>, tensor<1x1x1x32xf32>)
// CHECK: %[[S:.*]] = remat.reshape %{{.*}} : tensor<1x32x1x1xf32> to tensor<1x1x1x32xf32>
// CHECK: %[[N:.*]] = remat.normalize %[[Y]], %[[M]], %[[V]], %[[S]], %[[S]] : {{.*}} -> tensor<8x14x14x32xbf16>
// CHECK: %[[P:.*]] = remat.max_pool %[[N]] window [3, 3] strides [2, 2] pad [1, 1] [1, 1] dilation [1, 1] {channels_last} : {{.*}} -> tensor<8x7x7x32xbf16>
// CHECK: %[[W:.*]] = remat.reshape %{{.*}} : tensor<32x32x1x1xbf16> to tensor<32x1x1x32xbf16>
// CHECK: %[[Z:.*]] = remat.convolution %[[P]], %[[W]] {{.*}} {channels_last}
// CHECK: %[[D:.*]] = remat.convolution_weight_grad %[[Z]], %[[P]] {{.*}} {channels_last} : {{.*}} -> tensor<32x1x1x32xbf16>
// CHECK: %[[B:.*]] = remat.broadcast %{{.*}} : tensor<8x1x1x32xbf16> to tensor<8x7x7x32xbf16>
// CHECK: %[[A:.*]] = remat.add %[[B]], %[[Z]] : {{.*}} -> tensor<8x7x7x32xbf16>
// CHECK: %[[C:.*]] = remat.concat %[[Z]], %[[A]] {dim = 3 : i64} : {{.*}} -> tensor<8x7x7x64xbf16>
// CHECK: %[[T:.*]] = remat.slice %[[C]], [0, 0, 0, 8] [8, 7, 7, 16]
// CHECK: %[[DW:.*]] = remat.reshape %[[D]] : tensor<32x1x1x32xbf16> to tensor<32x32x1x1xbf16>
// CHECK: %[[OUT:.*]] = remat.transpose %[[T]], [0, 3, 1, 2]
// CHECK: return %[[DW]], %[[OUT]]
func.func @between(%x: tensor<8x16x14x14xbf16> {remat.role = #remat.role<input>, remat.name = "x"},
                   %w: tensor<32x16x3x3xbf16> {remat.role = #remat.role<input>, remat.name = "w"},
                   %s: tensor<1x32x1x1xf32> {remat.role = #remat.role<input>, remat.name = "s"},
                   %u: tensor<32x32x1x1xbf16> {remat.role = #remat.role<input>, remat.name = "u"},
                   %p: tensor<8x32x1x1xbf16> {remat.role = #remat.role<input>, remat.name = "p"})
    -> (tensor<32x32x1x1xbf16> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<8x16x7x7xbf16> {remat.role = #remat.role<output>, remat.name = "b"}) {
  %0 = remat.convolution %x, %w strides [1, 1] pad [1, 1] [1, 1] dilation [1, 1] : (tensor<8x16x14x14xbf16>, tensor<32x16x3x3xbf16>) -> tensor<8x32x14x14xbf16>
  %mean, %variance = remat.moments %0, [0, 2, 3] : (tensor<8x32x14x14xbf16>) -> (tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>)
  %1 = remat.normalize %0, %mean, %variance, %s, %s : (tensor<8x32x14x14xbf16>, tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>) -> tensor<8x32x14x14xbf16>
  %2 = remat.max_pool %1 window [3, 3] strides [2, 2] pad [1, 1] [1, 1] dilation [1, 1] : (tensor<8x32x14x14xbf16>) -> tensor<8x32x7x7xbf16>
  %3 = remat.convolution %2, %u strides [1, 1] pad [0, 0] [0, 0] dilation [1, 1] : (tensor<8x32x7x7xbf16>, tensor<32x32x1x1xbf16>) -> tensor<8x32x7x7xbf16>
  %4 = remat.convolution_weight_grad %3, %2 strides [1, 1] pad [0, 0] [0, 0] dilation [1, 1] : (tensor<8x32x7x7xbf16>, tensor<8x32x7x7xbf16>) -> tensor<32x32x1x1xbf16>
  %5 = remat.broadcast %p : tensor<8x32x1x1xbf16> to tensor<8x32x7x7xbf16>
  %6 = remat.add %5, %3 : (tensor<8x32x7x7xbf16>, tensor<8x32x7x7xbf16>) -> tensor<8x32x7x7xbf16>
  %7 = remat.concat %3, %6 {dim = 1 : i64} : (tensor<8x32x7x7xbf16>, tensor<8x32x7x7xbf16>) -> tensor<8x64x7x7xbf16>
  %8 = remat.slice %7, [0, 8, 0, 0] [8, 16, 7, 7] : (tensor<8x64x7x7xbf16>) -> tensor<8x16x7x7xbf16>
  return %4, %8 : tensor<32x32x1x1xbf16>, tensor<8x16x7x7xbf16>
}

// What is drawn at random, f32, and padding that cuDNN does not get keep their
// order.
// CHECK-LABEL: @others
// CHECK-NOT: channels_last
// CHECK: return
func.func @others(%x: tensor<2x4x6x6xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                  %w: tensor<4x4x1x1xf32> {remat.role = #remat.role<input>, remat.name = "w"},
                  %h: tensor<2x4x6x6xbf16> {remat.role = #remat.role<input>, remat.name = "h"},
                  %v: tensor<4x4x3x3xbf16> {remat.role = #remat.role<input>, remat.name = "v"})
    -> (tensor<2x4x6x6xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<2x4x5x5xbf16> {remat.role = #remat.role<output>, remat.name = "z"}) {
  %0 = remat.convolution %x, %w strides [1, 1] pad [0, 0] [0, 0] dilation [1, 1] : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %1 = remat.convolution %h, %v strides [1, 1] pad [1, 1] [0, 0] dilation [1, 1] : (tensor<2x4x6x6xbf16>, tensor<4x4x3x3xbf16>) -> tensor<2x4x5x5xbf16>
  return %0, %1 : tensor<2x4x6x6xf32>, tensor<2x4x5x5xbf16>
}

// A scalar stands beside images in any order: it stays as it is.
// CHECK-LABEL: @scaled
// CHECK: %[[Y:.*]] = remat.convolution {{.*}} {channels_last}
// CHECK-NEXT: %[[S:.*]] = remat.mul %[[Y]], %arg2 : (tensor<8x14x14x32xbf16>, tensor<bf16>) -> tensor<8x14x14x32xbf16>
func.func @scaled(%x: tensor<8x16x14x14xbf16> {remat.role = #remat.role<input>, remat.name = "x"},
                  %w: tensor<32x16x3x3xbf16> {remat.role = #remat.role<input>, remat.name = "w"},
                  %s: tensor<bf16> {remat.role = #remat.role<input>, remat.name = "s"})
    -> (tensor<8x32xbf16> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.convolution %x, %w strides [1, 1] pad [1, 1] [1, 1] dilation [1, 1] : (tensor<8x16x14x14xbf16>, tensor<32x16x3x3xbf16>) -> tensor<8x32x14x14xbf16>
  %1 = remat.mul %0, %s : (tensor<8x32x14x14xbf16>, tensor<bf16>) -> tensor<8x32x14x14xbf16>
  %2 = remat.reduce <mean> %1, [2, 3] : (tensor<8x32x14x14xbf16>) -> tensor<8x32xbf16>
  return %2 : tensor<8x32xbf16>
}
