// Cross entropy with its gradient keeps the rows of a block in shared memory
// where they fit (99 KiB) and copies of 4 bytes or more can bring them there.
// RUN: remat-translate --remat-to-cuda --prelude=false %s | FileCheck %s

// A row of 50304 bf16 is 100608 bytes.
// CHECK: cross_entropy_with_grad(
// CHECK: /*Kept=*/true>
// One of f32 is twice as long.
// CHECK: cross_entropy_with_grad_2(
// CHECK: /*Kept=*/false>
// Of 50257 bf16 an access moves one element, 2 bytes; of 50258 it moves two.
// CHECK: cross_entropy_with_grad_3(
// CHECK: /*Kept=*/false>
// CHECK: cross_entropy_with_grad_4(
// CHECK: /*Kept=*/true>
// Eight rows of 13 f32 share a block.
// CHECK: cross_entropy_with_grad_5(
// CHECK: /*Kept=*/true>
func.func @main(
    %g: tensor<f32> {remat.role = #remat.role<input>, remat.name = "g"},
    %t: tensor<3xi64> {remat.role = #remat.role<input>, remat.name = "t"},
    %a: tensor<3x50304xbf16> {remat.role = #remat.role<input>, remat.name = "a"},
    %b: tensor<3x50304xf32> {remat.role = #remat.role<input>, remat.name = "b"},
    %c: tensor<3x50257xbf16> {remat.role = #remat.role<input>, remat.name = "c"},
    %d: tensor<3x50258xbf16> {remat.role = #remat.role<input>, remat.name = "d"},
    %e: tensor<3x13xf32> {remat.role = #remat.role<input>, remat.name = "e"}) {
  %0:3 = remat.cross_entropy_with_grad %g, %a, %t : (tensor<f32>, tensor<3x50304xbf16>, tensor<3xi64>) -> (tensor<f32>, tensor<3xf32>, tensor<3x50304xbf16>)
  %1:3 = remat.cross_entropy_with_grad %g, %b, %t : (tensor<f32>, tensor<3x50304xf32>, tensor<3xi64>) -> (tensor<f32>, tensor<3xf32>, tensor<3x50304xf32>)
  %2:3 = remat.cross_entropy_with_grad %g, %c, %t : (tensor<f32>, tensor<3x50257xbf16>, tensor<3xi64>) -> (tensor<f32>, tensor<3xf32>, tensor<3x50257xbf16>)
  %3:3 = remat.cross_entropy_with_grad %g, %d, %t : (tensor<f32>, tensor<3x50258xbf16>, tensor<3xi64>) -> (tensor<f32>, tensor<3xf32>, tensor<3x50258xbf16>)
  %4:3 = remat.cross_entropy_with_grad %g, %e, %t : (tensor<f32>, tensor<3x13xf32>, tensor<3xi64>) -> (tensor<f32>, tensor<3xf32>, tensor<3x13xf32>)
  return
}
