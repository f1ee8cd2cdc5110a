// RUN: remat-opt %s -remat-print-cost -o /dev/null | FileCheck %s

// CHECK: cost of @main on host
// 2 * 16 * 32 * 8 = 8192 flops; 4 * (16*32 + 32*8 + 16*8) = 3584 bytes. The host
// moves 10 bytes a nanosecond: 0.5 us for the launch + 0.358 us.
// CHECK-NEXT: matmul: 8192 flops, 3584 bytes, 0.858 us own workspace 0
// A view costs nothing.
// CHECK-NEXT: reshape: 0 flops, 0 bytes, 0.000 us own workspace 0
// CHECK-NEXT: exp: 128 flops, 1024 bytes, 0.602 us own workspace 0
// A gather reads its ids (64 bytes) and its rows, not the table: 64 + 2 * 1024.
// CHECK-NEXT: embedding: 0 flops, 2112 bytes
// Bytes of a constant that is no splat are there from the start.
// CHECK-NEXT: constant: 0 flops, 0 bytes, 0.000 us
func.func @main(%x: tensor<16x32xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<32x8xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
                %ids: tensor<8xi64> {remat.role = #remat.role<input>, remat.name = "ids"}) {
  %0 = remat.matmul %x, %w : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
  %1 = remat.reshape %0 : tensor<16x8xf32> to tensor<128xf32>
  %2 = remat.exp %1 : tensor<128xf32>
  %3 = remat.embedding %ids, %x : (tensor<8xi64>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %4 = remat.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return
}
