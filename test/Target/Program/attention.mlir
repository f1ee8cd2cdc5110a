// Attention's operands: packed or not, optional ones; its scale is always said.
// RUN: remat-opt --remat-assign-memory %s | remat-translate --remat-to-program | remat-translate --program-to-text | FileCheck %s
// CHECK: step 0: %{{[0-9]+}}, %{{[0-9]+}} = "attention" %0, _, %2, %3 {causal = [1], dropout_p = 0.25, id = [7], packed = [1], scale = 0.25}
// CHECK: step 1: %{{[0-9]+}}, %{{[0-9]+}} = "attention" %1, %1, %1, _, _, _ {dropout_p = 0, id = [0], scale = 2}
// CHECK: step 2: %{{[0-9]+}} = "attention_backward" %1, %0, %{{[0-9]+}}, %{{[0-9]+}}, _, %2, %3 {{.*}}packed = [1]
func.func @main(%x: tensor<2x4x3x1x16xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %y: tensor<2x4x1x16xf32> {remat.role = #remat.role<input>, remat.name = "y"},
                %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
                %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<2x4x1x16xf32> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<2x4x1x16xf32> {remat.role = #remat.role<output>, remat.name = "b"},
        tensor<2x4x3x1x16xf32> {remat.role = #remat.role<output>, remat.name = "c"}) {
  %0, %l0 = remat.attention %x random %seed, %step {causal, dropout_p = 0.25 : f64, id = 7 : i64}
      : (tensor<2x4x3x1x16xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x4x1x16xf32>, tensor<2x1x4xf32>)
  %1, %l1 = remat.attention %y, %y, %y {scale = 2.0 : f64}
      : (tensor<2x4x1x16xf32>, tensor<2x4x1x16xf32>, tensor<2x4x1x16xf32>) -> (tensor<2x4x1x16xf32>, tensor<2x1x4xf32>)
  %2 = remat.attention_backward %y qkv %x output %0, %l0 random %seed, %step {causal, dropout_p = 0.25 : f64, id = 7 : i64}
      : (tensor<2x4x1x16xf32>, tensor<2x4x3x1x16xf32>, tensor<2x4x1x16xf32>, tensor<2x1x4xf32>, tensor<i64>, tensor<i64>) -> tensor<2x4x3x1x16xf32>
  return %0, %1, %2 : tensor<2x4x1x16xf32>, tensor<2x4x1x16xf32>, tensor<2x4x3x1x16xf32>
}
