// ERROR: takes 36893488147419103232 bytes
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.broadcast %x : tensor<4xf32> to tensor<2305843009213693952x4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.constant dense<[1.0, 2.0]> : tensor<9223372036854775807xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.constant dense<"0x0000"> : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: value must be a dense elements attribute
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.constant sparse<[[0]], [1.0]> : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: value must be a dense elements attribute
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.constant dense_resource<missing> : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: are not within the operand's 4
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.slice %x, [9223372036854775807] [9223372036854775807] : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: are not within the operand's 4
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.slice %x, [-1] [2] : (tensor<4xf32>) -> tensor<2xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: is negative or too large
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.pad %x, [9223372036854775807] [9223372036854775807] : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: which the operand does not have
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.transpose %x, [9223372036854775807] : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: dim is -9223372036854775808
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.concat %x {dim = -9223372036854775808 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: dims names dimension -1
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.reduce <sum> %x, [-1] : (tensor<4xf32>) -> tensor<f32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: it must be in [0, 1)
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.dropout %x, %z, %z {p = 0x7FF0000000000000 : f64, id = 0 : i64} : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: must have at least 2 dimensions
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = "remat.attention"(%x) {operandSegmentSizes = array<i32: 9, 0, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = "remat.attention"(%x) {operandSegmentSizes = array<i32: -1, 1, 1, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = "remat.matmul"() : () -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = "remat.reduce"(%x) <{kind = 99 : i32, dims = array<i64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.gelu %x {kind = #remat.gelu_kind<none>} : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.random <uniform> %x, %x {id = 0 : i64} : tensor<4xf32>
  return %x : tensor<4xf32>
}
