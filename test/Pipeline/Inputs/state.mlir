func.func @main(
    %x: tensor<4x1xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %w: tensor<1x1xf32> {remat.role = #remat.role<parameter>, remat.name = "w",
                         remat.init = #remat.init<normal, 1.0>},
    %count: tensor<4x1xf32> {remat.role = #remat.role<state>, remat.name = "count",
                             remat.donated = 1 : i64})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<4x1xf32> {remat.role = #remat.role<state>, remat.name = "count"}) {
  %0 = remat.matmul %x, %w : (tensor<4x1xf32>, tensor<1x1xf32>) -> tensor<4x1xf32>
  %loss = remat.mse %0, %x : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<f32>
  %1 = remat.add %count, %x : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  return %loss, %1 : tensor<f32>, tensor<4x1xf32>
}
