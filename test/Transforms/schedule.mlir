// RUN: remat-opt %s --remat-add-optimizer="kind=sgd rate=0.1 schedule=cosine warmup-steps=4 hold-steps=2 decay-steps=8 decay-factor=0.5" | FileCheck %s
// RUN: remat-opt %s --remat-add-optimizer="kind=sgd rate=0.1 schedule=step decay-steps=8" | FileCheck %s --check-prefix=POWER
// RUN: remat-opt %s --remat-add-optimizer="kind=sgd rate=0.1 warmup-steps=4" | FileCheck %s --check-prefix=RISE
// RUN: remat-opt %s --remat-add-optimizer="kind=sgd rate=0.1" | FileCheck %s --check-prefix=FLAT

// Steps are counted in i64; the warm-up's share is exactly 1 behind it. The sine
// goes through zero in the middle of the decay, and 0.25 and 0.75 make 1 together.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[RATE:[^:]*]]: tensor<f32> {remat.init = #remat.init<constant, 1.000000e-01>, remat.name = "learning_rate"
// CHECK-SAME: %[[STEP:[^:]*]]: tensor<i64> {
// CHECK-SAME: tensor<f32> {remat.name = "rate", remat.role = #remat.role<output>})
// CHECK: %[[DONE:.*]] = remat.add %[[STEP]], %{{.*}} : (tensor<i64>, tensor<i64>)
// CHECK: %[[RISEN:.*]] = remat.min %[[DONE]], %{{.*}} : (tensor<i64>, tensor<i64>)
// CHECK: %[[REAL:.*]] = remat.cast %[[RISEN]] {{.*}}tensor<i64> to tensor<f32>
// CHECK: %[[SHARE:.*]] = remat.div %[[REAL]],
// CHECK: %[[WARM:.*]] = remat.mul %[[RATE]], %[[SHARE]]
// CHECK: %[[BEGIN:.*]] = remat.constant {{.*}}dense<6> : tensor<i64>
// CHECK: remat.sub %[[STEP]], %[[BEGIN]]
// CHECK: %[[SINE:.*]] = remat.sin
// CHECK: remat.constant {{.*}}dense<2.500000e-01>
// CHECK: remat.constant {{.*}}dense<7.500000e-01>
// CHECK: %[[NOW:.*]] = remat.mul %[[WARM]],
// CHECK: remat.sgd %{{.*}} rate %[[NOW]]
// CHECK: return %{{.*}}, %{{.*}}, %[[NOW]] :

// One tenth unless it is said otherwise, to the power of whole times.
// POWER: remat.div {{.*}} : (tensor<i64>, tensor<i64>)
// POWER: remat.constant {{.*}}dense<-2.30258512> : tensor<f32>
// POWER: remat.exp
// POWER: remat.sgd

// RISE-NOT: remat.max
// RISE: remat.name = "rate"

// FLAT-NOT: "rate"
func.func @main(
    %w: tensor<2xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
    %g: tensor<2xf32> {remat.role = #remat.role<input>, remat.name = "g"})
    -> (tensor<2xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.w"}) {
  return %g : tensor<2xf32>
}
