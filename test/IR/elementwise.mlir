// Elementwise operations: what is printed is what was read, also when it goes
// through the generic form.

// RUN: remat-opt %s | FileCheck %s
// RUN: remat-opt %s --mlir-print-op-generic | remat-opt | FileCheck %s

// CHECK-LABEL: @unary
func.func @unary(%x: tensor<2x3xf32>, %h: tensor<2x3xbf16>) {
  // CHECK: remat.neg %{{.*}} : tensor<2x3xf32>
  %0 = remat.neg %x : tensor<2x3xf32>
  // CHECK: remat.abs %{{.*}} : tensor<2x3xf32>
  %1 = remat.abs %x : tensor<2x3xf32>
  // CHECK: remat.exp %{{.*}} : tensor<2x3xbf16>
  %2 = remat.exp %h : tensor<2x3xbf16>
  // CHECK: remat.log %{{.*}} : tensor<2x3xf32>
  %3 = remat.log %x : tensor<2x3xf32>
  // CHECK: remat.sqrt %{{.*}} : tensor<2x3xf32>
  %4 = remat.sqrt %x : tensor<2x3xf32>
  // CHECK: remat.rsqrt %{{.*}} : tensor<2x3xf32>
  %5 = remat.rsqrt %x : tensor<2x3xf32>
  // CHECK: remat.reciprocal %{{.*}} : tensor<2x3xf32>
  %6 = remat.reciprocal %x : tensor<2x3xf32>
  // CHECK: remat.sin %{{.*}} : tensor<2x3xf32>
  %7 = remat.sin %x : tensor<2x3xf32>
  // CHECK: remat.cos %{{.*}} : tensor<2x3xf32>
  %8 = remat.cos %x : tensor<2x3xf32>
  // CHECK: remat.tanh %{{.*}} : tensor<2x3xf32>
  %9 = remat.tanh %x : tensor<2x3xf32>
  // CHECK: remat.log1p %{{.*}} : tensor<2x3xf32>
  %log1p = remat.log1p %x : tensor<2x3xf32>
  // CHECK: remat.expm1 %{{.*}} : tensor<2x3xf32>
  %expm1 = remat.expm1 %x : tensor<2x3xf32>
  // CHECK: remat.tan %{{.*}} : tensor<2x3xf32>
  %tan = remat.tan %x : tensor<2x3xf32>
  // CHECK: remat.atan %{{.*}} : tensor<2x3xf32>
  %atan = remat.atan %x : tensor<2x3xf32>
  // CHECK: remat.floor %{{.*}} : tensor<2x3xf32>
  %floor = remat.floor %x : tensor<2x3xf32>
  // CHECK: remat.ceil %{{.*}} : tensor<2x3xf32>
  %ceil = remat.ceil %x : tensor<2x3xf32>
  // CHECK: remat.round %{{.*}} : tensor<2x3xf32>
  %round = remat.round %x : tensor<2x3xf32>
  // CHECK: remat.sign %{{.*}} : tensor<2x3xf32>
  %sign = remat.sign %x : tensor<2x3xf32>
  // CHECK: remat.atan2 %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %atan2 = remat.atan2 %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: remat.bitcast %{{.*}} : tensor<2x3xf32> to tensor<2x3xi32>
  %bits = remat.bitcast %x : tensor<2x3xf32> to tensor<2x3xi32>
  // CHECK: remat.shift_right %{{.*}}, %{{.*}} : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  %shifted = remat.shift_right %bits, %bits : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: remat.remainder %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %remainder = remat.remainder %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: remat.erf %{{.*}} : tensor<2x3xf32>
  %10 = remat.erf %x : tensor<2x3xf32>
  // CHECK: remat.sigmoid %{{.*}} : tensor<2x3xf32>
  %11 = remat.sigmoid %x : tensor<2x3xf32>
  // CHECK: remat.silu %{{.*}} : tensor<2x3xf32>
  %12 = remat.silu %x : tensor<2x3xf32>
  // CHECK: remat.hardswish %{{.*}} : tensor<2x3xf32>
  %hs = remat.hardswish %x : tensor<2x3xf32>
  // CHECK: remat.relu %{{.*}} : tensor<2x3xf32>
  %13 = remat.relu %x : tensor<2x3xf32>
  // CHECK: remat.leaky_relu %{{.*}} {negative_slope = 2.500000e-01 : f64} : tensor<2x3xf32>
  %lr = remat.leaky_relu %x {negative_slope = 0.25} : tensor<2x3xf32>
  // CHECK: remat.gelu %{{[a-z0-9]+}} : tensor<2x3xf32>
  %14 = remat.gelu %x : tensor<2x3xf32>
  // CHECK: remat.gelu %{{.*}} {kind = #remat.gelu_kind<tanh>} : tensor<2x3xf32>
  %15 = remat.gelu %x {kind = #remat.gelu_kind<tanh>} : tensor<2x3xf32>
  // CHECK: remat.gelu_backward %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %16 = remat.gelu_backward %x, %0 : tensor<2x3xf32>
  // CHECK: remat.relu_backward %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %17 = remat.relu_backward %x, %0 : tensor<2x3xf32>
  return
}

// Shapes broadcast from the right.
// CHECK-LABEL: @binary
func.func @binary(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %z: tensor<2x1xf32>, %i: tensor<4xi64>, %j: tensor<i64>) {
  // CHECK: remat.add %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %0 = remat.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: remat.sub %{{.*}}, %{{.*}} : (tensor<3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %1 = remat.sub %y, %z : (tensor<3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  // CHECK: remat.mul %{{.*}}, %{{.*}} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %2 = remat.mul %i, %j : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  // CHECK: remat.div %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %3 = remat.div %x, %z : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  // CHECK: remat.max %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %4 = remat.max %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: remat.min %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %5 = remat.min %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: remat.pow %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %6 = remat.pow %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @compare
func.func @compare(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %c: tensor<2x1xi1>) {
  // CHECK: remat.compare <lt> %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %0 = remat.compare <lt> %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: remat.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x1xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = remat.select %c, %x, %y : (tensor<2x1xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // The condition alone can be what gives the shape.
  // CHECK: remat.select %{{.*}} : (tensor<2x3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = remat.select %0, %y, %y : (tensor<2x3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: remat.cast %{{.*}} : tensor<2x3xf32> to tensor<2x3xbf16>
  %3 = remat.cast %x : tensor<2x3xf32> to tensor<2x3xbf16>
  // CHECK: remat.cast %{{.*}} : tensor<2x3xi1> to tensor<2x3xi32>
  %4 = remat.cast %0 : tensor<2x3xi1> to tensor<2x3xi32>
  return
}

// CHECK-LABEL: @constants
func.func @constants() {
  // CHECK: remat.constant dense<1.500000e+00> : tensor<4xf32>
  %0 = remat.constant dense<1.5> : tensor<4xf32>
  // CHECK: remat.constant dense<[1, 2]> : tensor<2xi64>
  %1 = remat.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK: remat.constant dense<true> : tensor<i1>
  %2 = remat.constant dense<true> : tensor<i1>
  return
}

// CHECK-LABEL: @random
func.func @random(%x: tensor<8xf16>, %seed: tensor<i64>, %step: tensor<i64>) {
  // CHECK: remat.random <uniform> %{{.*}}, %{{.*}} {id = 3 : i64} : tensor<8xf32>
  %0 = remat.random <uniform> %seed, %step {id = 3 : i64} : tensor<8xf32>
  // CHECK: remat.random <normal> %{{.*}}, %{{.*}} {id = 4 : i64} : tensor<2x2xbf16>
  %1 = remat.random <normal> %seed, %step {id = 4 : i64} : tensor<2x2xbf16>
  // CHECK: remat.dropout %{{.*}}, %{{.*}}, %{{.*}} {id = 5 : i64, p = 1.000000e-01 : f64} : tensor<8xf16>
  %2 = remat.dropout %x, %seed, %step {p = 0.1 : f64, id = 5 : i64} : tensor<8xf16>
  return
}
