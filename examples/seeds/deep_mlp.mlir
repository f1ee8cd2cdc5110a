// Four parts of three linear layers with GELU, not checkpointed.

func.func @main(
    %x: tensor<4096x256xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %part0.0.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part0.0.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part0.1.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part0.1.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part0.2.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part0.2.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part1.0.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part1.0.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part1.1.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part1.1.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part1.2.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part1.2.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part2.0.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part2.0.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part2.1.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part2.1.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part2.2.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part2.2.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part3.0.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part3.0.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part3.1.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part3.1.weight", remat.init = #remat.init<uniform, 0.0625>},
    %part3.2.weight: tensor<256x256xf32>
      {remat.role = #remat.role<parameter>, remat.name = "part3.2.weight", remat.init = #remat.init<uniform, 0.0625>}
  ) -> (
    tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}
  ) {
  %0 = remat.matmul %x, %part0.0.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part0/0/matmul")
  %1 = remat.gelu %0 : tensor<4096x256xf32> loc("part0/gelu")
  %2 = remat.matmul %1, %part0.1.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part0/1/matmul")
  %3 = remat.gelu %2 : tensor<4096x256xf32> loc("part0/gelu")
  %4 = remat.matmul %3, %part0.2.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part0/2/matmul")
  %5 = remat.gelu %4 : tensor<4096x256xf32> loc("part0/gelu")
  %6 = remat.matmul %5, %part1.0.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part1/0/matmul")
  %7 = remat.gelu %6 : tensor<4096x256xf32> loc("part1/gelu")
  %8 = remat.matmul %7, %part1.1.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part1/1/matmul")
  %9 = remat.gelu %8 : tensor<4096x256xf32> loc("part1/gelu")
  %10 = remat.matmul %9, %part1.2.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part1/2/matmul")
  %11 = remat.gelu %10 : tensor<4096x256xf32> loc("part1/gelu")
  %12 = remat.matmul %11, %part2.0.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part2/0/matmul")
  %13 = remat.gelu %12 : tensor<4096x256xf32> loc("part2/gelu")
  %14 = remat.matmul %13, %part2.1.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part2/1/matmul")
  %15 = remat.gelu %14 : tensor<4096x256xf32> loc("part2/gelu")
  %16 = remat.matmul %15, %part2.2.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part2/2/matmul")
  %17 = remat.gelu %16 : tensor<4096x256xf32> loc("part2/gelu")
  %18 = remat.matmul %17, %part3.0.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part3/0/matmul")
  %19 = remat.gelu %18 : tensor<4096x256xf32> loc("part3/gelu")
  %20 = remat.matmul %19, %part3.1.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part3/1/matmul")
  %21 = remat.gelu %20 : tensor<4096x256xf32> loc("part3/gelu")
  %22 = remat.matmul %21, %part3.2.weight {transpose_rhs}
      : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32> loc("part3/2/matmul")
  %23 = remat.gelu %22 : tensor<4096x256xf32> loc("part3/gelu")
  %24 = remat.reduce <sum> %23, [0, 1] : (tensor<4096x256xf32>) -> tensor<f32> loc("loss/reduce")
  return %24 : tensor<f32>
}
