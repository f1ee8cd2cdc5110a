// What the verifiers of elements by index, order and running sums refuse.

// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<3x7xf32>, %i: tensor<3x2xi64>) {
  // expected-error @+2 {{dim is 2, but 'tensor<3x7xf32>' has 2 dimensions}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.gather %x, %i {dim = 2 : i64} : (tensor<3x7xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %i: tensor<3x2xi64>) {
  // expected-error @+2 {{'tensor<3x7xf32>' and indices 'tensor<3x2xi64>' differ in more than the size of dimension 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.gather %x, %i {dim = 0 : i64} : (tensor<3x7xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %i: tensor<2xi64>) {
  // expected-error @+2 {{differ in more than the size of dimension 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.gather %x, %i {dim = 0 : i64} : (tensor<3x7xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%u: tensor<3x7xf32>, %i: tensor<3x2xi64>) {
  // expected-error @+1 {{indices 'tensor<3x2xi64>' and updates 'tensor<3x7xf32>' must be of one shape}}
  %0 = remat.scatter_add %i, %u {dim = 1 : i64} : (tensor<3x2xi64>, tensor<3x7xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%u: tensor<3x2xf32>, %i: tensor<3x2xi64>) {
  // expected-error @+1 {{'tensor<4x9xf32>' and indices 'tensor<3x2xi64>' differ in more than the size of dimension 1}}
  %0 = remat.scatter_add %i, %u {dim = 1 : i64} : (tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<4x9xf32>
  return
}

// -----

func.func @f(%u: tensor<3x2xf32>, %i: tensor<3x2xi64>) {
  // expected-error @+1 {{element types of updates 'tensor<3x2xf32>' and result 'tensor<3x9xbf16>' differ}}
  %0 = remat.scatter_add %i, %u {dim = 1 : i64} : (tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x9xbf16>
  return
}

// -----

func.func @f(%x: tensor<3x7xf32>) {
  // expected-error @+2 {{k is 4, but dimension 0 has 3 elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.top_k %x {k = 4 : i64, dim = 0 : i64} : (tensor<3x7xf32>) -> (tensor<4x7xf32>, tensor<4x7xi64>)
  return
}

// -----

func.func @f(%x: tensor<3x7xf32>) {
  // expected-error @+2 {{k is 0, but dimension 0 has 3 elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.top_k %x {k = 0 : i64, dim = 0 : i64} : (tensor<3x7xf32>) -> (tensor<4x7xf32>, tensor<4x7xi64>)
  return
}

// -----

func.func @f(%x: tensor<3x7xf32>) {
  // expected-error @+1 {{dim is -1, but 'tensor<3x7xf32>' has 2 dimensions}}
  %0 = remat.cumsum %x {dim = -1 : i64} : tensor<3x7xf32>
  return
}
