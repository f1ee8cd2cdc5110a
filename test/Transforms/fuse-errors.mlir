// RUN: not remat-opt --remat-fuse=mode=sideways %s 2>&1 | FileCheck %s
// CHECK: error: no such mode of remat-fuse: 'sideways'; 'before-plan' and 'after-plan' are known
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
