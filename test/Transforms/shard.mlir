// RUN: remat-opt %s --split-input-file --remat-shard | FileCheck %s
// RUN: remat-opt %s --split-input-file --remat-shard | remat-opt --split-input-file

// The example of Passes.td: a matrix cut along its columns, then one along its
// rows, and one sum.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK-SAME: %[[W1:[^:]*]]: tensor<8x3xf32> {remat.part = #remat.part<[8, 6], [#remat.cut<["tensor"], dim = 1>]>
// CHECK-SAME: %[[W2:[^:]*]]: tensor<3x8xf32> {remat.part = #remat.part<[6, 8], [#remat.cut<["tensor"], dim = 0>]>
// CHECK-NOT: remat.shard
// CHECK: %[[H:.*]] = remat.matmul %[[X]], %[[W1]] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %[[R:.*]] = remat.relu %[[H]] : tensor<4x3xf32>
// CHECK-NEXT: %[[P:.*]] = remat.matmul %[[R]], %[[W2]] : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = remat.all_reduce <sum> %[[P]] over ["tensor"] : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]] : tensor<4x8xf32>
func.func @main(%x: tensor<4x8xf32> {remat.role = #remat.role<input>},
                %w1: tensor<8x6xf32> {remat.shard = #remat.cut<["tensor"], dim = 1>, remat.role = #remat.role<parameter>},
                %w2: tensor<6x8xf32> {remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<parameter>}) -> tensor<4x8xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.matmul %x, %w1 : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = remat.relu %0 : tensor<4x6xf32>
  %2 = remat.matmul %1, %w2 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A sum of bf16 travels in f32 and is rounded once; the bias is added by the
// first rank.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x8xbf16>, %[[W:[^:]*]]: tensor<4x8xbf16> {{.*}}, %[[B:[^:]*]]: tensor<8xbf16>
// CHECK-DAG: %[[XP:.*]] = remat.rank_part %[[X]] over ["tensor"] {dim = 1 : i64} : (tensor<4x8xbf16>) -> tensor<4x4xbf16>
// CHECK-DAG: %[[B32:.*]] = remat.cast %[[B]] : tensor<8xbf16> to tensor<8xf32>
// CHECK-DAG: %[[INDEX:.*]] = remat.rank_index over ["tensor"] : tensor<i64>
// CHECK: %[[FIRST:.*]] = remat.compare <eq> %[[INDEX]]
// CHECK: %[[ONCE:.*]] = remat.select %[[FIRST]], %[[B32]]
// CHECK: %[[P:.*]] = remat.matmul %[[XP]], %[[W]] bias %[[ONCE]] : (tensor<4x4xbf16>, tensor<4x8xbf16>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[SUM:.*]] = remat.all_reduce <sum> %[[P]] over ["tensor"] : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = remat.cast %[[SUM]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: tensor<4x8xbf16>,
                %w: tensor<8x8xbf16> {remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<parameter>},
                %b: tensor<8xbf16>) -> tensor<4x8xbf16>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.matmul %x, %w bias %b : (tensor<4x8xbf16>, tensor<8x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// -----

// Two sums are added, and their rows, before one sum of 8 numbers travels.
// CHECK-LABEL: func.func @main
// CHECK: %[[P0:.*]] = remat.matmul
// CHECK: %[[P1:.*]] = remat.matmul
// CHECK-NEXT: %[[S:.*]] = remat.add %[[P0]], %[[P1]]
// CHECK-NEXT: %[[R:.*]] = remat.reduce <sum> %[[S]], [0]
// CHECK-NEXT: %[[Y:.*]] = remat.all_reduce <sum> %[[R]]
// CHECK-NEXT: return %[[Y]] : tensor<8xf32>
func.func @main(%x: tensor<4x4xf32>, %z: tensor<4x4xf32>,
                %v: tensor<4x8xf32> {remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<parameter>},
                %w: tensor<4x8xf32> {remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<parameter>}) -> tensor<8xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.matmul %x, %v : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = remat.matmul %z, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = remat.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = remat.reduce <sum> %2, [0] : (tensor<4x8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// An operation without loops reads the whole.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = remat.matmul {{.*}} -> tensor<4x4xf32>
// CHECK-NEXT: %[[A:.*]] = remat.all_gather %[[P]] over ["tensor"] {dim = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: remat.softmax %[[A]] : tensor<4x8xf32>
func.func @main(%x: tensor<4x4xf32>,
                %w: tensor<4x8xf32> {remat.shard = #remat.cut<["tensor"], dim = 1>, remat.role = #remat.role<parameter>}) -> tensor<4x8xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = remat.softmax %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Query, key and value in one matrix are three blocks, of which each rank has
// the same heads.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<4x12xf32> {remat.part = #remat.part<[4, 24], [#remat.cut<["tensor"], dim = 1, blocks = 3>]>
// CHECK: %[[M:.*]] = remat.matmul {{.*}} -> tensor<2x2x12xf32>
// CHECK-NEXT: %[[R:.*]] = remat.reshape %[[M]] : tensor<2x2x12xf32> to tensor<2x2x3x1x4xf32>
// CHECK-NEXT: %[[A:.*]], %{{.*}} = remat.attention %[[R]] : (tensor<2x2x3x1x4xf32>) -> (tensor<2x2x1x4xf32>, tensor<2x1x2xf32>)
// CHECK-NEXT: %[[J:.*]] = remat.reshape %[[A]] : tensor<2x2x1x4xf32> to tensor<2x2x4xf32>
// CHECK-NEXT: %[[P:.*]] = remat.matmul %[[J]]
// CHECK-NEXT: remat.all_reduce <sum> %[[P]]
func.func @main(%x: tensor<2x2x4xf32>,
                %w: tensor<4x24xf32> {remat.shard = #remat.cut<["tensor"], dim = 1, blocks = 3>, remat.role = #remat.role<parameter>},
                %o: tensor<8x4xf32> {remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<parameter>}) -> tensor<2x2x4xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.matmul %x, %w : (tensor<2x2x4xf32>, tensor<4x24xf32>) -> tensor<2x2x24xf32>
  %1 = remat.reshape %0 : tensor<2x2x24xf32> to tensor<2x2x3x2x4xf32>
  %2, %lse = remat.attention %1 : (tensor<2x2x3x2x4xf32>) -> (tensor<2x2x2x4xf32>, tensor<2x2x2xf32>)
  %3 = remat.reshape %2 : tensor<2x2x2x4xf32> to tensor<2x2x8xf32>
  %4 = remat.matmul %3, %o : (tensor<2x2x8xf32>, tensor<8x4xf32>) -> tensor<2x2x4xf32>
  return %4 : tensor<2x2x4xf32>
}

// -----

// Heads that share keys: a rank has whole groups, two heads of queries and the
// head of keys that they read.
// CHECK-LABEL: func.func @main
// CHECK: remat.attention {{.*}} : (tensor<2x2x2x4xf32>, tensor<2x2x1x4xf32>, tensor<2x2x1x4xf32>) -> (tensor<2x2x2x4xf32>, tensor<2x2x2xf32>)
// CHECK-NOT: remat.all_
// CHECK: remat.all_reduce <sum>
// CHECK-NOT: remat.all_
func.func @main(%x: tensor<2x2x4xf32>,
                %q: tensor<4x16xf32> {remat.shard = #remat.cut<["tensor"], dim = 1>, remat.role = #remat.role<parameter>},
                %k: tensor<4x8xf32> {remat.shard = #remat.cut<["tensor"], dim = 1>, remat.role = #remat.role<parameter>},
                %v: tensor<4x8xf32> {remat.shard = #remat.cut<["tensor"], dim = 1>, remat.role = #remat.role<parameter>},
                %o: tensor<16x4xf32> {remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<parameter>}) -> tensor<2x2x4xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.matmul %x, %q : (tensor<2x2x4xf32>, tensor<4x16xf32>) -> tensor<2x2x16xf32>
  %1 = remat.reshape %0 : tensor<2x2x16xf32> to tensor<2x2x4x4xf32>
  %2 = remat.matmul %x, %k : (tensor<2x2x4xf32>, tensor<4x8xf32>) -> tensor<2x2x8xf32>
  %3 = remat.reshape %2 : tensor<2x2x8xf32> to tensor<2x2x2x4xf32>
  %4 = remat.matmul %x, %v : (tensor<2x2x4xf32>, tensor<4x8xf32>) -> tensor<2x2x8xf32>
  %5 = remat.reshape %4 : tensor<2x2x8xf32> to tensor<2x2x2x4xf32>
  %6, %lse = remat.attention %1, %3, %5 : (tensor<2x2x4x4xf32>, tensor<2x2x2x4xf32>, tensor<2x2x2x4xf32>) -> (tensor<2x2x4x4xf32>, tensor<2x4x2xf32>)
  %7 = remat.reshape %6 : tensor<2x2x4x4xf32> to tensor<2x2x16xf32>
  %8 = remat.matmul %7, %o : (tensor<2x2x16xf32>, tensor<16x4xf32>) -> tensor<2x2x4xf32>
  return %8 : tensor<2x2x4xf32>
}

// -----

// One head of keys for all heads cannot be cut: attention runs whole on each rank.
// CHECK-LABEL: func.func @main
// CHECK: remat.all_gather
// CHECK: remat.attention {{.*}} : (tensor<2x2x4x4xf32>, tensor<2x2x1x4xf32>, tensor<2x2x1x4xf32>) -> (tensor<2x2x4x4xf32>, tensor<2x4x2xf32>)
func.func @main(%x: tensor<2x2x4xf32>, %k: tensor<2x2x1x4xf32>,
                %q: tensor<4x16xf32> {remat.shard = #remat.cut<["tensor"], dim = 1>, remat.role = #remat.role<parameter>}) -> tensor<2x2x4x4xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.matmul %x, %q : (tensor<2x2x4xf32>, tensor<4x16xf32>) -> tensor<2x2x16xf32>
  %1 = remat.reshape %0 : tensor<2x2x16xf32> to tensor<2x2x4x4xf32>
  %2, %lse = remat.attention %1, %k, %k : (tensor<2x2x4x4xf32>, tensor<2x2x1x4xf32>, tensor<2x2x1x4xf32>) -> (tensor<2x2x4x4xf32>, tensor<2x4x2xf32>)
  return %2 : tensor<2x2x4x4xf32>
}

// -----

// Attention that drops probabilities: the seed of a rank's first head is behind
// those of the heads before, here one, HeadSeedStride.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<i64> {remat.role = #remat.role<seed>}
// CHECK: %[[R:.*]] = remat.rank_index over ["tensor"]
// CHECK: %[[K:.*]] = remat.constant dense<97109012204693>
// CHECK: %[[F:.*]] = remat.mul %[[R]], %[[K]]
// CHECK: %[[S:.*]] = remat.add %[[SEED]], %[[F]]
// CHECK: remat.attention %{{.*}} random %[[S]], %{{.*}} {dropout_p = 1.000000e-01 : f64, id = 7 : i64} : (tensor<2x2x3x1x4xf32>,
// CHECK-NOT: remat.all_
// CHECK: remat.all_reduce <sum>
// CHECK-NOT: remat.all_
func.func @main(%x: tensor<2x2x4xf32>, %seed: tensor<i64> {remat.role = #remat.role<seed>}, %step: tensor<i64> {remat.role = #remat.role<step>},
                %w: tensor<4x24xf32> {remat.shard = #remat.cut<["tensor"], dim = 1, blocks = 3>, remat.role = #remat.role<parameter>},
                %o: tensor<8x4xf32> {remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<parameter>}) -> tensor<2x2x4xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.matmul %x, %w : (tensor<2x2x4xf32>, tensor<4x24xf32>) -> tensor<2x2x24xf32>
  %1 = remat.reshape %0 : tensor<2x2x24xf32> to tensor<2x2x3x2x4xf32>
  %2, %lse = remat.attention %1 random %seed, %step {dropout_p = 0.1, id = 7} : (tensor<2x2x3x2x4xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x2x2x4xf32>, tensor<2x2x2xf32>)
  %3 = remat.reshape %2 : tensor<2x2x2x4xf32> to tensor<2x2x8xf32>
  %4 = remat.matmul %3, %o : (tensor<2x2x8xf32>, tensor<8x4xf32>) -> tensor<2x2x4xf32>
  return %4 : tensor<2x2x4xf32>
}

// -----

// Without an axis `tensor` nothing is cut.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<4x8xf32> {remat.role = #remat.role<parameter>, remat.shard = #remat.cut<["tensor"], dim = 1>}
func.func @main(%w: tensor<4x8xf32> {remat.shard = #remat.cut<["tensor"], dim = 1>, remat.role = #remat.role<parameter>}) -> tensor<4x8xf32>
    attributes {remat.mesh = #remat.mesh<data = 2>} {
  %0 = remat.relu %w : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A graph with collectives over the axis is one rank's already.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<4x8xf32>, %{{[^:]*}}: tensor<4x8xf32> {remat.role = #remat.role<parameter>}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<4x8xf32> {remat.role = #remat.role<parameter>}) -> tensor<4x8xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.mul %x, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = remat.all_reduce <sum> %0 over ["tensor"] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
