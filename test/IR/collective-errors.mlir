// RUN: remat-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{'remat.all_reduce' op is over axes ["data"], but its function has no 'remat.mesh'}}
  %0 = remat.all_reduce <sum> %a over ["data"] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) attributes {remat.mesh = #remat.mesh<data = 4, tensor = 2>} {
  // expected-error@+1 {{is over axes ["tensor", "data"], which #remat.mesh<data = 4, tensor = 2> does not have in this order}}
  %0 = remat.all_reduce <sum> %a over ["tensor", "data"] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) attributes {remat.mesh = #remat.mesh<data = 3>} {
  // expected-error@+1 {{cuts 'tensor<8xf32>' along dimension 0 into 3 equal parts}}
  %0 = remat.reduce_scatter <sum> %a over ["data"] : (tensor<8xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) attributes {remat.mesh = #remat.mesh<data = 2>} {
  // expected-error@+1 {{has 'tensor<8xf32>' for one of 2 parts of 'tensor<8xf32>' along dimension 0, which is 'tensor<4xf32>'}}
  %0 = remat.all_gather %a over ["data"] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) attributes {remat.mesh = #remat.mesh<data = 2>} {
  // expected-error@+2 {{'remat.all_reduce' op has no mean}}
  // expected-note@+1 {{multiply the sum by one over the number of ranks}}
  %0 = remat.all_reduce <mean> %a over ["data"] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) attributes {remat.mesh = #remat.mesh<data = 2>} {
  // expected-error@+1 {{has the root 2 of 2 ranks}}
  %0 = remat.collective_broadcast %a over ["data"] {root = 2 : i64} : tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) attributes {remat.mesh = #remat.mesh<data = 2>} {
  // expected-error@+1 {{has rank 0 send twice}}
  %0 = remat.collective_permute %a over ["data"] {pairs = array<i64: 0, 1, 0, 0>} : tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) attributes {remat.mesh = #remat.mesh<data = 2>} {
  // expected-error@+1 {{has 2 operands and 1 results; it must have a result for each of one or more operands}}
  %0 = remat.all_reduce <sum> %a, %a over ["data"] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{axis 'data' has 0 ranks; all ranks together are from 1 to 65536}}
func.func @f() attributes {remat.mesh = #remat.mesh<data = 0>} {
  return
}

// -----

// expected-error@+1 {{axis 'data' needs a name that no other axis has}}
func.func @f() attributes {remat.mesh = #remat.mesh<data = 2, data = 2>} {
  return
}

// -----

// expected-error@+1 {{a part of the whole is of shape [4], not 'tensor<3xf32>'}}
func.func @f(%a: tensor<3xf32> {remat.part = #remat.part<[7], [#remat.cut<["data"]>]>}) attributes {remat.mesh = #remat.mesh<data = 2>} {
  return
}

// -----

// expected-error@+1 {{'remat.part' is for functions with a 'remat.mesh', which says who has the other parts}}
func.func @f(%a: tensor<7xf32> {remat.part = #remat.part<[7], [#remat.cut<["data"]>]>}) {
  return
}

// -----

// expected-error@+1 {{there is no #remat.cut<["tensor"], dim = 0> of a tensor [7] where the function's 'remat.mesh' is #remat.mesh<tensor = 2>}}
func.func @f(%a: tensor<3xf32> {remat.part = #remat.part<[7], [#remat.cut<["tensor"], dim = 0>]>}) attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  return
}

// -----

// expected-error@+1 {{'remat.shard' is for parameters}}
func.func @f(%a: tensor<4xf32> {remat.role = #remat.role<input>, remat.shard = #remat.cut<["tensor"], dim = 0>}) {
  return
}
