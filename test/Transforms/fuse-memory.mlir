// A merge that would keep more bytes alive is refused. Here %wide dies at the
// cast; fused into the last operation it would live across the matrix product,
// where only the narrow value did; and it cannot move up, since it reads the product.
// RUN: remat-opt --remat-fuse %s | FileCheck %s
// RUN: remat-opt --remat-fuse=mode=after-plan %s | FileCheck %s
// CHECK: remat.exp
// CHECK-NEXT: %[[N:.*]] = remat.cast
// CHECK-NEXT: remat.matmul
// CHECK-NEXT: remat.add %[[N]]
func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
  %t = remat.transpose %x, [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %wide = remat.softmax %t : tensor<64x64xf32>
  %e = remat.reduce <sum> %wide, [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %f = remat.exp %e : tensor<64xf32>
  %narrow = remat.cast %wide : tensor<64x64xf32> to tensor<64x64xbf16>
  %0 = remat.matmul %y, %y : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %1 = remat.add %narrow, %0 : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %0, %1 : tensor<64x64xbf16>, tensor<64x64xbf16>
}
