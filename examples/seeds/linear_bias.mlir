// Linear(1, 1) with bias on 1024 rows.

func.func @main(
    %x: tensor<1024x1xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %linear.weight: tensor<1x1xf32>
      {remat.role = #remat.role<parameter>, remat.name = "linear.weight", remat.init = #remat.init<uniform, 1.0>},
    %linear.bias: tensor<1xf32>
      {remat.role = #remat.role<parameter>, remat.name = "linear.bias", remat.init = #remat.init<uniform, 1.0>}
  ) -> (
    tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}
  ) {
  %0 = remat.matmul %x, %linear.weight bias %linear.bias {transpose_rhs}
      : (tensor<1024x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1024x1xf32> loc("linear/matmul")
  %1 = remat.reduce <mean> %0, [0, 1] : (tensor<1024x1xf32>) -> tensor<f32> loc("loss/reduce")
  return %1 : tensor<f32>
}
