// Sizes that no vector divides, and a kernel of one element.
// REQUIRES: nvrtc
// RUN: remat-opt --remat-fuse %s -o - | remat-translate --remat-to-cuda --prelude=false --compile-for=sm_90 | diff -u %S/golden/pointwise-odd.cu -
func.func @main(%x: tensor<7x11xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %n: tensor<i64> {remat.role = #remat.role<input>, remat.name = "n"})
    -> (tensor<7x11xf32> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<i64> {remat.role = #remat.role<output>, remat.name = "b"}) {
  %0 = remat.tanh %x : tensor<7x11xf32>
  %one = remat.constant dense<1> : tensor<i64>
  %1 = remat.add %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %0, %1 : tensor<7x11xf32>, tensor<i64>
}
