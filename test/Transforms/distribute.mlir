// RUN: remat-opt %s --remat-differentiate --remat-distribute=sharding=data --canonicalize | FileCheck %s --check-prefixes=CHECK,DATA
// RUN: remat-opt %s --remat-differentiate --remat-distribute=sharding=zero2 --canonicalize | FileCheck %s --check-prefixes=CHECK,ZERO2
// RUN: remat-opt %s --remat-differentiate --remat-distribute=sharding=zero1 --remat-add-optimizer --canonicalize | FileCheck %s --check-prefix=ZERO1
// RUN: remat-opt %s --remat-differentiate --remat-distribute=sharding=zero3 --remat-add-optimizer=clip-norm=1.0 --canonicalize | FileCheck %s --check-prefix=ZERO3
// RUN: remat-opt %s --remat-differentiate "--remat-distribute=sharding=data bucket=1" --canonicalize | FileCheck %s --check-prefix=ALONE
// RUN: remat-opt %s --remat-set-target=data=2 | FileCheck %s --check-prefix=MESH
// RUN: remat-opt %s --remat-differentiate "--remat-distribute=sharding=data micro-batches=3" --canonicalize | FileCheck %s --check-prefix=SEED

// MESH: remat.mesh = #remat.mesh<data = 2>

// The loss is the mean over the 2 ranks, as that of 2 micro-batches is: the sum,
// times a half.
// CHECK: %[[SUM:.*]] = remat.all_reduce <sum> %{{.*}} over ["data"] : (tensor<f32>) -> tensor<f32>
// CHECK: remat.mul %[[SUM]], %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<f32>

// Both gradients travel together; 25 MiB hold them.
// DATA: %[[S:.*]]:2 = remat.all_reduce <sum> %{{.*}}, %{{.*}} over ["data"] {remat.phase = #remat.phase<backward>} : (tensor<{{.*}}xf32>, tensor<{{.*}}xf32>) -> (tensor<{{.*}}xf32>, tensor<{{.*}}xf32>)
// DATA-DAG: remat.mul %[[S]]#0
// DATA-DAG: remat.mul %[[S]]#1
// ALONE: remat.all_reduce <sum> %{{.*}} over ["data"] {remat.phase = #remat.phase<backward>} : (tensor<{{.*}}>) -> tensor<{{.*}}>
// ALONE: remat.all_reduce <sum> %{{.*}} over ["data"] {remat.phase = #remat.phase<backward>} : (tensor<{{.*}}>) -> tensor<{{.*}}>

// 3 x 5 elements are padded to 16, of which each rank sums 8; 5 are padded to 6.
// ZERO2-DAG: %{{.*}} = remat.pad %{{.*}}, [0] [1] {{.*}} : (tensor<15xf32>) -> tensor<16xf32>
// ZERO2-DAG: %{{.*}} = remat.pad %{{.*}}, [0] [1] {{.*}} : (tensor<5xf32>) -> tensor<6xf32>
// ZERO2: remat.reduce_scatter <sum> %{{.*}}, %{{.*}} over ["data"] {{.*}} : (tensor<{{6|16}}xf32>, tensor<{{6|16}}xf32>) -> (tensor<{{3|8}}xf32>, tensor<{{3|8}}xf32>)

// With zero1 a rank updates its part of a parameter with states of that size, and
// all ranks gather the new one.
// ZERO1: func.func @main
// ZERO1-SAME: %[[W:[^:]*]]: tensor<3x5xf32> {
// ZERO1-SAME: tensor<8xf32> {{{[^}]*}}remat.name = "w.exp_avg", remat.part = #remat.part<[3, 5], [#remat.cut<["data"]>]>
// ZERO1: %[[NEW:.*]], %{{.*}}, %{{.*}} = remat.adamw %{{.*}} : (tensor<{{3|8}}xf32>
// ZERO1: remat.all_gather %{{.*}} over ["data"] {remat.phase = #remat.phase<optimizer>} : (tensor<{{3|8}}xf32>) -> tensor<{{6|16}}xf32>

// With zero3 the parameter itself is a part. It is gathered where it is read, the
// gradients' norm is over the parts of all ranks.
// ZERO3: func.func @main
// ZERO3-SAME: %[[W:[^:]*]]: tensor<8xf32> {{{[^}]*}}remat.part = #remat.part<[3, 5], [#remat.cut<["data"]>]>
// ZERO3: remat.all_gather %{{.*}} over ["data"] : (tensor<{{3|8}}xf32>) -> tensor<{{6|16}}xf32>
// ZERO3: %[[NORM:.*]] = remat.global_norm
// ZERO3: %[[SQUARE:.*]] = remat.mul %[[NORM]], %[[NORM]]
// ZERO3: %[[ALL:.*]] = remat.all_reduce <sum> %[[SQUARE]] over ["data"]
// ZERO3: remat.sqrt %[[ALL]]
// ZERO3-NOT: remat.all_gather
// ZERO3: return

// Rank r of ranks with 3 micro-batches draws as micro-batches 3 r, 3 r + 1 ... would.
// SEED: %[[SHIFT:.*]] = remat.constant dense<12884901888> : tensor<i64>
// SEED: %[[RANK:.*]] = remat.rank_index over ["data"] : tensor<i64>
// SEED: %[[BY:.*]] = remat.mul %[[RANK]], %[[SHIFT]]
// SEED: %[[OWN:.*]] = remat.add %{{.*}}, %[[BY]]
// SEED: remat.dropout %{{.*}}, %[[OWN]]
func.func @main(%x: tensor<4x3xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<3x5xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
                %b: tensor<5xf32> {remat.role = #remat.role<parameter>, remat.name = "b"},
                %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
                %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"})
    attributes {remat.mesh = #remat.mesh<data = 2>} {
  %0 = remat.matmul %x, %w bias %b : (tensor<4x3xf32>, tensor<3x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %1 = remat.dropout %0, %seed, %step {p = 0.5, id = 0} : tensor<4x5xf32>
  %2 = remat.mul %1, %1 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %3 = remat.reduce <mean> %2, [0, 1] : (tensor<4x5xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}
