// A small graph with most kinds of syntax, to be mutated.
#init = #remat.init<normal, 2.000000e-02>
func.func @main(%tokens: tensor<2x8xi64> {remat.role = #remat.role<input>, remat.name = "tokens", remat.data = #remat.data<tokens>, remat.bound = 32 : i64},
                %targets: tensor<2x8xi64> {remat.role = #remat.role<input>, remat.name = "targets", remat.data = #remat.data<targets>, remat.bound = 32 : i64},
                %table: tensor<32x16xf32> {remat.role = #remat.role<parameter>, remat.name = "table", remat.init = #init},
                %w: tensor<16x48xf32> {remat.role = #remat.role<parameter>, remat.name = "h.0.attn.weight", remat.init = #init},
                %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
                %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.embedding %tokens, %table : (tensor<2x8xi64>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %1 = remat.matmul %0, %w : (tensor<2x8x16xf32>, tensor<16x48xf32>) -> tensor<2x8x48xf32>
  %2 = remat.reshape %1 : tensor<2x8x48xf32> to tensor<2x8x3x2x8xf32>
  %3, %lse = remat.attention %2 random %seed, %step {causal, dropout_p = 1.000000e-01 : f64, id = 1 : i64} : (tensor<2x8x3x2x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x8x2x8xf32>, tensor<2x2x8xf32>)
  %4 = remat.reshape %3 : tensor<2x8x2x8xf32> to tensor<2x8x16xf32>
  %5 = remat.kernel(%a = %4 : tensor<2x8x16xf32>, %b = %0 : tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
    %half = remat.constant dense<5.000000e-01> : tensor<f32>
    %7 = remat.gelu %a {kind = #remat.gelu_kind<tanh>} : tensor<2x8x16xf32>
    %8 = remat.mul %7, %half : (tensor<2x8x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %9 = remat.add %8, %b : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    remat.yield %9 : tensor<2x8x16xf32>
  }
  %6 = remat.matmul %5, %table {transpose_rhs} : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
  %loss, %rows = remat.cross_entropy %6, %targets : (tensor<2x8x32xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<2x8xf32>)
  return %loss : tensor<f32> loc("graph.py":12:3)
}
