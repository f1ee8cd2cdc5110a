// A group's body: its values are numbered from its operands on.
// RUN: remat-opt --remat-fuse=mode=after-plan --remat-assign-memory %s | remat-translate --remat-to-program | remat-translate --program-to-text | FileCheck %s
// CHECK: step 0: %3, %4 = "kernel" %0, %1, %2 flops 128
// CHECK-NEXT: body
// CHECK-NEXT: %3 = "constant" {value = 0.5} : f32[]
// CHECK-NEXT: %4 = "mul" %0, %3 : f32[4x8]
// CHECK-NEXT: %5 = "compare" %4, %0 {predicate = "le"} : i1[4x8]
// CHECK-NEXT: %6 = "random" %1, %2 {distribution = "uniform", id = [5]} : f32[4x8]
// CHECK-NEXT: %7 = "select" %5, %4, %6 : f32[4x8]
// CHECK-NEXT: yields %4, %7
func.func @main(%x: tensor<4x8xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
                %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<4x8xf32> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<4x8xf32> {remat.role = #remat.role<output>, remat.name = "b"}) {
  %c = remat.constant dense<0.5> : tensor<f32>
  %0 = remat.mul %x, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = remat.compare <le> %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %2 = remat.random <uniform> %seed, %step {id = 5 : i64} : tensor<4x8xf32>
  %3 = remat.select %1, %0, %2 : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}
