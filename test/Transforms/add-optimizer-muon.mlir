// RUN: remat-opt %s --remat-add-optimizer="kind=muon momentum=0.9" | FileCheck %s
// RUN: remat-opt %s --remat-add-optimizer="kind=muon momentum=0" | FileCheck %s --check-prefix=PLAIN

// Muon updates matrices: five times three products of bf16, of the smaller side.
// A vector and the matrix that says so have AdamW's update.

// CHECK: remat.name = "tall.momentum"
// CHECK: remat.name = "table.exp_avg"
// CHECK: remat.name = "table.exp_avg_sq"
// CHECK: remat.name = "bias.exp_avg"
// CHECK: remat.name = "wide.momentum"

// The last gradient's update stands first. X is smaller from the left:
// CHECK: remat.global_norm
// CHECK: remat.matmul {{.*}}transpose_rhs{{.*}} : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x4xf32>
// CHECK: remat.matmul {{.*}} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK: remat.matmul {{.*}} : (tensor<4x4xbf16>, tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK-COUNT-12: remat.matmul
// CHECK-NOT: remat.matmul
// CHECK: remat.adamw
// CHECK: remat.adamw
// And from the right:
// CHECK: remat.global_norm
// CHECK: remat.matmul {{.*}}transpose_lhs{{.*}} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
// CHECK: remat.matmul {{.*}} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK: remat.matmul {{.*}}transpose_rhs{{.*}} : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xf32>
// CHECK-COUNT-12: remat.matmul
// CHECK-NOT: remat.matmul
// The rate times the root of 8 / 4.
// CHECK: dense<1.41421354> : tensor<f32>

// Without momentum it has no state.
// PLAIN-NOT: momentum
func.func @main(
    %tall: tensor<8x4xf32> {remat.role = #remat.role<parameter>, remat.name = "tall"},
    %table: tensor<8x4xf32> {remat.role = #remat.role<parameter>, remat.name = "table",
                             remat.update = #remat.update<adamw>},
    %bias: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "bias"},
    %wide: tensor<4x8xf32> {remat.role = #remat.role<parameter>, remat.name = "wide"},
    %g: tensor<8x4xf32> {remat.role = #remat.role<input>, remat.name = "g"},
    %v: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "v"},
    %t: tensor<4x8xf32> {remat.role = #remat.role<input>, remat.name = "t"})
    -> (tensor<8x4xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.tall"},
        tensor<8x4xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.table"},
        tensor<4xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.bias"},
        tensor<4x8xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.wide"}) {
  return %g, %g, %v, %t : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4x8xf32>
}
