// RUN: split-file %s %t
// RUN: not remat-opt %t/none.mlir --remat-set-target=device=tpu 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not remat-opt %t/none.mlir --remat-set-target="device=cuda arch=90" 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not remat-opt %t/none.mlir --remat-set-target="device=cuda attention=best" 2>&1 | FileCheck %s --check-prefix=ATTENTION
// RUN: not remat-opt %t/none.mlir --remat-set-target="device=cuda deterministic=off" 2>&1 | FileCheck %s --check-prefix=DETERMINISTIC
// RUN: not remat-opt %t/any-order.mlir --remat-set-target=deterministic=true 2>&1 | FileCheck %s --check-prefix=ANY-ORDER
// RUN: not remat-opt %t/cuda.mlir --remat-set-target=device=host 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not remat-opt %t/cuda.mlir --remat-set-target=arch=sm_90 2>&1 | FileCheck %s --check-prefix=OTHER-ARCH
// RUN: not remat-opt %t/none.mlir --remat-assign-memory --remat-set-target=device=cuda 2>&1 | FileCheck %s --check-prefix=ASSIGNED
// RUN: not remat-opt %t/mesh.mlir --remat-set-target=tensor=4 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not remat-run %t/cuda.mlir --device host --compile-only 2>&1 | FileCheck %s --check-prefix=OTHER

// MESH: mesh.mlir:1:1: error: the graph is for ranks #remat.mesh<tensor = 2>, not for #remat.mesh<tensor = 4>
// DEVICE: none.mlir:1:1: error: unknown device 'tpu': use host or cuda
// ARCH: none.mlir:1:1: error: expected a CUDA architecture such as sm_90, got '90'
// ATTENTION: none.mlir:1:1: error: unknown attention kernels 'best': use auto, cudnn or own
// DETERMINISTIC: none.mlir:1:1: error: expected true or false for deterministic, got 'off'
// ANY-ORDER: any-order.mlir:1:1: error: the graph is for #remat.target<cuda, arch = "sm_90", deterministic = false>, not for #remat.target<cuda, arch = "sm_90">
// OTHER: cuda.mlir:1:1: error: the graph is for #remat.target<cuda, arch = "sm_80">, not for #remat.target<host>
// OTHER-ARCH: cuda.mlir:1:1: error: the graph is for #remat.target<cuda, arch = "sm_80">, not for #remat.target<cuda, arch = "sm_90">
// ASSIGNED: none.mlir:1:1: error: memory is assigned for #remat.target<host>, not for #remat.target<cuda, arch = "sm_90">
// ASSIGNED: note: set the target before remat-plan and remat-assign-memory

//--- none.mlir
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- any-order.mlir
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"})
    attributes {remat.target = #remat.target<cuda, arch = "sm_90", deterministic = false>} {
  %0 = remat.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- mesh.mlir
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"})
    attributes {remat.mesh = #remat.mesh<tensor = 2>} {
  %0 = remat.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- cuda.mlir
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"})
    attributes {remat.target = #remat.target<cuda, arch = "sm_80">} {
  %0 = remat.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
