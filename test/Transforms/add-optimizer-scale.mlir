// RUN: remat-opt %s --remat-differentiate --remat-add-optimizer="kind=sgd gradient-norm=true" | FileCheck %s --check-prefix=REPORTED
// RUN: remat-opt %s --remat-differentiate --remat-add-optimizer="skip-nonfinite=true" | FileCheck %s --check-prefix=SKIP
// RUN: remat-opt %s --remat-differentiate --remat-add-optimizer="kind=lion skip-nonfinite=true" | FileCheck %s --check-prefix=LION
// RUN: remat-opt %s --remat-differentiate=loss-scale=8 --remat-add-optimizer="kind=sgd loss-scale=8" | FileCheck %s --check-prefix=STATIC
// RUN: remat-opt %s --remat-differentiate="loss-scale=64 dynamic-loss-scale=true" --remat-add-optimizer="loss-scale=64 dynamic-loss-scale=true" | FileCheck %s --check-prefix=DYNAMIC
// RUN: remat-opt %s --remat-differentiate --remat-add-optimizer="kind=sgd ema=0.99" | FileCheck %s --check-prefix=EMA

// A norm that is only reported keeps no gradient alive: it is that of the norms.
// REPORTED: remat.name = "gradient_norm", remat.role = #remat.role<output>
// REPORTED: remat.sgd %{{.*}}, %[[GB:[0-9a-z]+]] rate
// REPORTED-NEXT: %[[NB:.*]] = remat.global_norm %[[GB]] {{.*}} : (tensor<3xf32>)
// REPORTED: remat.sgd %{{.*}}, %[[GA:[0-9a-z]+]] rate
// REPORTED-NEXT: %[[NA:.*]] = remat.global_norm %[[GA]] {{.*}} : (tensor<3xf32>)
// REPORTED-NEXT: %[[ALL:.*]] = remat.global_norm %[[NA]], %[[NB]]
// REPORTED: return {{.*}}, %[[ALL]] :

// Nothing is updated before all gradients are known to be finite. The optimizer
// counts its own updates.
// SKIP: %[[COUNT:[^:]*]]: tensor<i64> {{{[^}]*}} remat.name = "updates", remat.role = #remat.role<state>}
// SKIP: %[[NORM:.*]] = remat.global_norm %{{.*}}, %{{.*}} :
// SKIP: %[[FITS:.*]] = remat.compare <lt>
// SKIP: %[[BOTH:.*]] = remat.select %[[FITS]],
// SKIP: %[[NEW:.*]], %[[M:.*]], %[[V:.*]] = remat.adamw %[[A:[a-z0-9]+]], %{{.*}} step %[[COUNT]]
// SKIP: remat.select %[[BOTH]], %[[NEW]], %[[A]]
// SKIP: remat.select %[[BOTH]], %[[M]],
// SKIP: remat.select %[[BOTH]], %[[V]],
// SKIP: remat.select %[[BOTH]], %{{.*}}, %[[COUNT]] {{.*}} :

// LION: %[[BOTH:.*]] = remat.select {{.*}} : (tensor<i1>, tensor<i1>, tensor<i1>)
// LION: remat.select %[[BOTH]], %{{.*}}, %arg0 {{.*}} : (tensor<i1>, tensor<3xf32>, tensor<3xf32>)

// STATIC: remat.constant {{.*}} dense<8.000000e+00> : tensor<f32>
// STATIC: %[[INVERSE:.*]] = remat.reciprocal
// STATIC: remat.sgd {{.*}} scale %[[INVERSE]]

// DYNAMIC: %[[SCALE:[^:]*]]: tensor<f32> {remat.donated = {{.*}} remat.init = #remat.init<constant, 6.400000e+01>, remat.name = "loss_scale", remat.role = #remat.role<state>}
// DYNAMIC: remat.name = "loss_scale_growth"
// DYNAMIC-SAME: remat.name = "scale", remat.role = #remat.role<output>
// DYNAMIC-SAME: remat.name = "skipped", remat.role = #remat.role<output>
// DYNAMIC: %[[INVERSE:.*]] = remat.reciprocal %[[SCALE]]
// DYNAMIC: %[[HALF:.*]] = remat.mul %[[SCALE]],

// EMA: remat.name = "a.ema", remat.role = #remat.role<state>
// EMA: %[[NEW:.*]] = remat.sgd
// EMA: %[[FIRST:.*]] = remat.compare <eq>
// EMA: remat.select %[[FIRST]], %[[NEW]],
func.func @main(
    %a: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "a"},
    %b: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "b"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.exp %a : tensor<3xf32>
  %1 = remat.mul %0, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %loss = remat.reduce <sum> %1, [0] : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
