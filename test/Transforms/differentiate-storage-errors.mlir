// What is stored in eight bits has no gradient; an input in them needs none.
// RUN: split-file %s %t
// RUN: not remat-opt %t/through.mlir --remat-differentiate 2>&1 | FileCheck %s
// RUN: remat-opt %t/input.mlir --remat-differentiate | FileCheck %s --check-prefix=INPUT
// RUN: remat-run %t/input.mlir --steps 2 --quiet

// CHECK: through.mlir:3:8: error: 'remat.cast' op cannot be differentiated: no gradient passes through 'f8E4M3FN'
// CHECK: note: cast to bf16 or f16 instead
// INPUT: remat.cast %{{.*}} : tensor<4xf8E4M3FN> to tensor<4xf32>

//--- through.mlir
func.func @main(%w: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "w"}) -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.cast %w : tensor<4xf32> to tensor<4xf8E4M3FN>
  %1 = remat.cast %0 : tensor<4xf8E4M3FN> to tensor<4xf32>
  %2 = remat.reduce <sum> %1, [0] : (tensor<4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

//--- input.mlir
func.func @main(%w: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
                %x: tensor<4xf8E4M3FN> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.cast %x : tensor<4xf8E4M3FN> to tensor<4xf32>
  %1 = remat.mul %w, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = remat.reduce <sum> %1, [0] : (tensor<4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
