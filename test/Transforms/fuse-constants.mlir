// A group makes splat constants itself, also a group of one operation. Other
// constants are read, and a splat that a structured operation reads stays.
// RUN: remat-opt --remat-fuse %s | FileCheck %s
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[TABLE:.*]] = remat.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NEXT: %[[ONE:.*]] = remat.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: remat.kernel(%{{.*}} = %{{.*}} : tensor<2xf32>, %{{.*}} = %[[TABLE]] : tensor<2xf32>)
// CHECK-NEXT:   remat.constant dense<1.000000e+00>
// CHECK-NEXT:   remat.add
// CHECK-NEXT:   remat.mul
// CHECK-NEXT:   remat.yield
// CHECK: remat.global_norm {{.*}}%[[ONE]]
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {
  %table = remat.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %one = remat.constant dense<1.0> : tensor<f32>
  %0 = remat.add %x, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = remat.mul %0, %table : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = remat.global_norm %1, %one : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %1, %2 : tensor<2xf32>, tensor<f32>
}
