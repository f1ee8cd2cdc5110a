// RUN: remat-opt %s --remat-distribute | FileCheck %s

// A state that differs between ranks of the axis `data` becomes their mean: here
// by a part of what all have. What only the ranks of another axis make
// otherwise is alike along `data`, and so is what was gathered along it.
// CHECK: %[[PART:.*]] = remat.rank_part %{{.*}} over ["data"]
// CHECK: %[[OWN:.*]] = remat.add %[[PART]], %[[PART]]
// CHECK: %[[INDEX:.*]] = remat.rank_index over ["tensor"]
// CHECK: %[[OTHER:.*]] = remat.cast %[[INDEX]]
// CHECK: %[[ALL:.*]] = remat.all_gather %[[PART]] over ["data"]
// CHECK: %[[SUM:.*]] = remat.all_reduce <sum> %[[OWN]] over ["data"]
// CHECK-NOT: remat.all_reduce
// CHECK: %[[MEAN:.*]] = remat.mul %[[SUM]]
// CHECK-NEXT: return %{{.*}}, %[[MEAN]], %[[OTHER]], %[[ALL]]
func.func @main(%w: tensor<4xf32> {remat.role = #remat.role<state>, remat.name = "w"},
                %a: tensor<2xf32> {remat.role = #remat.role<state>, remat.name = "a", remat.donated = 1 : i64},
                %b: tensor<f32> {remat.role = #remat.role<state>, remat.name = "b", remat.donated = 2 : i64},
                %c: tensor<4xf32> {remat.role = #remat.role<state>, remat.name = "c", remat.donated = 3 : i64})
    -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<2xf32> {remat.role = #remat.role<state>, remat.name = "a"},
        tensor<f32> {remat.role = #remat.role<state>, remat.name = "b"},
        tensor<4xf32> {remat.role = #remat.role<state>, remat.name = "c"})
    attributes {remat.mesh = #remat.mesh<data = 2, tensor = 2>} {
  %0 = remat.rank_part %w over ["data"] : (tensor<4xf32>) -> tensor<2xf32>
  %1 = remat.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = remat.rank_index over ["tensor"] : tensor<i64>
  %3 = remat.cast %2 : tensor<i64> to tensor<f32>
  %4 = remat.all_gather %0 over ["data"] : (tensor<2xf32>) -> tensor<4xf32>
  return %w, %1, %3, %4 : tensor<4xf32>, tensor<2xf32>, tensor<f32>, tensor<4xf32>
}
