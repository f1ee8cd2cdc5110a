// Names that the graph uses already: what is added gets a + behind, and the
// program, whose names must differ, loads.
// RUN: remat-opt --remat-differentiate --remat-add-optimizer %s | FileCheck %s
// RUN: remat-run %s --steps 1

// CHECK: remat.name = "w.exp_avg+", remat.role = #remat.role<state>
// CHECK: remat.name = "learning_rate+", remat.role = #remat.role<learning_rate>
// CHECK: remat.name = "step+", remat.role = #remat.role<step>
// CHECK: remat.name = "w", remat.role = #remat.role<output>
// CHECK: remat.name = "w+", remat.role = #remat.role<parameter>
func.func @main(
    %w: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
    %x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "learning_rate"},
    %y: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "step"},
    %z: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "w.exp_avg"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "w"}) {
  %0 = remat.mul %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = remat.add %y, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = remat.mse %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %2, %w : tensor<f32>, tensor<4xf32>
}
