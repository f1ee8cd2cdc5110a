// ERROR: takes 73786976294838206464 bytes, more than the 9223372036854775807
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4611686018427387904x4xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: takes 18446744073709551616 bytes
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4294967296x1073741824xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: has size 0 in dimension 0
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<0xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: has size 0 in dimension 2
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<9223372036854775807x9223372036854775807x0xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: is no ranked tensor of static shape
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<?x4xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: is no ranked tensor of static shape
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<*xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: is no ranked tensor of static shape
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: memref<4xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: is no ranked tensor of static shape
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: index {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: is no ranked tensor of static shape
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: vector<4xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: is no ranked tensor of static shape
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tuple<tensor<4xf32>> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: element type 'f64' is not
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xf64> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: element type 'i7' is not
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xi7> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: element type 'index' is not
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xindex> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: element type 'complex<f32>' is not
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xcomplex<f32>> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: element type 'si32' is not
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xsi32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: has an encoding
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xf32, 7 : i32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: more than the 16 that are supported
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<99999999999999999999xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<-4xf32> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4x> {remat.role = #remat.role<input>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}
