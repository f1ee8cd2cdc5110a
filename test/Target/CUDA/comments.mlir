// Names from a graph reach a comment as one line of plain characters.
// REQUIRES: nvrtc
// RUN: remat-translate --remat-to-cuda --prelude=false --compile-for=sm_90 %s | FileCheck %s
// CHECK: {{^}}// step 0: exp, a__/ b__ #error__/ c____x:1:2{{$}}
// CHECK-NEXT: {{^}}// exp over 512.
func.func @main(%x: tensor<512xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<512xf32> {remat.role = #remat.role<output>, remat.name = "a"}) {
  %0 = remat.exp %x : tensor<512xf32> loc("a\\*/ b\0A\22 #error??/ c\09\01\FF\5Cx":1:2)
  return %0 : tensor<512xf32>
}
