// RUN: remat-opt %s | remat-opt | FileCheck %s
// RUN: remat-opt %s --remat-differentiate --canonicalize | FileCheck %s --check-prefix=GRAD

// Eight ranks: 4 along `data`, and of each 2 along `tensor`.
// CHECK: remat.mesh = #remat.mesh<data = 4, tensor = 2>
// CHECK: remat.all_reduce <sum> %{{.*}}, %{{.*}} over ["data"] : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK: remat.all_reduce <max> %{{.*}} over ["data", "tensor"]
// CHECK: remat.reduce_scatter <sum> %{{.*}} over ["data"] : (tensor<8xf32>) -> tensor<2xf32>
// CHECK: remat.all_gather %{{.*}} over ["tensor"] {dim = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x8xf32>
// CHECK: remat.all_to_all %{{.*}} over ["data"] {concat_dim = 1 : i64, split_dim = 0 : i64} : (tensor<4x2xf32>) -> tensor<1x8xf32>
// CHECK: remat.collective_broadcast %{{.*}} over ["data"] {root = 3 : i64} : tensor<8xf32>
// CHECK: remat.collective_permute %{{.*}} over ["data"] {pairs = array<i64: 0, 1, 1, 2>} : tensor<8xf32>
// CHECK: remat.rank_part %{{.*}} over ["tensor"] {dim = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x2xf32>
// CHECK: remat.rank_index over ["data"] : tensor<i64>
func.func @ops(%a: tensor<8xf32>, %b: tensor<2x4xf32>, %c: tensor<4x2xf32>)
    attributes {remat.mesh = #remat.mesh<data = 4, tensor = 2>} {
  %0:2 = remat.all_reduce <sum> %a, %a over ["data"] : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %1 = remat.all_reduce <max> %a over ["data", "tensor"] : (tensor<8xf32>) -> tensor<8xf32>
  %2 = remat.reduce_scatter <sum> %a over ["data"] : (tensor<8xf32>) -> tensor<2xf32>
  %3 = remat.all_gather %b over ["tensor"] {dim = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x8xf32>
  %4 = remat.all_to_all %c over ["data"] {split_dim = 0 : i64, concat_dim = 1 : i64} : (tensor<4x2xf32>) -> tensor<1x8xf32>
  %5 = remat.collective_broadcast %a over ["data"] {root = 3 : i64} : tensor<8xf32>
  %6 = remat.collective_permute %a over ["data"] {pairs = array<i64: 0, 1, 1, 2>} : tensor<8xf32>
  %7 = remat.rank_part %b over ["tensor"] {dim = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %8 = remat.rank_index over ["data"] : tensor<i64>
  return
}

// The gradient of the sum of all ranks' losses. The loss is sum(s * all_gather(s * w)):
// each rank's part of the gradient is the sum of what all ranks made of it.
// GRAD-LABEL: func.func @gather
// GRAD-SAME: %[[X:[^:]*]]: tensor<8xf32>
// GRAD: remat.all_gather %{{.*}} over ["data"] : (tensor<2xf32>) -> tensor<8xf32>
// GRAD: %[[G:.*]] = remat.reduce_scatter <sum> %{{.*}} over ["data"] {remat.phase = #remat.phase<backward>} : (tensor<8xf32>) -> tensor<2xf32>
// GRAD: return %{{.*}}, %[[G]]
func.func @gather(%x: tensor<8xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                  %w: tensor<2xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.part = #remat.part<[7], [#remat.cut<["data"]>]>})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"})
    attributes {remat.mesh = #remat.mesh<data = 4>} {
  %0 = remat.all_gather %w over ["data"] : (tensor<2xf32>) -> tensor<8xf32>
  %1 = remat.mul %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = remat.reduce <sum> %1, [0] : (tensor<8xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// The others: a sum comes back as a sum, a scattered one as a gathered one, what was
// exchanged is exchanged back, and what the root gave all ranks give to it.
// GRAD-LABEL: func.func @others
// GRAD: remat.collective_permute %{{.*}} over ["data"] {pairs = array<i64: 1, 0>, remat.phase
// GRAD: remat.all_to_all %{{.*}} over ["data"] {concat_dim = 0 : i64, remat.phase = #remat.phase<backward>, split_dim = 1 : i64}
// GRAD: %[[ALL:.*]] = remat.all_reduce <sum> %{{.*}} over ["data"] {remat.phase
// GRAD: %[[RANK:.*]] = remat.rank_index over ["data"] {remat.phase
// GRAD: %[[IS:.*]] = remat.compare <eq> %[[RANK]]
// GRAD: remat.select %[[IS]], %[[ALL]]
// GRAD: remat.all_gather %{{.*}} over ["data"] {remat.phase
// GRAD: remat.all_reduce <sum> %{{.*}} over ["data"] {remat.phase
func.func @others(%w: tensor<4x2xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"})
    attributes {remat.mesh = #remat.mesh<data = 2>} {
  %0 = remat.all_reduce <sum> %w over ["data"] : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = remat.exp %0 : tensor<4x2xf32>
  %2 = remat.reduce_scatter <sum> %1 over ["data"] : (tensor<4x2xf32>) -> tensor<2x2xf32>
  %3 = remat.exp %2 : tensor<2x2xf32>
  %4 = remat.collective_broadcast %3 over ["data"] {root = 1 : i64} : tensor<2x2xf32>
  %5 = remat.exp %4 : tensor<2x2xf32>
  %6 = remat.all_to_all %5 over ["data"] {split_dim = 0 : i64, concat_dim = 1 : i64} : (tensor<2x2xf32>) -> tensor<1x4xf32>
  %7 = remat.exp %6 : tensor<1x4xf32>
  %8 = remat.collective_permute %7 over ["data"] {pairs = array<i64: 0, 1>} : tensor<1x4xf32>
  %9 = remat.exp %8 : tensor<1x4xf32>
  %10 = remat.reduce <sum> %9, [0, 1] : (tensor<1x4xf32>) -> tensor<f32>
  return %10 : tensor<f32>
}
