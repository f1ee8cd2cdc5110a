// RUN: remat-opt %s --remat-add-optimizer="kind=adamw rate=0.1 weight-decay=0.01" | FileCheck %s

// A parameter may scale the learning rate and have a weight decay of its own.
// Two of one scale share the scaled rate.

// The optimizer's weight decay, 0.01, is the operation's default and not printed.

// CHECK: remat.adamw %arg0, {{.*}} rate %[[RATE:[a-z0-9]+]] step %{{[a-z0-9]+}} {remat.phase = #remat.phase<optimizer>} :
// CHECK: %[[TENTH:[0-9]+]] = remat.constant {{.*}} dense<1.000000e-01> : tensor<f32>
// CHECK: %[[SCALED:[0-9]+]] = remat.mul %[[RATE]], %[[TENTH]]
// CHECK-NOT: remat.mul
// CHECK: remat.adamw %arg2, {{.*}} rate %[[SCALED]] {{.*}}weight_decay = 0.000000e+00
// CHECK: remat.adamw %arg1, {{.*}} rate %[[SCALED]] step %{{[a-z0-9]+}} {remat.phase = #remat.phase<optimizer>} :
func.func @main(
    %plain: tensor<2xf32> {remat.role = #remat.role<parameter>, remat.name = "plain"},
    %slow: tensor<2xf32> {remat.role = #remat.role<parameter>, remat.name = "slow",
                          remat.rate_scale = 1.0e-01 : f64},
    %slow_free: tensor<2xf32> {remat.role = #remat.role<parameter>, remat.name = "slow_free",
                               remat.rate_scale = 1.0e-01 : f64, remat.weight_decay = 0.0 : f64},
    %g: tensor<2xf32> {remat.role = #remat.role<input>, remat.name = "g"})
    -> (tensor<2xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.plain"},
        tensor<2xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.slow"},
        tensor<2xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.slow_free"}) {
  return %g, %g, %g : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
