// Four neighbouring elements of 4 bytes a thread: one access of 16 bytes.
// REQUIRES: nvrtc
// RUN: remat-opt --remat-fuse %s -o - | remat-translate --remat-to-cuda --prelude=false --compile-for=sm_80,sm_86,sm_89,sm_90,sm_100,sm_120 | diff -u %S/golden/pointwise-f32.cu -
func.func @main(%x: tensor<64x96xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %y: tensor<64x96xf32> {remat.role = #remat.role<input>, remat.name = "y"})
    -> (tensor<64x96xf32> {remat.role = #remat.role<output>, remat.name = "z"}) {
  %c = remat.constant dense<0.1> : tensor<f32>
  %0 = remat.mul %x, %y : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %1 = remat.add %0, %c : (tensor<64x96xf32>, tensor<f32>) -> tensor<64x96xf32>
  %2 = remat.gelu %1 : tensor<64x96xf32>
  return %2 : tensor<64x96xf32>
}
