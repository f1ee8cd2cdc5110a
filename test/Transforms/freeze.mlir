// RUN: remat-opt %s --remat-freeze=parameters=body.*,body.w --remat-differentiate --remat-add-optimizer=kind=adamw | FileCheck %s
// RUN: not remat-opt %s --remat-freeze=parameters=bdy.w 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not remat-opt %s "--remat-freeze=parameters=a[" 2>&1 | FileCheck %s --check-prefix=OPEN

// A frozen parameter is a state that nothing writes: no gradient, no moments. It
// keeps its initial value; what is frozen twice is no error.
// CHECK: %{{[^:]*}}: tensor<3xf32> {remat.init = #remat.init<normal, 1.000000e+00>, remat.name = "body.w", remat.role = #remat.role<state>}
// CHECK-SAME: remat.name = "head.w", remat.role = #remat.role<parameter>}
// CHECK-NOT: "body.w
// CHECK: remat.name = "head.w"
// CHECK: remat.adamw
// CHECK-NOT: remat.adamw

// NONE: error: --freeze 'bdy.w' names no parameter; near names: {{.*}}'body.w'
// OPEN: error: freeze is 'a['; it must be the name of a value or scope, or a glob such as h.*/gelu
func.func @main(
    %b: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "body.w", remat.init = #remat.init<normal, 1.0>},
    %h: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "head.w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.exp %b : tensor<3xf32>
  %1 = remat.mul %0, %h : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %loss = remat.reduce <sum> %1, [0] : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
