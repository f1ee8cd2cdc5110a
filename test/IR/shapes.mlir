// Operations on shapes, and reductions.

// RUN: remat-opt %s | FileCheck %s
// RUN: remat-opt %s --mlir-print-op-generic | remat-opt | FileCheck %s

// CHECK-LABEL: @shapes
func.func @shapes(%x: tensor<2x3x4xf32>, %y: tensor<2x1x4xf32>) {
  // CHECK: remat.reshape %{{.*}} : tensor<2x3x4xf32> to tensor<6x4xf32>
  %0 = remat.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  // CHECK: remat.transpose %{{.*}}, [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = remat.transpose %x, [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  // CHECK: remat.slice %{{.*}}, [0, 1, 2] [2, 2, 2] : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>
  %2 = remat.slice %x, [0, 1, 2] [2, 2, 2] : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>
  // CHECK: remat.pad %{{.*}}, [0, 1, 0] [0, 0, 4] : (tensor<2x3x4xf32>) -> tensor<2x4x8xf32>
  %3 = remat.pad %x, [0, 1, 0] [0, 0, 4] : (tensor<2x3x4xf32>) -> tensor<2x4x8xf32>
  // CHECK: remat.concat %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
  %4 = remat.concat %x, %y {dim = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
  // CHECK: remat.roll %{{.*}} {dim = 2 : i64, shift = 3 : i64} : tensor<2x3x4xf32>
  %6 = remat.roll %x {dim = 2 : i64, shift = 3 : i64} : tensor<2x3x4xf32>
  // CHECK: remat.broadcast %{{.*}} : tensor<2x1x4xf32> to tensor<5x2x3x4xf32>
  %5 = remat.broadcast %y : tensor<2x1x4xf32> to tensor<5x2x3x4xf32>
  return
}

// CHECK-LABEL: @scalars
func.func @scalars(%x: tensor<f32>) {
  // CHECK: remat.transpose %{{.*}}, [] : (tensor<f32>) -> tensor<f32>
  %0 = remat.transpose %x, [] : (tensor<f32>) -> tensor<f32>
  // CHECK: remat.reshape %{{.*}} : tensor<f32> to tensor<1x1xf32>
  %1 = remat.reshape %x : tensor<f32> to tensor<1x1xf32>
  // CHECK: remat.slice %{{.*}}, [] [] : (tensor<f32>) -> tensor<f32>
  %2 = remat.slice %x, [] [] : (tensor<f32>) -> tensor<f32>
  return
}

// CHECK-LABEL: @reduce
func.func @reduce(%x: tensor<2x3x4xf32>, %i: tensor<8xi32>) {
  // CHECK: remat.reduce <sum> %{{.*}}, [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %0 = remat.reduce <sum> %x, [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  // CHECK: remat.reduce <mean> %{{.*}}, [2] {keep_dims} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %1 = remat.reduce <mean> %x, [2] {keep_dims} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  // CHECK: remat.reduce <max> %{{.*}}, [0] : (tensor<8xi32>) -> tensor<i32>
  %2 = remat.reduce <max> %i, [0] : (tensor<8xi32>) -> tensor<i32>
  return
}
