// The result of a product never lies over its addend, not where that is dead: x,
// the addend and the result have 64 * 64 * 4 = 16384 bytes each.
// RUN: remat-opt %s -remat-fit-budget=budget=smallest | FileCheck %s
// RUN: remat-opt %s --remat-set-target=device=cuda -remat-fit-budget=budget=smallest | FileCheck %s
// CHECK: remat.arena_bytes = 49152
func.func @main(%x: tensor<64x64xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<64x64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.softmax %x : tensor<64x64xf32>
  %1 = remat.matmul %x, %x add %0 : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
