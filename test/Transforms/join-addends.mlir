// The product writes 64x128 numbers, which the addition would read and write
// again: the product adds the residual to what it writes.
// RUN: remat-opt %s --remat-set-target=device=cuda --remat-join-addends | FileCheck %s
// RUN: remat-opt %s --remat-join-addends | FileCheck %s --check-prefix=HOST
// HOST-LABEL: func.func @main
// HOST: remat.add %arg3, %
// HOST-LABEL: func.func @reshaped
// HOST: remat.add

// CHECK-LABEL: func.func @main
// CHECK: %[[SUM:.*]] = remat.matmul %arg0, %arg1 bias %arg2 add %arg3 : (tensor<64x256xbf16>, tensor<256x128xbf16>, tensor<128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
// CHECK-NEXT: return %[[SUM]]
func.func @main(%x: tensor<64x256xbf16>, %w: tensor<256x128xbf16>, %b: tensor<128xbf16>, %residual: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  %0 = remat.matmul %x, %w bias %b : (tensor<64x256xbf16>, tensor<256x128xbf16>, tensor<128xbf16>) -> tensor<64x128xbf16>
  %1 = remat.add %residual, %0 : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  return %1 : tensor<64x128xbf16>
}

// Through a reshape: 64 rows of 128 are 4 times 16 of them.
// CHECK-LABEL: func.func @reshaped
// CHECK: %[[FLAT:.*]] = remat.reshape %arg2 : tensor<4x16x128xf32> to tensor<64x128xf32>
// CHECK: %[[SUM:.*]] = remat.matmul %arg0, %arg1 add %[[FLAT]]
// CHECK: %[[WIDE:.*]] = remat.reshape %[[SUM]] : tensor<64x128xf32> to tensor<4x16x128xf32>
// CHECK-NEXT: return %[[WIDE]]
func.func @reshaped(%x: tensor<64x256xf32>, %w: tensor<256x128xf32>, %residual: tensor<4x16x128xf32>) -> tensor<4x16x128xf32> {
  %0 = remat.matmul %x, %w : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %1 = remat.reshape %0 : tensor<64x128xf32> to tensor<4x16x128xf32>
  %2 = remat.add %1, %residual : (tensor<4x16x128xf32>, tensor<4x16x128xf32>) -> tensor<4x16x128xf32>
  return %2 : tensor<4x16x128xf32>
}

// Three products, as of the gradient of what queries, keys and values are made
// of: each adds the one before.
// CHECK-LABEL: func.func @sum
// CHECK: %[[A:.*]] = remat.matmul %arg0, %arg1 : (tensor
// CHECK: %[[B:.*]] = remat.matmul %arg0, %arg2 add %[[A]]
// CHECK: %[[C:.*]] = remat.matmul %arg0, %arg3 add %[[B]]
// CHECK-NOT: remat.add
// CHECK: remat.softmax %[[C]]
func.func @sum(%x: tensor<8x8xf32>, %u: tensor<8x8xf32>, %v: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = remat.matmul %x, %u : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = remat.matmul %x, %v : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = remat.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = remat.add %0, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = remat.add %3, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = remat.softmax %4 : tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}

// The sum of slices: a kernel that reads it would read one tensor more for each
// of them.
// CHECK-LABEL: func.func @slices
// CHECK: %[[A:.*]] = remat.matmul %arg0, %arg1 : (tensor
// CHECK: %[[B:.*]] = remat.matmul %arg0, %arg2 add %[[A]]
// CHECK: %[[C:.*]] = remat.matmul %arg0, %arg3 add %[[B]]
// CHECK: remat.exp %[[C]]
func.func @slices(%x: tensor<8x8xf32>, %u: tensor<8x8xf32>, %v: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = remat.matmul %x, %u : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = remat.matmul %x, %v : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = remat.add %0, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = remat.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = remat.add %2, %3 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = remat.exp %4 : tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}

// What is added is made behind the product, which moves there.
// CHECK-LABEL: func.func @behind
// CHECK: %[[S:.*]] = remat.softmax %arg0
// CHECK-NEXT: remat.matmul %arg0, %arg0 add %[[S]]
func.func @behind(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = remat.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = remat.softmax %x : tensor<8x8xf32>
  %2 = remat.add %0, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// The addition stays where somebody else reads the product (%0), where it is
// repeated over rows (%2), where a kernel makes the sum with its reader (%5) or
// with the addend (%8), where the product adds already (%11), and where a user
// keeps the product (%13).
// CHECK-LABEL: func.func @others
// CHECK-COUNT-6: remat.add
func.func @others(%x: tensor<8x8xf32>, %row: tensor<8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = remat.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = remat.add %0, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = remat.matmul %x, %x {transpose_lhs} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = remat.add %2, %row : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %4 = remat.matmul %x, %x {transpose_rhs} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = remat.add %4, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = remat.relu %5 : tensor<8x8xf32>
  %7 = remat.exp %x : tensor<8x8xf32>
  %8 = remat.matmul %x, %x {transpose_lhs, transpose_rhs} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %9 = remat.add %7, %8 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %10 = remat.matmul %1, %x add %x : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %11 = remat.add %10, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %12 = remat.matmul %3, %x {remat.keep = #remat.keep<must>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %13 = remat.add %12, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1, %3, %6, %9, %11, %13 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
