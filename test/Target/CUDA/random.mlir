// One Philox call draws the words of four elements; an id is an argument, so
// that one kernel serves every dropout of a shape.
// REQUIRES: nvrtc
// RUN: remat-opt --remat-fuse %s -o - | remat-translate --remat-to-cuda --prelude=false --compile-for=sm_90 | diff -u %S/golden/random.cu -
func.func @main(%x: tensor<32x64xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %y: tensor<32x64xf32> {remat.role = #remat.role<input>, remat.name = "y"},
                %odd: tensor<9xf32> {remat.role = #remat.role<input>, remat.name = "odd"},
                %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
                %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<32x64xf32> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<32x64xf32> {remat.role = #remat.role<output>, remat.name = "b"},
        tensor<9xf32> {remat.role = #remat.role<output>, remat.name = "c"},
        tensor<16xf32> {remat.role = #remat.role<output>, remat.name = "d"},
        tensor<16xbf16> {remat.role = #remat.role<output>, remat.name = "e"}) {
  %0 = remat.dropout %x, %seed, %step {p = 0.1 : f64, id = 1 : i64} : tensor<32x64xf32>
  %1 = remat.add %0, %y : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = remat.dropout %y, %seed, %step {p = 0.1 : f64, id = 2 : i64} : tensor<32x64xf32>
  %3 = remat.add %2, %x : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %4 = remat.dropout %odd, %seed, %step {p = 0.5 : f64, id = 3 : i64} : tensor<9xf32>
  %5 = remat.random <normal> %seed, %step {id = 4 : i64} : tensor<16xf32>
  %6 = remat.random <uniform> %seed, %step {id = 5 : i64} : tensor<16xbf16>
  return %1, %3, %4, %5, %6 : tensor<32x64xf32>, tensor<32x64xf32>, tensor<9xf32>, tensor<16xf32>, tensor<16xbf16>
}
