// RUN: remat-opt %s --split-input-file --verify-diagnostics --remat-shard

// 7 columns are not 2 equal parts; 4 rows are.
// expected-error@+2 {{'w' is to be cut along dimension 1 of size 7 into 2 equal parts}}
// expected-note@+1 {{dimensions of 'tensor<4x7xf32>' that are: 0}}
func.func @main(%w: tensor<4x7xf32> {remat.name = "w", remat.shard = #remat.cut<["tensor"], dim = 1>, remat.role = #remat.role<parameter>}) -> tensor<4x7xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  return %w : tensor<4x7xf32>
}

// -----

// Blocks of 4 columns are not 3 equal parts.
// expected-error@+2 {{'w' is to be cut along dimension 1 of size 12 in 3 blocks into 3 equal parts}}
// expected-note@+1 {{dimensions of 'tensor<4x12xf32>' that are: 1}}
func.func @main(%w: tensor<4x12xf32> {remat.name = "w", remat.shard = #remat.cut<["tensor"], dim = 1, blocks = 3>, remat.role = #remat.role<parameter>}) -> tensor<4x12xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 3>} {
  return %w : tensor<4x12xf32>
}

// -----

// expected-error@+2 {{'w' is to be cut along dimension 0 of size 5 into 2 equal parts}}
// expected-note@+1 {{no dimension of 'tensor<5xf32>' is a multiple of 2: leave it whole, or pad it in the graph}}
func.func @main(%w: tensor<5xf32> {remat.name = "w", remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<parameter>}) -> tensor<5xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  return %w : tensor<5xf32>
}

// -----

// expected-error@+1 {{'w' is to be cut along dimension 2, but 'tensor<4x8xf32>' has 2 dimensions}}
func.func @main(%w: tensor<4x8xf32> {remat.name = "w", remat.shard = #remat.cut<["tensor"], dim = 2>, remat.role = #remat.role<parameter>}) -> tensor<4x8xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  return %w : tensor<4x8xf32>
}

// -----

// expected-error@+1 {{'w' is to be cut over the axes ["data"]; parameters are cut over ["tensor"]}}
func.func @main(%w: tensor<4x8xf32> {remat.name = "w", remat.shard = #remat.cut<["data"], dim = 0>, remat.role = #remat.role<parameter>}) -> tensor<4x8xf32>
    attributes {remat.mesh = #remat.mesh<data = 2, tensor = 2>} {
  return %w : tensor<4x8xf32>
}

// -----

// expected-error@+1 {{'s' is written by the step, and cannot be cut}}
func.func @main(%s: tensor<4xf32> {remat.name = "s", remat.donated = 0 : i64, remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<state>})
    -> (tensor<4xf32> {remat.role = #remat.role<state>, remat.name = "s"})
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.relu %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Nothing is asked for, and nothing can be cut.
// expected-error@+2 {{no matrix among the parameters has a dimension that is a multiple of the 2 ranks of the axis 'tensor'}}
// expected-note@+1 {{say with --shard NAME=DIM what is to be cut, or take another number of ranks}}
func.func @main(%w: tensor<5x7xf32> {remat.name = "w", remat.role = #remat.role<parameter>}) -> tensor<5x7xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  return %w : tensor<5x7xf32>
}

// -----

// Another parameter is a part already.
// expected-error@+2 {{the graph is one rank's of the axis 'tensor' already, and 'v' is to be cut over it}}
// expected-note@+1 {{cut everything in the graph, or nothing}}
func.func @main(%w: tensor<2x8xf32> {remat.name = "w", remat.part = #remat.part<[4, 8], [#remat.cut<["tensor"], dim = 0>]>, remat.role = #remat.role<parameter>},
    %v: tensor<4x8xf32> {remat.name = "v", remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<parameter>})
    -> (tensor<2x8xf32>, tensor<4x8xf32>)
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  return %w, %v : tensor<2x8xf32>, tensor<4x8xf32>
}
