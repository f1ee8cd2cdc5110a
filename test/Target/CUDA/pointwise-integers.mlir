// Integers and booleans as themselves; the smallest integers as constants.
// REQUIRES: nvrtc
// RUN: remat-opt --remat-fuse=mode=after-plan %s -o - | remat-translate --remat-to-cuda --prelude=false --compile-for=sm_90 | diff -u %S/golden/pointwise-integers.cu -
func.func @main(%i: tensor<1024xi64> {remat.role = #remat.role<input>, remat.name = "i"},
                %j: tensor<1024xi32> {remat.role = #remat.role<input>, remat.name = "j"},
                %x: tensor<1024xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<1024xi64> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<1024xi1> {remat.role = #remat.role<output>, remat.name = "b"},
        tensor<1024xf32> {remat.role = #remat.role<output>, remat.name = "c"}) {
  %min = remat.constant dense<-9223372036854775808> : tensor<i64>
  %three = remat.constant dense<-3> : tensor<i32>
  %nan = remat.constant dense<0x7FC00000> : tensor<f32>
  %inf = remat.constant dense<0xFF800000> : tensor<f32>
  %0 = remat.div %j, %three : (tensor<1024xi32>, tensor<i32>) -> tensor<1024xi32>
  %1 = remat.cast %0 : tensor<1024xi32> to tensor<1024xi64>
  %2 = remat.max %1, %min : (tensor<1024xi64>, tensor<i64>) -> tensor<1024xi64>
  %3 = remat.add %i, %2 : (tensor<1024xi64>, tensor<1024xi64>) -> tensor<1024xi64>
  %4 = remat.compare <lt> %3, %i : (tensor<1024xi64>, tensor<1024xi64>) -> tensor<1024xi1>
  %5 = remat.select %4, %x, %nan : (tensor<1024xi1>, tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %6 = remat.max %5, %inf : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
  return %3, %4, %6 : tensor<1024xi64>, tensor<1024xi1>, tensor<1024xf32>
}
