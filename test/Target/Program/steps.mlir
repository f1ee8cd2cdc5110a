// Everything a program says of a graph: operands that are missing, attributes
// with their defaults, views and stored constants without steps, phases, the
// step that a clone repeats.
// RUN: remat-opt --remat-assign-memory %s | remat-translate --remat-to-program -o %t.remat
// RUN: remat-translate --program-to-text %t.remat | FileCheck %s
// CHECK: program version 1 device "host" arch "" arena
// CHECK: tensor %[[X:[0-9]+]] f32[4x8] at 0 Inputs steps -1 to [[END:[0-9]+]] "x"
// CHECK: tensor %[[W:[0-9]+]] f32[8x8] at {{[0-9]+}} Parameters steps -1 to 3 "w"
// CHECK: tensor %[[RATE:[0-9]+]] f32[] {{.*}} "learning_rate"
// CHECK: tensor %[[TABLE:[0-9]+]] f32[8] {{.*}} Constants steps -1 to [[END]]
// CHECK: argument "x" Input
// CHECK: argument "w" Parameter %[[W]] donated to result 1 init "normal" 0.02
// CHECK: argument "targets" Input {{.*}} data "targets" bound 8
// CHECK: result "loss" Loss
// CHECK: result "w" Parameter %[[NEW:[0-9]+]]
// CHECK: constant %[[TABLE]] of 32 bytes
// CHECK: step 0: %[[M:[0-9]+]] = "matmul" %[[X]], %[[W]], %[[TABLE]] {transpose_rhs = [1]} flops 512 from "<stdin>
// CHECK: step 1: %{{.*}}, %{{.*}} = "cross_entropy" {{.*}} {ignore_index = [-100]}
// CHECK: step 2: %[[G:[0-9]+]] = "matmul" %{{[0-9]+}}, %[[X]], _ {transpose_lhs = [1]} phase "backward" recomputes step 0
// CHECK: step 3: %[[NEW]] = "sgd" %[[W]], %{{[0-9]+}}, _, %[[RATE]], _ {momentum = 0, weight_decay = 0.5} phase "optimizer"
// CHECK-NOT: step 4
func.func @main(%x: tensor<4x8xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<8x8xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.init = #remat.init<normal, 2.0e-02>, remat.donated = 1 : i64},
                %t: tensor<4xi64> {remat.role = #remat.role<input>, remat.name = "targets", remat.data = #remat.data<targets>, remat.bound = 8 : i64},
                %rate: tensor<f32> {remat.role = #remat.role<learning_rate>, remat.name = "learning_rate"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<8x8xf32> {remat.role = #remat.role<parameter>, remat.name = "w"}) {
  %table = remat.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %0 = remat.matmul %x, %w bias %table {transpose_rhs, remat.id = 3 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = remat.reshape %0 : tensor<4x8xf32> to tensor<1x4x8xf32>
  %2 = remat.reshape %1 : tensor<1x4x8xf32> to tensor<4x8xf32>
  %loss, %lse = remat.cross_entropy %2, %t : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
  %g = remat.matmul %2, %x {transpose_lhs, remat.phase = #remat.phase<backward>, remat.origin = 3 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %new = remat.sgd %w, %g rate %rate {weight_decay = 0.5 : f64, remat.phase = #remat.phase<optimizer>} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  return %loss, %new : tensor<f32>, tensor<8x8xf32>
}
