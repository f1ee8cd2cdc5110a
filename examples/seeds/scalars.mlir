// Three tensors of one number each.

func.func @main(
    %a: tensor<f32> {remat.role = #remat.role<input>, remat.name = "a"},
    %b: tensor<f32> {remat.role = #remat.role<input>, remat.name = "b"},
    %c: tensor<f32> {remat.role = #remat.role<input>, remat.name = "c"}
  ) -> (
    tensor<f32> {remat.role = #remat.role<output>, remat.name = "sum"}
  ) {
  %0 = remat.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("sum/add")
  %1 = remat.add %0, %c : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("sum/add")
  return %1 : tensor<f32>
}
