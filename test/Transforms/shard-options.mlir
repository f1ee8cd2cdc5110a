// RUN: remat-opt %s --remat-shard='shards=h.*.fc=1,h.1.fc=0' | FileCheck %s
// RUN: not remat-opt %s --remat-shard='shards=h.0.fd=1' 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not remat-opt %s --remat-shard=shards=h.0.fc 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: shard is 'h.0.fc'; it must be NAME=DIM, a parameter or a glob and the dimension to cut
// RUN: sed 's/tensor = 2/data = 2/' %s > %t.mlir
// RUN: not remat-opt %t.mlir --remat-shard='shards=h.0.fc=1' 2>&1 | FileCheck %s --check-prefix=AXIS

// The last one that names a parameter counts; what the graph says gives way.
// CHECK: tensor<8x2xf32> {remat.name = "h.0.fc", remat.part = #remat.part<[8, 4], [#remat.cut<["tensor"], dim = 1>]>
// CHECK-SAME: tensor<2x8xf32> {remat.name = "h.1.fc", remat.part = #remat.part<[4, 8], [#remat.cut<["tensor"], dim = 0>]>
// NEAR: error: --shard 'h.0.fd=1' names no parameter; near names: 'h.0.fc', 'h.1.fc'
// AXIS: error: --shard 'h.0.fc=1' cuts over the axis 'tensor', which the ranks do not have
// AXIS: note: run on several ranks, with --parallel tensor=N
func.func @main(%x: tensor<4x8xf32>,
                %v: tensor<8x4xf32> {remat.name = "h.0.fc", remat.shard = #remat.cut<["tensor"], dim = 0>, remat.role = #remat.role<parameter>},
                %w: tensor<4x8xf32> {remat.name = "h.1.fc", remat.role = #remat.role<parameter>}) -> tensor<4x8xf32>
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.matmul %x, %v : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = remat.matmul %0, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
