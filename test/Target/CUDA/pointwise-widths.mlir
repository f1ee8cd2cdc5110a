// Mixed element types: the narrowest full one sets the elements a thread has;
// every value inside is rounded to its own type.
// REQUIRES: nvrtc
// RUN: remat-opt --remat-fuse=mode=after-plan %s -o - | remat-translate --remat-to-cuda --prelude=false --compile-for=sm_90 | diff -u %S/golden/pointwise-widths.cu -
func.func @main(%x: tensor<256x64xbf16> {remat.role = #remat.role<input>, remat.name = "x"},
                %y: tensor<256x64xf32> {remat.role = #remat.role<input>, remat.name = "y"},
                %h: tensor<64xf16> {remat.role = #remat.role<input>, remat.name = "h"})
    -> (tensor<256x64xf32> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<256x64xbf16> {remat.role = #remat.role<output>, remat.name = "b"}) {
  %0 = remat.silu %x : tensor<256x64xbf16>
  %1 = remat.cast %0 : tensor<256x64xbf16> to tensor<256x64xf32>
  %2 = remat.add %1, %y : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %3 = remat.broadcast %h : tensor<64xf16> to tensor<256x64xf16>
  %4 = remat.cast %3 : tensor<256x64xf16> to tensor<256x64xf32>
  %5 = remat.mul %2, %4 : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %6 = remat.cast %5 : tensor<256x64xf32> to tensor<256x64xbf16>
  return %5, %6 : tensor<256x64xf32>, tensor<256x64xbf16>
}
