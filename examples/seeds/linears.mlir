// Linear layers of 1, 128 and 129 features.

func.func @main(
    %x0: tensor<1x1xf32> {remat.role = #remat.role<input>, remat.name = "x0"},
    %linear0.weight: tensor<1x1xf32>
      {remat.role = #remat.role<parameter>, remat.name = "linear0.weight", remat.init = #remat.init<uniform, 1.0>},
    %x1: tensor<1x128xf32> {remat.role = #remat.role<input>, remat.name = "x1"},
    %linear1.weight: tensor<1x128xf32>
      {remat.role = #remat.role<parameter>, remat.name = "linear1.weight", remat.init = #remat.init<uniform, 0.08838834764831843>},
    %x2: tensor<1x129xf32> {remat.role = #remat.role<input>, remat.name = "x2"},
    %linear2.weight: tensor<1x129xf32>
      {remat.role = #remat.role<parameter>, remat.name = "linear2.weight", remat.init = #remat.init<uniform, 0.08804509063256238>}
  ) -> (
    tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}
  ) {
  %0 = remat.matmul %x0, %linear0.weight {transpose_rhs}
      : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32> loc("linear0/matmul")
  %1 = remat.matmul %x1, %linear1.weight {transpose_rhs}
      : (tensor<1x128xf32>, tensor<1x128xf32>) -> tensor<1x1xf32> loc("linear1/matmul")
  %2 = remat.matmul %x2, %linear2.weight {transpose_rhs}
      : (tensor<1x129xf32>, tensor<1x129xf32>) -> tensor<1x1xf32> loc("linear2/matmul")
  %3 = remat.reduce <mean> %0, [0, 1] : (tensor<1x1xf32>) -> tensor<f32> loc("loss/reduce")
  %4 = remat.reduce <mean> %1, [0, 1] : (tensor<1x1xf32>) -> tensor<f32> loc("loss/reduce")
  %5 = remat.reduce <mean> %2, [0, 1] : (tensor<1x1xf32>) -> tensor<f32> loc("loss/reduce")
  %6 = remat.add %3, %4 : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("loss/add")
  %7 = remat.add %6, %5 : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("loss/add")
  return %7 : tensor<f32>
}
