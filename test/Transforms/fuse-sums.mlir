// On CUDA a kernel that writes a large tensor makes its sum over all dimensions
// but the last too, before planning. 4096 x 256 elements are 2^20.
// RUN: remat-opt --remat-set-target=device=cuda --remat-fuse --canonicalize --split-input-file %s | FileCheck %s
// RUN: remat-opt --remat-fuse --split-input-file %s | FileCheck %s --check-prefix=HOST

// HOST-NOT: tensor<256xf32> {

// CHECK-LABEL: func.func @bias
// CHECK: remat.kernel({{.*}}) -> (tensor<64x64x256xf32>, tensor<256xf32>)
// CHECK-NEXT: %[[E:.*]] = remat.exp
// CHECK-NEXT: %[[N:.*]] = remat.neg %[[E]]
// CHECK-NEXT: %[[S:.*]] = remat.reduce <sum> %[[N]], [0, 1]
// CHECK-NEXT: remat.yield %[[N]], %[[S]]
func.func @bias(%x: tensor<64x64x256xf32>) -> (tensor<64x64x256xf32>, tensor<256xf32>) {
  %0 = remat.exp %x : tensor<64x64x256xf32>
  %1 = remat.neg %0 : tensor<64x64x256xf32>
  %2 = remat.reduce <sum> %1, [0, 1] : (tensor<64x64x256xf32>) -> tensor<256xf32>
  return %1, %2 : tensor<64x64x256xf32>, tensor<256xf32>
}

// -----

// The result lies over the operand, which dies there: that the sum is there at
// the same time, 1,024 bytes beside 4 MiB, does not count.
// CHECK-LABEL: func.func @in_place
// CHECK: remat.transpose
// CHECK-NEXT: remat.kernel
// CHECK: remat.reduce
// CHECK: remat.yield
func.func @in_place(%x: tensor<256x4096xf32>) -> (tensor<4096x256xf32>, tensor<256xf32>) {
  %0 = remat.transpose %x, [1, 0] : (tensor<256x4096xf32>) -> tensor<4096x256xf32>
  %1 = remat.exp %0 : tensor<4096x256xf32>
  %2 = remat.reduce <sum> %1, [0] : (tensor<4096x256xf32>) -> tensor<256xf32>
  %3 = remat.reshape %1 : tensor<4096x256xf32> to tensor<256x16x256xf32>
  %4 = remat.transpose %3, [1, 0, 2] : (tensor<256x16x256xf32>) -> tensor<16x256x256xf32>
  %5 = remat.reshape %4 : tensor<16x256x256xf32> to tensor<4096x256xf32>
  return %5, %2 : tensor<4096x256xf32>, tensor<256xf32>
}

// -----

// A kernel with a sum does not become part of another one, which might not store
// what is summed.
// CHECK-LABEL: func.func @read_again
// CHECK: remat.kernel
// CHECK: remat.reduce
// CHECK: remat.yield
// CHECK: remat.sqrt
func.func @read_again(%x: tensor<4096x256xf32>) -> (tensor<4096x256xf32>, tensor<256xf32>) {
  %0 = remat.exp %x : tensor<4096x256xf32>
  %1 = remat.reduce <sum> %0, [0] : (tensor<4096x256xf32>) -> tensor<256xf32>
  %2 = remat.sqrt %0 : tensor<4096x256xf32>
  return %2, %1 : tensor<4096x256xf32>, tensor<256xf32>
}

// -----

// Sums of few elements or columns, over other dimensions, or not sums at all; of
// what nobody else reads, which is not stored then.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: remat.kernel
func.func @apart(%x: tensor<4096x255xf32>, %y: tensor<65536x16xf32>, %z: tensor<4096x256xf32>)
    -> (tensor<4096x255xf32>, tensor<255xf32>, tensor<65536x16xf32>, tensor<16xf32>, tensor<4096x256xf32>, tensor<4096xf32>, tensor<256xf32>, tensor<256xf32>) {
  %0 = remat.exp %x : tensor<4096x255xf32>
  %1 = remat.reduce <sum> %0, [0] : (tensor<4096x255xf32>) -> tensor<255xf32>
  %2 = remat.exp %y : tensor<65536x16xf32>
  %3 = remat.reduce <sum> %2, [0] : (tensor<65536x16xf32>) -> tensor<16xf32>
  %4 = remat.exp %z : tensor<4096x256xf32>
  %5 = remat.reduce <sum> %4, [1] : (tensor<4096x256xf32>) -> tensor<4096xf32>
  %6 = remat.reduce <mean> %4, [0] : (tensor<4096x256xf32>) -> tensor<256xf32>
  %7 = remat.neg %z : tensor<4096x256xf32>
  %8 = remat.reduce <sum> %7, [0] : (tensor<4096x256xf32>) -> tensor<256xf32>
  return %0, %1, %2, %3, %4, %5, %6, %8 : tensor<4096x255xf32>, tensor<255xf32>, tensor<65536x16xf32>, tensor<16xf32>, tensor<4096x256xf32>, tensor<4096xf32>, tensor<256xf32>, tensor<256xf32>
}
