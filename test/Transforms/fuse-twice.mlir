// The second run takes kernels of the first apart where it can make larger
// ones; a third changes nothing.
// RUN: remat-opt --remat-fuse --remat-fuse=mode=after-plan %s | FileCheck %s
// RUN: remat-opt --remat-fuse --remat-fuse=mode=after-plan %s -o %t.1
// RUN: remat-opt --remat-fuse=mode=after-plan %t.1 -o %t.2
// RUN: diff %t.1 %t.2
// CHECK: %{{.*}}:2 = remat.kernel
// CHECK-NEXT: remat.mul
// CHECK-NEXT: remat.constant
// CHECK-NEXT: remat.add
// CHECK-NEXT: remat.exp
// CHECK-NEXT: remat.neg
// CHECK-NEXT: remat.yield
// CHECK-NOT: remat.kernel
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c = remat.constant dense<1.0> : tensor<f32>
  %0 = remat.mul %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = remat.add %0, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = remat.exp %1 : tensor<8xf32>
  %3 = remat.neg %2 : tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}
