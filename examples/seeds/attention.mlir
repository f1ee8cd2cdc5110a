// MultiheadAttention(1024, 1, bias=False), which returns its weights too.

func.func @main(
    %x: tensor<2x1024x1024xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %mha.in_proj_weight: tensor<3072x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "mha.in_proj_weight", remat.init = #remat.init<uniform, 0.038273277230987154>},
    %mha.out_proj.weight: tensor<1024x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "mha.out_proj.weight", remat.init = #remat.init<uniform, 0.03125>}
  ) -> (
    tensor<1024x2x2xf32> {remat.role = #remat.role<output>, remat.name = "weights"},
    tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}
  ) {
  %0 = remat.matmul %x, %mha.in_proj_weight {transpose_rhs}
      : (tensor<2x1024x1024xf32>, tensor<3072x1024xf32>) -> tensor<2x1024x3072xf32> loc("mha/matmul")
  %1 = remat.reshape %0 : tensor<2x1024x3072xf32> to tensor<2x1024x3x1024xf32> loc("mha/reshape")
  %2 = remat.transpose %1, [2, 0, 1, 3]
      : (tensor<2x1024x3x1024xf32>) -> tensor<3x2x1024x1024xf32> loc("mha/transpose")
  %3 = remat.reshape %2 : tensor<3x2x1024x1024xf32> to tensor<6144x1024xf32> loc("mha/reshape")
  %4 = remat.slice %3, [0, 0] [2048, 1024]
      : (tensor<6144x1024xf32>) -> tensor<2048x1024xf32> loc("mha/slice")
  %5 = remat.slice %3, [2048, 0] [2048, 1024]
      : (tensor<6144x1024xf32>) -> tensor<2048x1024xf32> loc("mha/slice")
  %6 = remat.slice %3, [4096, 0] [2048, 1024]
      : (tensor<6144x1024xf32>) -> tensor<2048x1024xf32> loc("mha/slice")
  %7 = remat.reshape %4 : tensor<2048x1024xf32> to tensor<2x1024x1024xf32> loc("mha/reshape")
  %8 = remat.transpose %7, [1, 0, 2]
      : (tensor<2x1024x1024xf32>) -> tensor<1024x2x1024xf32> loc("mha/transpose")
  %9 = remat.reshape %5 : tensor<2048x1024xf32> to tensor<2x1024x1024xf32> loc("mha/reshape")
  %10 = remat.transpose %9, [1, 0, 2]
      : (tensor<2x1024x1024xf32>) -> tensor<1024x2x1024xf32> loc("mha/transpose")
  %11 = remat.reshape %6 : tensor<2048x1024xf32> to tensor<2x1024x1024xf32> loc("mha/reshape")
  %12 = remat.transpose %11, [1, 0, 2]
      : (tensor<2x1024x1024xf32>) -> tensor<1024x2x1024xf32> loc("mha/transpose")
  %13 = remat.constant dense<0.03125> : tensor<f32> loc("mha/constant")
  %14 = remat.mul %8, %13
      : (tensor<1024x2x1024xf32>, tensor<f32>) -> tensor<1024x2x1024xf32> loc("mha/mul")
  %15 = remat.matmul %14, %10 {transpose_rhs}
      : (tensor<1024x2x1024xf32>, tensor<1024x2x1024xf32>) -> tensor<1024x2x2xf32> loc("mha/matmul")
  %16 = remat.softmax %15 : tensor<1024x2x2xf32> loc("mha/softmax")
  %17 = remat.matmul %16, %12
      : (tensor<1024x2x2xf32>, tensor<1024x2x1024xf32>) -> tensor<1024x2x1024xf32> loc("mha/matmul")
  %18 = remat.transpose %17, [1, 0, 2]
      : (tensor<1024x2x1024xf32>) -> tensor<2x1024x1024xf32> loc("mha/transpose")
  %19 = remat.reshape %18 : tensor<2x1024x1024xf32> to tensor<2048x1024xf32> loc("mha/reshape")
  %20 = remat.matmul %19, %mha.out_proj.weight {transpose_rhs}
      : (tensor<2048x1024xf32>, tensor<1024x1024xf32>) -> tensor<2048x1024xf32> loc("mha/out_proj/matmul")
  %21 = remat.reshape %20 : tensor<2048x1024xf32> to tensor<2x1024x1024xf32> loc("mha/reshape")
  %22 = remat.reshape %16 : tensor<1024x2x2xf32> to tensor<1024x1x2x2xf32> loc("mha/reshape")
  %23 = remat.reduce <mean> %22, [1]
      : (tensor<1024x1x2x2xf32>) -> tensor<1024x2x2xf32> loc("mha/reduce")
  %24 = remat.reduce <sum> %21, [0, 1, 2]
      : (tensor<2x1024x1024xf32>) -> tensor<f32> loc("loss/reduce")
  return %23, %24 : tensor<1024x2x2xf32>, tensor<f32>
}
