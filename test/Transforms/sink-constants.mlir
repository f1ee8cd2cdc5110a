// RUN: remat-opt %s -remat-sink-constants | FileCheck %s

// A constant that is no splat is there from the start, wherever it stands; one
// that is read twice goes to the first reader.
// CHECK: remat.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NEXT: %[[EXP:.*]] = remat.exp
// CHECK-NEXT: %[[ONE:.*]] = remat.constant dense<1.000000e+00>
// CHECK-NEXT: %[[SUB:.*]] = remat.sub %[[ONE]], %[[EXP]]
// CHECK-NEXT: remat.add %[[SUB]], %[[ONE]]
func.func @main(%x: tensor<2xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<2xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %one = remat.constant dense<1.0> : tensor<2xf32>
  %c = remat.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = remat.exp %x : tensor<2xf32>
  %1 = remat.sub %one, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = remat.add %1, %one : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = remat.add %2, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}
