// What the verifiers of shape operations and reductions refuse.

// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{result has 5 elements, the operand 6}}
  %0 = remat.reshape %x : tensor<2x3xf32> to tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{result element type 'bf16' differs from the operand's 'f32'}}
  %0 = remat.reshape %x : tensor<2x3xf32> to tensor<6xbf16>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{operand 'tensor<2x3xf32>' does not broadcast to 'tensor<3x3xf32>'}}
  %0 = remat.broadcast %x : tensor<2x3xf32> to tensor<3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{operand 'tensor<2x3xf32>' does not broadcast to 'tensor<3xf32>'}}
  %0 = remat.broadcast %x : tensor<2x3xf32> to tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{operand 'tensor<3xf32>' does not broadcast to 'tensor<1xf32>'}}
  %0 = remat.broadcast %x : tensor<3xf32> to tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{result element type 'f16' differs from the operand's 'f32'}}
  %0 = remat.broadcast %x : tensor<3xf32> to tensor<2x3xf16>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{permutation has 1 entries, but the operand 'tensor<2x3xf32>' has 2 dimensions}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.transpose %x, [0] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{permutation names dimension 0 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.transpose %x, [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{permutation names dimension -1, which the operand does not have}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.transpose %x, [0, -1] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{dimension 1: 2 elements from offset 2 are not within the operand's 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.slice %x, [0, 2] [2, 2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{dimension 0: 9223372036854775807 elements from offset 1 are not within the operand's 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.slice %x, [1, 0] [9223372036854775807, 3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{sizes has 1 entries, but the operand 'tensor<2x3xf32>' has 2 dimensions}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.slice %x, [0, 0] [2] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+2 {{dimension 0: padding of -1 and 0 is negative or too large}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.pad %x, [-1] [0] : (tensor<2xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+2 {{dimension 0: padding of 9223372036854775807 and 0 is negative or too large}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.pad %x, [9223372036854775807] [0] : (tensor<2xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+2 {{operands 'tensor<2x3xf32>' and 'tensor<2x4xf32>' differ in more than the size of dimension 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.concat %x, %y {dim = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // expected-error @+2 {{operands 'tensor<2x3xf32>' and 'tensor<3xf32>' differ in more than the size of dimension 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.concat %x, %y {dim = 0 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{dim is 2, but the operands have 2 dimensions}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.concat %x {dim = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+2 {{there must be at least one operand}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "remat.concat"() {dim = 0 : i64} : () -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{dims names dimension 2, but the operand 'tensor<2x3xf32>' has 2 dimensions}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.reduce <sum> %x, [2] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{dims must be sorted, without repetition: 0 comes behind 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.reduce <sum> %x, [1, 0] : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x3xi32>) {
  // expected-error @+2 {{the mean of 'i32' is not defined; cast to a float type first}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.reduce <mean> %x, [1] : (tensor<2x3xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{dim is 2, but 'tensor<2x3xf32>' has 2 dimensions}}
  %0 = remat.roll %x {dim = 2 : i64, shift = 0 : i64} : tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{shift is 3, not in [0, 3) of dimension 1}}
  %0 = remat.roll %x {dim = 1 : i64, shift = 3 : i64} : tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{shift is -1, not in [0, 2) of dimension 0}}
  %0 = remat.roll %x {dim = 0 : i64, shift = -1 : i64} : tensor<2x3xf32>
  return
}
