// Training with dropout, and evaluation without it on a larger batch. Functions
// of one file share parameters and states by name.
func.func @main(
    %x: tensor<256x16xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %y: tensor<256x4xf32> {remat.role = #remat.role<input>, remat.name = "y"},
    %w1: tensor<16x64xf32> {remat.role = #remat.role<parameter>, remat.name = "w1",
                            remat.init = #remat.init<normal, 2.0e-01>},
    %w2: tensor<64x64xf32> {remat.role = #remat.role<parameter>, remat.name = "w2",
                            remat.init = #remat.init<normal, 1.0e-01>},
    %w3: tensor<64x4xf32> {remat.role = #remat.role<parameter>, remat.name = "w3",
                           remat.init = #remat.init<normal, 1.0e-01>},
    %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
    %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %w1 : (tensor<256x16xf32>, tensor<16x64xf32>) -> tensor<256x64xf32>
  %1 = remat.gelu %0 : tensor<256x64xf32>
  %2 = remat.dropout %1, %seed, %step {p = 0.1 : f64, id = 1 : i64} : tensor<256x64xf32>
  %3 = remat.matmul %2, %w2 : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %4 = remat.gelu %3 : tensor<256x64xf32>
  %5 = remat.matmul %4, %w3 : (tensor<256x64xf32>, tensor<64x4xf32>) -> tensor<256x4xf32>
  %loss = remat.mse %5, %y : (tensor<256x4xf32>, tensor<256x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

func.func @evaluate(
    %x: tensor<512x16xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %y: tensor<512x4xf32> {remat.role = #remat.role<input>, remat.name = "y"},
    %w1: tensor<16x64xf32> {remat.role = #remat.role<parameter>, remat.name = "w1"},
    %w2: tensor<64x64xf32> {remat.role = #remat.role<parameter>, remat.name = "w2"},
    %w3: tensor<64x4xf32> {remat.role = #remat.role<parameter>, remat.name = "w3"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %w1 : (tensor<512x16xf32>, tensor<16x64xf32>) -> tensor<512x64xf32>
  %1 = remat.gelu %0 : tensor<512x64xf32>
  %2 = remat.matmul %1, %w2 : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %3 = remat.gelu %2 : tensor<512x64xf32>
  %4 = remat.matmul %3, %w3 : (tensor<512x64xf32>, tensor<64x4xf32>) -> tensor<512x4xf32>
  %loss = remat.mse %4, %y : (tensor<512x4xf32>, tensor<512x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
