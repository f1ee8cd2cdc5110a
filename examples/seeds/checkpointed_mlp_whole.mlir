// linear1, and linear2 of two layers, not checkpointed.

func.func @main(
    %x: tensor<1024x1024xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %linear1.weight: tensor<1024x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "linear1.weight", remat.init = #remat.init<uniform, 0.03125>},
    %linear2.0.weight: tensor<1024x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "linear2.0.weight", remat.init = #remat.init<uniform, 0.03125>},
    %linear2.1.weight: tensor<1x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "linear2.1.weight", remat.init = #remat.init<uniform, 0.03125>}
  ) -> (
    tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}
  ) {
  %0 = remat.matmul %x, %linear1.weight {transpose_rhs}
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("linear1/matmul")
  %1 = remat.matmul %0, %linear2.0.weight {transpose_rhs}
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("linear2/0/matmul")
  %2 = remat.matmul %1, %linear2.1.weight {transpose_rhs}
      : (tensor<1024x1024xf32>, tensor<1x1024xf32>) -> tensor<1024x1xf32> loc("linear2/1/matmul")
  %3 = remat.reduce <sum> %2, [0, 1] : (tensor<1024x1xf32>) -> tensor<f32> loc("loss/reduce")
  return %3 : tensor<f32>
}
