// Three linear layers without bias, GELU between them.

func.func @main(
    %x: tensor<1024x1024xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %mlp.0.weight: tensor<1024x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "mlp.0.weight", remat.init = #remat.init<uniform, 0.03125>},
    %mlp.2.weight: tensor<1024x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "mlp.2.weight", remat.init = #remat.init<uniform, 0.03125>},
    %mlp.4.weight: tensor<1024x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "mlp.4.weight", remat.init = #remat.init<uniform, 0.03125>}
  ) -> (
    tensor<1024x1024xf32> {remat.role = #remat.role<output>, remat.name = "out"}
  ) {
  %0 = remat.matmul %x, %mlp.0.weight {transpose_rhs}
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("mlp/0/matmul")
  %1 = remat.gelu %0 : tensor<1024x1024xf32> loc("mlp/gelu")
  %2 = remat.matmul %1, %mlp.2.weight {transpose_rhs}
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("mlp/2/matmul")
  %3 = remat.gelu %2 : tensor<1024x1024xf32> loc("mlp/gelu")
  %4 = remat.matmul %3, %mlp.4.weight {transpose_rhs}
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc("mlp/4/matmul")
  return %4 : tensor<1024x1024xf32>
}
