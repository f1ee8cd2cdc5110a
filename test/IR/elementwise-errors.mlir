// What the verifiers of elementwise operations refuse.

// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xi32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of f32, bf16 or f16 values, but got 'tensor<4xi32>'}}
  %0 = remat.exp %x : tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of f32, bf16 or f16 values, but got 'tensor<?xf32>'}}
  %0 = remat.exp %x : tensor<?xf32>
  return
}

// -----

func.func @f(%x: tensor<4x0xf32>) {
  // expected-error @+1 {{'remat.exp' op operand #0: tensor type 'tensor<4x0xf32>' has size 0 in dimension 1; tensors have at least one element}}
  %0 = remat.exp %x : tensor<4x0xf32>
  return
}

// -----

func.func @f(%x: tensor<1xf32>) {
  // expected-error @+1 {{'remat.broadcast' op result #0: tensor type 'tensor<3037000500x3037000500xf32>' takes 36893488148001000000 bytes, more than the 9223372036854775807 that can be addressed}}
  %0 = remat.broadcast %x : tensor<1xf32> to tensor<3037000500x3037000500xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @+2 {{operand shapes 'tensor<4xf32>' and 'tensor<3xf32>' do not broadcast}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.add %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xbf16>) {
  // expected-error @+2 {{operands have element types 'f32' and 'bf16'; convert one of them with remat.cast}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.mul %x, %y : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+2 {{'remat.sub' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<1x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+2 {{'remat.compare' op inferred type(s) 'tensor<4xi1>' are incompatible with return type(s) of operation 'tensor<1xi1>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.compare <eq> %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<1xi1>
  return
}

// -----

func.func @f(%c: tensor<3xi1>, %x: tensor<4xf32>) {
  // expected-error @+2 {{the condition's shape 'tensor<3xi1>' does not broadcast with 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.select %c, %x, %x : (tensor<3xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{result shape 'tensor<2x2xbf16>' differs from operand 'tensor<4xf32>'; remat.reshape changes shapes}}
  %0 = remat.cast %x : tensor<4xf32> to tensor<2x2xbf16>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{value must be a dense elements attribute}}
  %0 = remat.constant sparse<[[0]], [1.0]> : tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{result #0 must be statically shaped tensor of f32, bf16, f16, i32, i64 or i1 values, but got 'vector<4xf32>'}}
  %0 = remat.constant dense<1.0> : vector<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{p is 1.000000e+00; it must be in [0, 1)}}
  %0 = remat.dropout %x, %s, %s {p = 1.0 : f64, id = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{it must be in [0, 1)}}
  %0 = remat.dropout %x, %s, %s {p = 0x7FF8000000000000 : f64, id = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{'remat.dropout' op requires attribute 'p'}}
  %0 = remat.dropout %x, %s, %s {id = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @f(%s: tensor<i64>) {
  // expected-error @+1 {{'remat.random' op requires attribute 'id'}}
  %0 = remat.random <uniform> %s, %s : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'remat.bitcast' op result shape 'tensor<2x2xi32>' differs from operand 'tensor<4xf32>'; remat.reshape changes shapes}}
  %0 = remat.bitcast %x : tensor<4xf32> to tensor<2x2xi32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'remat.bitcast' op operand 'tensor<4xf32>' and result 'tensor<4xf32>' have the same element type}}
  %0 = remat.bitcast %x : tensor<4xf32> to tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of i32 or i64 values, but got 'tensor<4xf32>'}}
  %0 = remat.bit_xor %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
