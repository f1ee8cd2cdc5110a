// RUN: remat-opt %s -remat-pipeline="device=cuda arch=sm_80" | FileCheck %s
// RUN: remat-opt %s -remat-pipeline="device=cuda arch=sm_80 budget=300000" | FileCheck %s --check-prefix=LEAN
// RUN: remat-opt %s -remat-pipeline="device=cuda arch=sm_80 budget=300000" --remarks-filter=remat-plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not remat-opt %s -remat-pipeline="device=cuda arch=sm_80 budget=296959" 2>&1 | FileCheck %s --check-prefix=REFUSED

// cuDNN's backward of attention keeps, for each example, 128 rows of 64
// f32 and a number a row: 32768 + 512; and 512 once. Two examples at a time need
// 67072 bytes, one at a time 33792. The values take: grad and output 2*128*64*2 =
// 32768 each, q, k, v and their gradient 98304 each, lse 1024; in all 263168.

// CHECK: remat.arena_bytes = 330240 : i64
// CHECK: remat.attention_backward
// CHECK-SAME: remat.choice = #remat.kernel<cudnn, microseconds = {{[0-9.e+]+}}, workspace = 67072>
// CHECK-SAME: remat.workspace = array<i64: {{[0-9]+}}, 67072>

// The slower kernel is no recomputation; it is a decision with a remark.
// LEAN: remat.arena_bytes = 296960 : i64
// LEAN: remat.attention_backward
// LEAN-SAME: remat.choice = #remat.kernel<cudnn, microseconds = {{[0-9.e+]+}}, workspace = 33792, slices = 2, launches = 2>
// LEAN-SAME: remat.workspace = array<i64: {{[0-9]+}}, 33792>
// REMARK: workspace.mlir:{{[0-9]+}}:{{[0-9]+}}: remark: [Passed] choose | Category:remat-plan
// REMARK-SAME: Choice=cudnn/2

// REFUSED: error: budget of 296959 bytes is refused: the smallest peak found is 296960 bytes, 330240 without recomputation
// REFUSED: note: its workspace takes 33792 bytes
func.func @main(%grad: tensor<2x128x1x64xbf16> {remat.role = #remat.role<input>, remat.name = "grad"},
                %qkv: tensor<2x128x3x1x64xbf16> {remat.role = #remat.role<input>, remat.name = "qkv"},
                %out: tensor<2x128x1x64xbf16> {remat.role = #remat.role<input>, remat.name = "out"},
                %lse: tensor<2x1x128xf32> {remat.role = #remat.role<input>, remat.name = "lse"})
    -> (tensor<2x128x3x1x64xbf16> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.attention_backward %grad qkv %qkv output %out, %lse
      : (tensor<2x128x1x64xbf16>, tensor<2x128x3x1x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x1x128xf32>)
      -> tensor<2x128x3x1x64xbf16>
  return %0 : tensor<2x128x3x1x64xbf16>
}
