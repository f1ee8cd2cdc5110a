// A program for a GPU: launches with their arguments, source text and cubin; a
// matrix product has no launch, a library runs it.
// REQUIRES: nvrtc
// RUN: remat-opt --remat-set-target=device=cuda --remat-fuse --remat-assign-memory %s -o %t.mlir
// RUN: remat-translate --remat-to-program %t.mlir -o %t.remat
// RUN: remat-translate --program-to-text %t.remat | FileCheck %s
// RUN: remat-translate --remat-to-program --compile-kernels=false %t.mlir | remat-translate --program-to-text | FileCheck %s --check-prefix=TEXT
// RUN: sed s/sm_90/sm_91/ %t.mlir | not remat-translate --remat-to-program 2>&1 | FileCheck %s --check-prefix=ARCH
// CHECK: program version 1 device "cuda" arch "sm_90"
// CHECK: step 0: %[[H:[0-9]+]] = "matmul" {{.*}} kernel CublasLt
// CHECK-NEXT: step 1: %[[Y:[0-9]+]] = "kernel" %[[H]], %2, %3
// CHECK: yields
// CHECK-NEXT: launch kernel 0 grid (1, 1, 1) block (32, 1, 1) shared 0 arguments (%[[H]], %2, %3, 9, %[[Y]])
// CHECK: step 2: %[[Z:[0-9]+]] = "softmax" %[[Y]]
// CHECK-NEXT: launch kernel 1 {{.*}} arguments (%[[Y]], %[[Z]])
// CHECK: kernel 0 "add_dropout_4x8"
// CHECK: kernel 1 "softmax
// CHECK-NEXT: kernels wait for those before them
// CHECK: cuda source of {{[1-9][0-9]*}} bytes, cubins of {{[1-9][0-9]*}} bytes
// TEXT: cuda source of {{[1-9][0-9]*}} bytes, cubins of 0 bytes
// ARCH: error: kernels do not compile for 'sm_91': no such architecture: 'sm_91'; known are sm_80, sm_86, sm_89, sm_90, sm_100, sm_120
func.func @main(%x: tensor<4x8xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<8x8xf32> {remat.role = #remat.role<input>, remat.name = "w"},
                %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
                %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<4x8xf32> {remat.role = #remat.role<output>, remat.name = "a"}) {
  %c = remat.constant dense<0.5> : tensor<f32>
  %0 = remat.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = remat.add %0, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = remat.dropout %1, %seed, %step {p = 0.5 : f64, id = 9 : i64} : tensor<4x8xf32>
  %3 = remat.softmax %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
