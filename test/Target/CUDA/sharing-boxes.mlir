// Boxes of one size share a kernel, wherever they begin and however far apart
// the rows of their tensors are: the slices take 4 rows of 4 of 8 and of 12
// columns, a unit of 16 bytes each, and so do the three parts of the
// concatenation, whose result has 12.
// RUN: remat-translate --remat-to-cuda --prelude=false %s | FileCheck %s
// CHECK: step 0: slice, {{.*}}, and 4 more
// CHECK: slice(
// CHECK-NEXT: int64 fromPlace, int64 toPlace, int64 fromStride, int64 toStride
// CHECK: copyBox</*T=*/float, /*Index=*/int, /*Count=*/4, /*N=*/4,
// CHECK-NOT: __global__
func.func @main(%x: tensor<4x8xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %y: tensor<4x12xf32> {remat.role = #remat.role<input>, remat.name = "y"})
    -> (tensor<4x12xf32> {remat.role = #remat.role<output>, remat.name = "a"}) {
  %0 = remat.slice %x, [0, 4] [4, 4] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = remat.slice %y, [0, 8] [4, 4] : (tensor<4x12xf32>) -> tensor<4x4xf32>
  %2 = remat.concat %0, %1, %0 {dim = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x12xf32>
  return %2 : tensor<4x12xf32>
}
