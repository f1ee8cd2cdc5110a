// Before planning a group has one result: what another operation reads stays a
// value of its own. After planning it is a second result.
// RUN: remat-opt --remat-fuse %s | FileCheck %s --check-prefix=BEFORE
// RUN: remat-opt --remat-fuse=mode=after-plan %s | FileCheck %s --check-prefix=AFTER
// BEFORE: remat.mul
// BEFORE-NEXT: remat.exp
// BEFORE-NOT: remat.kernel
// AFTER: %[[K:.*]]:2 = remat.kernel
// AFTER: remat.yield %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>
// AFTER: return %[[K]]#0, %[[K]]#1
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = remat.mul %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = remat.exp %0 : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
