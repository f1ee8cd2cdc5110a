// ERROR: name has the character 0x22
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "a\22b"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: name has the character 0xA
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "a\nb"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: name has the character 0x2A
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "*/ __asm__(); /*"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: name has the character 0x5C
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "line\\"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: name has the character 0xC3
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "é"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: must be a string of 1 to 255 characters
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = ""}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: must be a string of 1 to 255 characters
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: name 'x' is already that of #0
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: argument #0 of @main has no 'remat.role'
func.func @main(%x: tensor<4xf32> {remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: argument #0 of @main has no 'remat.name'
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: result #0 of @main has no 'remat.role'
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// ERROR: role 'loss' is none of an argument
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<loss>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: role 'seed' is none of a result
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<seed>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: a value of role 'loss' is a 'tensor<f32>'
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<loss>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: a value of role 'seed' is a 'tensor<i64>'
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<2xi64> {remat.role = #remat.role<seed>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: must have float elements
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xi32> {remat.role = #remat.role<parameter>, remat.name = "z"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<tensor>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: the dialect has no attribute 'remat.nmae'
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.nmae = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: 'remat.init' is for parameters and states
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.init = #remat.init<normal, 1.0>}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: expected a finite number
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "z", remat.init = #remat.init<normal, 1.0e400>}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: has the negative width
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "z", remat.init = #remat.init<normal, -1.0>}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "z", remat.init = #remat.init<cauchy, 1.0>}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: must be a positive i64
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xi32> {remat.role = #remat.role<input>, remat.name = "z", remat.bound = -5 : i64}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xi32> {remat.role = #remat.role<input>, remat.name = "z", remat.bound = 99999999999999999999 : i64}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: 'remat.data' must be
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}, %z: tensor<4xi32> {remat.role = #remat.role<input>, remat.name = "z", remat.data = "/etc/passwd"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: is donated to result #7, but there are 1
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.donated = 7 : i64}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: is donated to result #-1, but there are 1
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.donated = -1 : i64}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: 'remat.offsets' must have
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.neg %x {remat.offsets = array<i64>} : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: 'remat.keep' must be
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.neg %x {remat.keep = 3 : i64} : tensor<4xf32>
  return %x : tensor<4xf32>
}
