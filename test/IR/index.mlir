// Elements by index, order and running sums.

// RUN: remat-opt %s | FileCheck %s
// RUN: remat-opt %s --mlir-print-op-generic | remat-opt | FileCheck %s

// CHECK-LABEL: @index
func.func @index(%x: tensor<3x7xf32>, %i: tensor<3x2xi64>, %b: tensor<3x7xi1>, %n: tensor<3x7xi32>) {
  // CHECK: remat.gather %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<3x7xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  %0 = remat.gather %x, %i {dim = 1 : i64} : (tensor<3x7xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  // CHECK: remat.gather {{.*}} -> tensor<3x2xi1>
  %1 = remat.gather %b, %i {dim = 1 : i64} : (tensor<3x7xi1>, tensor<3x2xi64>) -> tensor<3x2xi1>
  // CHECK: remat.scatter_add %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x9xf32>
  %2 = remat.scatter_add %i, %0 {dim = 1 : i64} : (tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x9xf32>
  // CHECK: remat.top_k %{{.*}} {dim = 0 : i64, k = 2 : i64} : (tensor<3x7xf32>) -> (tensor<2x7xf32>, tensor<2x7xi64>)
  %3, %p = remat.top_k %x {k = 2 : i64, dim = 0 : i64} : (tensor<3x7xf32>) -> (tensor<2x7xf32>, tensor<2x7xi64>)
  // CHECK: remat.top_k %{{.*}} {dim = 1 : i64, k = 7 : i64, smallest} : (tensor<3x7xi32>) -> (tensor<3x7xi32>, tensor<3x7xi64>)
  %4, %q = remat.top_k %n {k = 7 : i64, dim = 1 : i64, smallest} : (tensor<3x7xi32>) -> (tensor<3x7xi32>, tensor<3x7xi64>)
  // CHECK: remat.cumsum %{{.*}} {dim = 1 : i64} : tensor<3x7xf32>
  %5 = remat.cumsum %x {dim = 1 : i64} : tensor<3x7xf32>
  // CHECK: remat.cumsum %{{.*}} {dim = 0 : i64, reverse} : tensor<3x7xi32>
  %6 = remat.cumsum %n {dim = 0 : i64, reverse} : tensor<3x7xi32>
  return
}
