// A bias of 128 numbers is added to 64 rows, which a layer norm reads: the
// gradient of the bias is the sum over rows of what the norm's gradient writes,
// 64 x 128 numbers that a kernel of its own would read again.
// RUN: remat-opt %s --remat-set-target=device=cuda --remat-join-sums | FileCheck %s
// RUN: remat-opt %s --remat-join-sums | FileCheck %s --check-prefix=HOST
// HOST-COUNT-12: remat.reduce

// CHECK-LABEL: func.func @main
// CHECK: %[[DX:.*]], %{{.*}}, %{{.*}}, %[[SUM:.*]] = remat.layer_norm_backward %arg0, %arg1, %arg2, %arg3, %arg4 {with_sum}
// CHECK-SAME: -> (tensor<64x128xbf16>, tensor<128xf32>, tensor<128xf32>, tensor<128xbf16>)
// CHECK-NEXT: return %[[DX]], %[[SUM]]
func.func @main(%g: tensor<64x128xbf16>, %x: tensor<64x128xbf16>, %s: tensor<128xf32>, %m: tensor<64xf32>, %r: tensor<64xf32>) -> (tensor<64x128xbf16>, tensor<128xbf16>) {
  %dx, %ds, %db = remat.layer_norm_backward %g, %x, %s, %m, %r : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64x128xbf16>, tensor<128xf32>, tensor<128xf32>)
  %0 = remat.reduce <sum> %dx, [0] : (tensor<64x128xbf16>) -> tensor<128xbf16>
  return %dx, %0 : tensor<64x128xbf16>, tensor<128xbf16>
}

// The gradient adds that of the residual, whether remat-fuse ran or not; and
// the rows are read through a view of 8 times 8 of them.
// CHECK-LABEL: func.func @residual
// CHECK: %[[DX:.*]], %{{.*}}, %{{.*}}, %[[SUM:.*]] = remat.layer_norm_backward %arg0, %arg1, %arg2, %arg3, %arg4 add %arg5 {with_sum}
// CHECK-NOT: remat.add
// CHECK-NOT: remat.reduce
// CHECK: return %[[DX]], %[[SUM]]
func.func @residual(%g: tensor<64x128xbf16>, %x: tensor<64x128xbf16>, %s: tensor<128xf32>, %m: tensor<64xf32>, %r: tensor<64xf32>, %res: tensor<64x128xbf16>) -> (tensor<64x128xbf16>, tensor<128xbf16>) {
  %dx, %ds, %db = remat.layer_norm_backward %g, %x, %s, %m, %r : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64x128xbf16>, tensor<128xf32>, tensor<128xf32>)
  %0 = remat.add %res, %dx : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %1 = remat.reshape %0 : tensor<64x128xbf16> to tensor<8x8x128xbf16>
  %2 = remat.reduce <sum> %1, [0, 1] : (tensor<8x8x128xbf16>) -> tensor<128xbf16>
  return %0, %2 : tensor<64x128xbf16>, tensor<128xbf16>
}

// Both parts of the sum are gradients of norms. The first one is read by
// others, too, so that the second one adds it.
// CHECK-LABEL: func.func @both
// CHECK: %[[A:[a-zA-Z0-9_]+]], %{{.*}}, %{{.*}} = remat.layer_norm_backward %arg0, %arg1, %arg2, %arg3, %arg4 :
// CHECK: %[[B:[a-zA-Z0-9_]+]], %{{.*}}, %{{.*}}, %[[SUM:.*]] = remat.layer_norm_backward %arg1, %arg0, %arg2, %arg3, %arg4 add %[[A]] {with_sum}
// CHECK-NEXT: return %[[A]], %[[B]], %[[SUM]]
func.func @both(%g: tensor<64x128xbf16>, %x: tensor<64x128xbf16>, %s: tensor<128xf32>, %m: tensor<64xf32>, %r: tensor<64xf32>) -> (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128xbf16>) {
  %dx, %ds, %db = remat.layer_norm_backward %g, %x, %s, %m, %r : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64x128xbf16>, tensor<128xf32>, tensor<128xf32>)
  %dy, %dt, %dc = remat.layer_norm_backward %x, %g, %s, %m, %r : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64x128xbf16>, tensor<128xf32>, tensor<128xf32>)
  %0 = remat.add %dx, %dy : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %1 = remat.reduce <sum> %0, [0] : (tensor<64x128xbf16>) -> tensor<128xbf16>
  return %dx, %0, %1 : tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128xbf16>
}

// The sum stays where a user keeps it (%0), where it is of other columns (%1),
// over one of two dimensions of rows (%2), a mean (%3), of a gradient of scale
// (%4), where a view has other rows (%6), and where its result has three
// dimensions (%7).
// CHECK-LABEL: func.func @others
// CHECK-NOT: with_sum
// CHECK-COUNT-7: remat.reduce
// CHECK: return
func.func @others(%g: tensor<8x8x8xf32>, %x: tensor<8x8x8xf32>, %s: tensor<8xf32>, %m: tensor<8x8xf32>, %f: tensor<8x8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<f32>, tensor<4xf32>, tensor<1x1x8xf32>) {
  %dx, %ds, %db = remat.layer_norm_backward %g, %x, %s, %m, %f : (tensor<8x8x8xf32>, tensor<8x8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8x8xf32>, tensor<8xf32>, tensor<8xf32>)
  %0 = remat.reduce <sum> %dx, [0, 1] {remat.keep = #remat.keep<must>} : (tensor<8x8x8xf32>) -> tensor<8xf32>
  %1 = remat.reduce <sum> %dx, [1, 2] : (tensor<8x8x8xf32>) -> tensor<8xf32>
  %2 = remat.reduce <sum> %dx, [0] : (tensor<8x8x8xf32>) -> tensor<8x8xf32>
  %3 = remat.reduce <mean> %dx, [0, 1] : (tensor<8x8x8xf32>) -> tensor<8xf32>
  %4 = remat.reduce <sum> %ds, [0] : (tensor<8xf32>) -> tensor<f32>
  %5 = remat.reshape %dx : tensor<8x8x8xf32> to tensor<128x4xf32>
  %6 = remat.reduce <sum> %5, [0] : (tensor<128x4xf32>) -> tensor<4xf32>
  %7 = remat.reduce <sum> %dx, [0, 1] {keep_dims} : (tensor<8x8x8xf32>) -> tensor<1x1x8xf32>
  return %0, %1, %2, %3, %4, %6, %7 : tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<f32>, tensor<4xf32>, tensor<1x1x8xf32>
}

// A second sum of the same rows, which remat's simplification would have made
// the first, stays.
// CHECK-LABEL: func.func @second
// CHECK: {with_sum}
// CHECK-NEXT: remat.reduce
func.func @second(%g: tensor<8x8xf32>, %s: tensor<8xf32>, %m: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %dx, %ds, %db = remat.layer_norm_backward %g, %g, %s, %m, %m : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>)
  %0 = remat.reduce <sum> %dx, [0] : (tensor<8x8xf32>) -> tensor<8xf32>
  %1 = remat.reduce <sum> %dx, [0] : (tensor<8x8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
