// Memory that was assigned for one target is no program of another one.
// RUN: split-file %s %t
// RUN: remat-opt --remat-assign-memory %t/matmul.mlir | sed 's/attributes {/attributes {remat.target = #remat.target<cuda, arch = "sm_90">, /' \
// RUN:   | not remat-translate --remat-to-program --compile-kernels=false 2>&1 | FileCheck %s --check-prefix=CHOICE
// RUN: remat-opt --remat-assign-memory %t/mse.mlir | sed 's/attributes {/attributes {remat.target = #remat.target<cuda, arch = "sm_90">, /' \
// RUN:   | not remat-translate --remat-to-program --compile-kernels=false 2>&1 | FileCheck %s --check-prefix=WORKSPACE
// RUN: remat-opt --remat-set-target=device=cuda --remat-assign-memory %t/matmul.mlir | sed 's/, remat.target = [^>]*>//' \
// RUN:   | not remat-translate --remat-to-program 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: remat-opt --remat-set-target=device=cuda --remat-assign-memory %t/matmul.mlir | sed 's/<cublaslt, .*>, remat.offsets/<cudnn, microseconds = 1.0>, remat.offsets/' \
// RUN:   | not remat-translate --remat-to-program 2>&1 | FileCheck %s --check-prefix=OTHER

// CHOICE: error: 'remat.matmul' op says no kernel, and on #remat.target<cuda, arch = "sm_90"> cublaslt runs it
// CHOICE: note: assign memory for the target that emits
// 64 * 512 = 32768 squares are summed in parts of 8192: 4 partial sums of 4 bytes.
// WORKSPACE: error: 'remat.mse' op has a workspace of 0 bytes, on #remat.target<cuda, arch = "sm_90"> its kernel takes 16
// WORKSPACE: note: assign memory for the target that emits
// HOST: error: 'remat.matmul' op is to be run by #remat.kernel<cublaslt, microseconds = {{[0-9.e+]+}}>, which #remat.target<host> does not have for it
// HOST: note: its best is #remat.kernel<own, microseconds = {{[0-9.e+-]+}}>; plan and assign memory for the target that emits
// OTHER: error: 'remat.matmul' op is to be run by #remat.kernel<cudnn, microseconds = 1.000000e+00>, which #remat.target<cuda, arch = "sm_90"> does not have for it

//--- matmul.mlir
func.func @main(%x: tensor<4x4xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4x4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

//--- mse.mlir
func.func @main(%x: tensor<64x512xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %t: tensor<64x512xf32> {remat.role = #remat.role<input>, remat.name = "t"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.mse %x, %t : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
