// Operands that repeat: a row, a column, a scalar, the middle dimension, and a
// row that is shorter than an access of 16 bytes.
// REQUIRES: nvrtc
// RUN: remat-opt --remat-fuse %s -o - | remat-translate --remat-to-cuda --prelude=false --compile-for=sm_90 | diff -u %S/golden/pointwise-broadcast.cu -
func.func @main(%x: tensor<4x6x32xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %row: tensor<32xf32> {remat.role = #remat.role<input>, remat.name = "row"},
                %column: tensor<4x1x1xf32> {remat.role = #remat.role<input>, remat.name = "column"},
                %middle: tensor<6x1xf32> {remat.role = #remat.role<input>, remat.name = "middle"},
                %ends: tensor<4x1x32xf32> {remat.role = #remat.role<input>, remat.name = "ends"},
                %scalar: tensor<f32> {remat.role = #remat.role<input>, remat.name = "scalar"},
                %s: tensor<5x6xf32> {remat.role = #remat.role<input>, remat.name = "s"},
                %short: tensor<6xf32> {remat.role = #remat.role<input>, remat.name = "short"})
    -> (tensor<4x6x32xf32> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<5x6xf32> {remat.role = #remat.role<output>, remat.name = "b"}) {
  %0 = remat.mul %x, %row : (tensor<4x6x32xf32>, tensor<32xf32>) -> tensor<4x6x32xf32>
  %1 = remat.add %0, %column : (tensor<4x6x32xf32>, tensor<4x1x1xf32>) -> tensor<4x6x32xf32>
  %2 = remat.mul %1, %middle : (tensor<4x6x32xf32>, tensor<6x1xf32>) -> tensor<4x6x32xf32>
  %3 = remat.add %2, %ends : (tensor<4x6x32xf32>, tensor<4x1x32xf32>) -> tensor<4x6x32xf32>
  %4 = remat.mul %3, %scalar : (tensor<4x6x32xf32>, tensor<f32>) -> tensor<4x6x32xf32>
  %5 = remat.add %s, %short : (tensor<5x6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  return %4, %5 : tensor<4x6x32xf32>, tensor<5x6xf32>
}
