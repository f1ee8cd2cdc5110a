// The target is an attribute of the function, which all later passes ask.
// RUN: split-file %s %t
// RUN: remat-opt %t/none.mlir --remat-set-target="device=cuda attention=own" | FileCheck %s --check-prefix=OWN
// RUN: remat-opt %t/none.mlir --remat-set-target="device=cuda arch=sm_100" | FileCheck %s --check-prefix=ARCH
// RUN: remat-opt %t/none.mlir --remat-set-target=device=host | FileCheck %s --check-prefix=HOST
// RUN: remat-opt %t/none.mlir --remat-set-target | FileCheck %s --check-prefix=HOST
// RUN: remat-opt %t/cuda.mlir --remat-set-target | FileCheck %s --check-prefix=KEPT
// RUN: remat-opt %t/cuda.mlir --remat-set-target="device=cuda arch=sm_80" | FileCheck %s --check-prefix=KEPT

// Whether libraries may add in any order; the host never does.
// RUN: remat-opt %t/none.mlir --remat-set-target="device=cuda deterministic=false" | FileCheck %s --check-prefix=ORDER
// RUN: remat-opt %t/none.mlir --remat-set-target="device=cuda deterministic=true" | FileCheck %s --check-prefix=REPEATS
// RUN: remat-opt %t/none.mlir --remat-set-target="device=host deterministic=false" | FileCheck %s --check-prefix=HOST
// ORDER: attributes {remat.target = #remat.target<cuda, arch = "sm_90", deterministic = false>} {
// REPEATS: attributes {remat.target = #remat.target<cuda, arch = "sm_90">} {

// Ranks are the axes that have more than one.
// RUN: remat-opt %t/none.mlir --remat-set-target="data=4 tensor=2" | FileCheck %s --check-prefix=RANKS
// RUN: remat-opt %t/none.mlir --remat-set-target="data=1 tensor=2" | FileCheck %s --check-prefix=TENSOR
// RANKS: attributes {remat.mesh = #remat.mesh<data = 4, tensor = 2>}
// TENSOR: attributes {remat.mesh = #remat.mesh<tensor = 2>}

// OWN: func.func @main({{.*}} attributes {remat.target = #remat.target<cuda, arch = "sm_90", attention = own>} {
// ARCH: attributes {remat.target = #remat.target<cuda, arch = "sm_100">} {
// The host is what no attribute means.
// HOST: func.func @main
// HOST-NOT: remat.target
// KEPT: attributes {remat.target = #remat.target<cuda, arch = "sm_80", attention = cudnn>}

// A graph that names its target needs no option: only CUDA has cuBLASLt.
// RUN: remat-opt %t/cuda.mlir --remat-print-cost -o /dev/null | FileCheck %s --check-prefix=COST
// COST: cost of @main on cuda
// COST-NEXT: matmul: {{.*}} cublaslt
// RUN: remat-opt %t/cuda.mlir --remat-pipeline="optimizer=none" | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: remat.target = #remat.target<cuda, arch = "sm_80", attention = cudnn>
// PIPELINE: remat.matmul {{.*}} {remat.choice = #remat.kernel<cublaslt, microseconds = {{[0-9.e+]+}}>,

//--- none.mlir
func.func @main(%x: tensor<4x4xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4x4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

//--- cuda.mlir
func.func @main(%x: tensor<4x4xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4x4xf32> {remat.role = #remat.role<output>, remat.name = "y"})
    attributes {remat.target = #remat.target<cuda, attention = cudnn, arch = "sm_80">} {
  %0 = remat.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
