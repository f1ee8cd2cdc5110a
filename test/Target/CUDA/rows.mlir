// Elementwise neighbours of row operations, which have kernels of their own.
// REQUIRES: nvrtc
// RUN: remat-opt --remat-fuse=mode=after-plan %s -o - | remat-translate --remat-to-cuda --compile-for=sm_90 | FileCheck %s
// CHECK: // add, dropout over 6x96
// CHECK: // mul, silu, cast over 6x96
func.func @main(%x: tensor<6x96xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %bias: tensor<96xf32> {remat.role = #remat.role<input>, remat.name = "bias"},
                %scale: tensor<96xf32> {remat.role = #remat.role<input>, remat.name = "scale"},
                %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
                %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<6x96xbf16> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<6x1xf32> {remat.role = #remat.role<output>, remat.name = "b"}) {
  %0 = remat.add %x, %bias : (tensor<6x96xf32>, tensor<96xf32>) -> tensor<6x96xf32>
  %1 = remat.dropout %0, %seed, %step {p = 0.2 : f64, id = 11 : i64} : tensor<6x96xf32>
  %2, %mean, %rstd = remat.layer_norm %1, %scale, %bias : (tensor<6x96xf32>, tensor<96xf32>, tensor<96xf32>) -> (tensor<6x96xf32>, tensor<6xf32>, tensor<6xf32>)
  %3 = remat.softmax %2 : tensor<6x96xf32>
  %4 = remat.reduce <max> %3, [1] {keep_dims} : (tensor<6x96xf32>) -> tensor<6x1xf32>
  %5 = remat.mul %3, %4 : (tensor<6x96xf32>, tensor<6x1xf32>) -> tensor<6x96xf32>
  %6 = remat.silu %5 : tensor<6x96xf32>
  %7 = remat.cast %6 : tensor<6x96xf32> to tensor<6x96xbf16>
  return %7, %4 : tensor<6x96xbf16>, tensor<6x1xf32>
}
