// What no CUDA kernel and no library runs is refused at its line when it is
// planned or memory is assigned. The pipeline casts such a bias and takes such a
// kernel apart.
// REQUIRES: nvrtc
// RUN: split-file %s %t
// RUN: not remat-opt --remat-set-target=device=cuda --remat-assign-memory %t/bias.mlir 2>&1 | FileCheck %s --check-prefix=BIAS
// RUN: remat-run %t/bias.mlir --device cuda --compile-only
// RUN: not remat-opt --remat-set-target=device=cuda --remat-plan %t/rows.mlir 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: remat-run %t/rows.mlir --device cuda --compile-only
// RUN: not remat-run %t/heads.mlir --device cuda --compile-only 2>&1 | FileCheck %s --check-prefix=HEADS
// RUN: remat-run %t/heads.mlir --steps 1
// RUN: not remat-run %t/blocks.mlir --device cuda --compile-only 2>&1 | FileCheck %s --check-prefix=BLOCKS
// BIAS: error: 'remat.matmul' op cannot run on CUDA: no kernel adds a bias 'tensor<4xbf16>' to a result 'tensor<8x4xf32>'
// BIAS: note: cast the bias to 'f32'
// ROWS: error: 'remat.kernel' op cannot run on CUDA: no kernel takes 'tensor<4x8xf32>'
// ROWS: note: run --canonicalize, which takes a kernel apart that is not elementwise over one shape

// 16 rows of four tiles, 387 + 1 numbers each, and of two squares of 17 take
// (4 * 16 * 388 + 2 * 16 * 17) * 4 = 101504 bytes, more than the 101376 of a block.
// HEADS: heads.mlir:2:14: error: 'remat.attention' op cannot run on CUDA: heads of 387 elements of 'f32', where kernels take 386
// HEADS: note: matmul and softmax take heads of any width

// 2^44 elements of 4 bytes, 4 to a thread, 256 threads to a block: 2^34 blocks.
// BLOCKS: blocks.mlir:2:8: error: 'remat.neg' op cannot run on CUDA: its kernel has 17179869184 blocks, more than the 2147483647 of one launch

//--- bias.mlir
func.func @main(
    %x: tensor<8x16xbf16> {remat.role = #remat.role<input>, remat.name = "x"},
    %w: tensor<16x4xbf16> {remat.role = #remat.role<input>, remat.name = "w"},
    %b: tensor<4xbf16> {remat.role = #remat.role<input>, remat.name = "b"})
    -> (tensor<8x4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %y = remat.matmul %x, %w bias %b : (tensor<8x16xbf16>, tensor<16x4xbf16>, tensor<4xbf16>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

//--- rows.mlir
func.func @main(%x: tensor<4x8xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %y = remat.kernel(%a = %x : tensor<4x8xf32>) -> tensor<4xf32> {
    %0 = remat.exp %a : tensor<4x8xf32>
    %1 = remat.reduce <sum> %0, [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    remat.yield %1 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

//--- heads.mlir
func.func @main(%q: tensor<1x4x3x1x387xf32> {remat.role = #remat.role<input>, remat.name = "q"}) -> (tensor<1x4x1x387xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %y, %lse = remat.attention %q : (tensor<1x4x3x1x387xf32>) -> (tensor<1x4x1x387xf32>, tensor<1x1x4xf32>)
  return %y : tensor<1x4x1x387xf32>
}

//--- blocks.mlir
func.func @main(%x: tensor<17592186044416xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<17592186044416xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %y = remat.neg %x : tensor<17592186044416xf32>
  return %y : tensor<17592186044416xf32>
}
