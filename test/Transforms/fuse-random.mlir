// Random operations join groups of their shape; element numbers are those of
// the shape, so nothing changes.
// RUN: remat-opt --remat-fuse %s | FileCheck %s
// CHECK: remat.kernel({{.*}}tensor<4x8xf32>, {{.*}}tensor<i64>, {{.*}}tensor<i64>, {{.*}}tensor<8xf32>)
// CHECK-NEXT: remat.dropout
// CHECK-NEXT: remat.random
// CHECK-NEXT: remat.mul
// CHECK-NEXT: remat.add
// CHECK-NEXT: remat.yield
func.func @main(%x: tensor<4x8xf32>, %row: tensor<8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<4x8xf32> {
  %0 = remat.dropout %x, %seed, %step {p = 0.1 : f64, id = 1 : i64} : tensor<4x8xf32>
  %1 = remat.random <normal> %seed, %step {id = 2 : i64} : tensor<4x8xf32>
  %2 = remat.mul %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = remat.add %2, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
