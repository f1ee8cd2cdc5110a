// Equal kernels are printed once; the same operations over another shape get a
// name of their own.
// RUN: remat-translate --remat-to-cuda --prelude=false %s | FileCheck %s
// CHECK: step 0: exp, {{.*}}, and 1 more
// CHECK: exp_2048(
// CHECK: step 2: exp,
// CHECK: exp_512(
// CHECK-NOT: __global__
// CHECK: step 0: exp
// CHECK-NEXT: exp_2048<<<2, 256>>>
// CHECK-NEXT: step 1: exp
// CHECK-NEXT: exp_2048<<<2, 256>>>
// CHECK-NEXT: step 2: exp
// CHECK-NEXT: exp_512<<<1, 128>>>
func.func @main(%x: tensor<2048xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %y: tensor<512xf32> {remat.role = #remat.role<input>, remat.name = "y"})
    -> (tensor<2048xf32> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<512xf32> {remat.role = #remat.role<output>, remat.name = "b"}) {
  %0 = remat.exp %x : tensor<2048xf32>
  %1 = remat.exp %0 : tensor<2048xf32>
  %2 = remat.exp %y : tensor<512xf32>
  return %1, %2 : tensor<2048xf32>, tensor<512xf32>
}
