// Rolls inside of kernels: of halves of the last dimension, which are runs of 8
// elements; by an odd number, which a thread then loads one by one; of another
// dimension; and one alone.
// REQUIRES: nvrtc
// RUN: remat-opt --remat-fuse %s -o - | remat-translate --remat-to-cuda --prelude=false --compile-for=sm_90 | diff -u %S/golden/pointwise-rolls.cu -
func.func @main(%x: tensor<4x6x32xbf16> {remat.role = #remat.role<input>, remat.name = "x"},
                %y: tensor<6x10xf32> {remat.role = #remat.role<input>, remat.name = "y"},
                %z: tensor<6x12xi32> {remat.role = #remat.role<input>, remat.name = "z"},
                %cos: tensor<6x32xbf16> {remat.role = #remat.role<input>, remat.name = "cos"},
                %sin: tensor<6x32xbf16> {remat.role = #remat.role<input>, remat.name = "sin"})
    -> (tensor<4x6x32xbf16> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<6x10xf32> {remat.role = #remat.role<output>, remat.name = "b"},
        tensor<6x12xi32> {remat.role = #remat.role<output>, remat.name = "c"}) {
  %0 = remat.mul %x, %cos : (tensor<4x6x32xbf16>, tensor<6x32xbf16>) -> tensor<4x6x32xbf16>
  %1 = remat.roll %x {dim = 2 : i64, shift = 16 : i64} : tensor<4x6x32xbf16>
  %2 = remat.mul %1, %sin : (tensor<4x6x32xbf16>, tensor<6x32xbf16>) -> tensor<4x6x32xbf16>
  %3 = remat.add %0, %2 : (tensor<4x6x32xbf16>, tensor<4x6x32xbf16>) -> tensor<4x6x32xbf16>
  %4 = remat.roll %y {dim = 1 : i64, shift = 3 : i64} : tensor<6x10xf32>
  %5 = remat.roll %y {dim = 0 : i64, shift = 5 : i64} : tensor<6x10xf32>
  %6 = remat.sub %4, %5 : (tensor<6x10xf32>, tensor<6x10xf32>) -> tensor<6x10xf32>
  %7 = remat.roll %z {dim = 0 : i64, shift = 1 : i64} : tensor<6x12xi32>
  return %3, %6, %7 : tensor<4x6x32xbf16>, tensor<6x10xf32>, tensor<6x12xi32>
}
