// TransformerEncoderLayer(1024, 1, dim_feedforward=4096, dropout=0).

func.func @main(
    %x: tensor<2x1024x1024xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %encoder.self_attn.in_proj_weight: tensor<3072x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.self_attn.in_proj_weight", remat.init = #remat.init<uniform, 0.038273277230987154>},
    %encoder.self_attn.in_proj_bias: tensor<3072xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.self_attn.in_proj_bias", remat.init = #remat.init<constant, 0.0>},
    %encoder.self_attn.out_proj.weight: tensor<1024x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.self_attn.out_proj.weight", remat.init = #remat.init<uniform, 0.03125>},
    %encoder.self_attn.out_proj.bias: tensor<1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.self_attn.out_proj.bias", remat.init = #remat.init<uniform, 0.03125>},
    %encoder.norm1.weight: tensor<1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.norm1.weight", remat.init = #remat.init<constant, 1.0>},
    %encoder.norm1.bias: tensor<1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.norm1.bias", remat.init = #remat.init<constant, 0.0>},
    %encoder.linear1.weight: tensor<4096x1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.linear1.weight", remat.init = #remat.init<uniform, 0.03125>},
    %encoder.linear1.bias: tensor<4096xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.linear1.bias", remat.init = #remat.init<uniform, 0.03125>},
    %encoder.linear2.weight: tensor<1024x4096xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.linear2.weight", remat.init = #remat.init<uniform, 0.015625>},
    %encoder.linear2.bias: tensor<1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.linear2.bias", remat.init = #remat.init<uniform, 0.015625>},
    %encoder.norm2.weight: tensor<1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.norm2.weight", remat.init = #remat.init<constant, 1.0>},
    %encoder.norm2.bias: tensor<1024xf32>
      {remat.role = #remat.role<parameter>, remat.name = "encoder.norm2.bias", remat.init = #remat.init<constant, 0.0>}
  ) -> (
    tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}
  ) {
  %0 = remat.matmul %x, %encoder.self_attn.in_proj_weight bias %encoder.self_attn.in_proj_bias {transpose_rhs}
      : (tensor<2x1024x1024xf32>, tensor<3072x1024xf32>, tensor<3072xf32>) -> tensor<2x1024x3072xf32> loc("encoder/self_attn/matmul")
  %1 = remat.reshape %0
      : tensor<2x1024x3072xf32> to tensor<2x1024x3x1024xf32> loc("encoder/self_attn/reshape")
  %2 = remat.transpose %1, [2, 0, 1, 3]
      : (tensor<2x1024x3x1024xf32>) -> tensor<3x2x1024x1024xf32> loc("encoder/self_attn/transpose")
  %3 = remat.reshape %2
      : tensor<3x2x1024x1024xf32> to tensor<6144x1024xf32> loc("encoder/self_attn/reshape")
  %4 = remat.slice %3, [0, 0] [2048, 1024]
      : (tensor<6144x1024xf32>) -> tensor<2048x1024xf32> loc("encoder/self_attn/slice")
  %5 = remat.slice %3, [2048, 0] [2048, 1024]
      : (tensor<6144x1024xf32>) -> tensor<2048x1024xf32> loc("encoder/self_attn/slice")
  %6 = remat.slice %3, [4096, 0] [2048, 1024]
      : (tensor<6144x1024xf32>) -> tensor<2048x1024xf32> loc("encoder/self_attn/slice")
  %7 = remat.reshape %4
      : tensor<2048x1024xf32> to tensor<2x1024x1x1024xf32> loc("encoder/self_attn/reshape")
  %8 = remat.transpose %7, [1, 0, 2, 3]
      : (tensor<2x1024x1x1024xf32>) -> tensor<1024x2x1x1024xf32> loc("encoder/self_attn/transpose")
  %9 = remat.reshape %5
      : tensor<2048x1024xf32> to tensor<2x1024x1x1024xf32> loc("encoder/self_attn/reshape")
  %10 = remat.transpose %9, [1, 0, 2, 3]
      : (tensor<2x1024x1x1024xf32>) -> tensor<1024x2x1x1024xf32> loc("encoder/self_attn/transpose")
  %11 = remat.reshape %6
      : tensor<2048x1024xf32> to tensor<2x1024x1x1024xf32> loc("encoder/self_attn/reshape")
  %12 = remat.transpose %11, [1, 0, 2, 3]
      : (tensor<2x1024x1x1024xf32>) -> tensor<1024x2x1x1024xf32> loc("encoder/self_attn/transpose")
  %13, %14 = remat.attention %8, %10, %12
      : (tensor<1024x2x1x1024xf32>, tensor<1024x2x1x1024xf32>, tensor<1024x2x1x1024xf32>) -> (tensor<1024x2x1x1024xf32>, tensor<1024x1x2xf32>) loc("encoder/self_attn/attention")
  %15 = remat.transpose %13, [1, 0, 2, 3]
      : (tensor<1024x2x1x1024xf32>) -> tensor<2x1024x1x1024xf32> loc("encoder/self_attn/transpose")
  %16 = remat.reshape %15
      : tensor<2x1024x1x1024xf32> to tensor<2048x1024xf32> loc("encoder/self_attn/reshape")
  %17 = remat.matmul %16, %encoder.self_attn.out_proj.weight bias %encoder.self_attn.out_proj.bias {transpose_rhs}
      : (tensor<2048x1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<2048x1024xf32> loc("encoder/self_attn/out_proj/matmul")
  %18 = remat.reshape %17
      : tensor<2048x1024xf32> to tensor<2x1024x1024xf32> loc("encoder/self_attn/reshape")
  %19 = remat.add %x, %18
      : (tensor<2x1024x1024xf32>, tensor<2x1024x1024xf32>) -> tensor<2x1024x1024xf32> loc("encoder/add")
  %20, %21, %22 = remat.layer_norm %19, %encoder.norm1.weight, %encoder.norm1.bias {epsilon = 1.0e-05 : f64}
      : (tensor<2x1024x1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> (tensor<2x1024x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>) loc("encoder/norm1/layer_norm")
  %23 = remat.matmul %20, %encoder.linear1.weight bias %encoder.linear1.bias {transpose_rhs}
      : (tensor<2x1024x1024xf32>, tensor<4096x1024xf32>, tensor<4096xf32>) -> tensor<2x1024x4096xf32> loc("encoder/linear1/matmul")
  %24 = remat.relu %23 : tensor<2x1024x4096xf32> loc("encoder/relu")
  %25 = remat.matmul %24, %encoder.linear2.weight bias %encoder.linear2.bias {transpose_rhs}
      : (tensor<2x1024x4096xf32>, tensor<1024x4096xf32>, tensor<1024xf32>) -> tensor<2x1024x1024xf32> loc("encoder/linear2/matmul")
  %26 = remat.add %20, %25
      : (tensor<2x1024x1024xf32>, tensor<2x1024x1024xf32>) -> tensor<2x1024x1024xf32> loc("encoder/add")
  %27, %28, %29 = remat.layer_norm %26, %encoder.norm2.weight, %encoder.norm2.bias {epsilon = 1.0e-05 : f64}
      : (tensor<2x1024x1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> (tensor<2x1024x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>) loc("encoder/norm2/layer_norm")
  %30 = remat.reduce <sum> %27, [0, 1, 2]
      : (tensor<2x1024x1024xf32>) -> tensor<f32> loc("loss/reduce")
  return %30 : tensor<f32>
}
