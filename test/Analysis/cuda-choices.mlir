// RUN: remat-opt %s "-remat-set-target=device=cuda arch=sm_80" -remat-print-cost -o /dev/null | FileCheck %s
// RUN: remat-opt %s -remat-set-target=device=cuda -remat-print-cost -o /dev/null | FileCheck %s --check-prefix=HOPPER
// RUN: remat-opt %s "-remat-set-target=device=cuda arch=sm_80 deterministic=false" -remat-print-cost -o /dev/null | FileCheck %s --check-prefix=ORDER
// RUN: remat-opt %s "-remat-set-target=device=cuda deterministic=false" -remat-print-cost -o /dev/null | FileCheck %s --check-prefix=FASTER

// In any order the backward adds to one gradient of query, 4 batches x 12 heads x
// (1024 rows x 64 x 4 + 1024 x 4) + 512 bytes, and 12 x (32768 x 64 x 4 + 32768 x
// 4) + 512.
// ORDER: attention_backward: {{.*}} us cudnn workspace 12780032, {{.*}} us cudnn/2 workspace 6390272,
// ORDER: attention_backward: {{.*}} us cudnn workspace 102236672,

// Own kernels where a mask, dropout or f32 asks for them; cuDNN elsewhere. The
// backward's workspace is 4 batches x 12 heads x (8 tiles of 128 keys x 1024 rows
// x 64 x 4 + 1024 x 4) + 512 bytes, and a slice takes its part: of the batch, and
// after that of the 12 heads. Each slice more costs 40 microseconds where a
// slice is one element of the batch (measured on an H200): 42.0 x 3 + 89.7. One of
// fewer heads fills less of the machine and takes as long.

// On Hopper the backward of heads of 64 and 128 runs on own kernels, whose
// workspace is two f32 for each query: 4 x 12 x 1024 x 8 bytes. 4 x 12 x 1024 x
// 1025 / 2 scores of 640 operations, and 680 / 1024 as much again, at 395 TFLOP/s
// take 67.9 us, and 5.
// HOPPER: attention: {{.*}} us cudnn workspace 256
// HOPPER-NEXT: attention_backward: {{.*}} 72.852 us own workspace 393216{{$}}
// HOPPER: attention_backward: {{.*}} us cudnn workspace 67072
// HOPPER: attention_backward: {{.*}} us own workspace 3145728{{$}}

// In any order they do so only where they are as fast: 16 G operations take 16 /
// 430 x (1 + 1263 / 1024) = 84.3 us on cuDNN. At 32,768 tokens it is faster.
// FASTER: attention_backward: {{.*}} 72.852 us own workspace 393216{{$}}
// FASTER: attention_backward: {{.*}} us own workspace 4841472{{$}}
// FASTER: attention_backward: {{.*}} us cudnn workspace 102236672,

// CHECK: attention: {{.*}} us cudnn workspace 256
// CHECK-NEXT: attention_backward: {{.*}} 89.681 us cudnn workspace 100860416, {{.*}} us cudnn/2 workspace 50430464, 215.825 us cudnn/4 workspace 25215488, 458.112 us cudnn/8 workspace 12608000, {{.*}} us cudnn/12 workspace 8405504, {{.*}} us cudnn/16 workspace 6304256, {{.*}} us cudnn/24 workspace 4203008, {{.*}} us cudnn/48 workspace 2101760
// CHECK-NEXT: attention: {{.*}} us own workspace 0
// CHECK-NEXT: attention: {{.*}} us own workspace 0
// Heads 96 wide: 2 heads x (128 x 96 x 4 + 128 x 4) + 512 bytes. On Hopper the
// partial gradients are 64 wide all the same.
// CHECK-NEXT: attention_backward: {{.*}} us cudnn workspace 99840
// 256 batches x 12 heads x (2 tiles x 256 rows x 64 x 4 + 197 x 4) + 256 x 8 +
// 256 bytes: what cuDNN asks for on one H200.
// CHECK-NEXT: attention_backward: {{.*}} us cudnn workspace 405076224
// One sequence of 32768 tokens: 12 heads x (256 tiles x 32768 rows x 64 x 4 +
// 32768 x 4) + 512 bytes, or those of a head, whose 256 blocks fill the machine.
// CHECK-NEXT: attention_backward: {{.*}} 13567.350 us cudnn workspace 25771377152, {{.*}} us cudnn/2 {{.*}} 14010.854 us cudnn/12 workspace 2147615232{{$}}
// Four heads share two of keys: 2 batches x 4 heads x (2 tiles x 256 rows x 64 x 4
// + 256 x 4 and, for both gradients of keys before they are summed, 2 x 256 x 64
// x 4) + 512 bytes. A slice has whole groups.
// CHECK-NEXT: attention_backward: {{.*}} us cudnn workspace 2105856, {{.*}} us cudnn/2 workspace 1053184, {{.*}} us cudnn/4 workspace 526848{{$}}
// A window where each query sees a key, and where some see none.
// CHECK-NEXT: attention: {{.*}} us cudnn workspace 256
// CHECK-NEXT: attention: {{.*}} us own workspace 0
// A sum of 32768 over 9 tiles is split; a product with many tiles needs nothing.
// CHECK-NEXT: matmul: {{.*}} us cublaslt workspace 9437184
// 2 x 32768 x 768 x 768 operations at 750 TFLOP/s take 51.5 us, to launch 2, and for
// 5 matrix units idle.
// CHECK-NEXT: matmul: {{.*}} 58.540 us cublaslt workspace 0
// 800 columns take 7 tiles of 128: 5 + (53.7 + 2) x 896 / 800.
// CHECK-NEXT: matmul: {{.*}} 67.370 us cublaslt workspace 0
// A column sum of many rows leaves 170 partial rows of f32.
// CHECK-NEXT: reduce: {{.*}} us own workspace 522240
// Copies of all tensors, 2 x (4x16x32x32 + 8x16x3x3 + 4x8x32x32) = 198912 bytes, and four times as much for sums.
// CHECK-NEXT: convolution: {{.*}} us cudnn workspace 994560
func.func @main(%qkv: tensor<4x1024x3x12x64xbf16>, %grad: tensor<4x1024x12x64xbf16>, %lse: tensor<4x12x1024xf32>,
                %mask: tensor<1024x1024xi1>, %wide: tensor<4x1024x3x12x64xf32>,
                %small: tensor<1x128x3x2x96xbf16>, %smallGrad: tensor<1x128x2x96xbf16>, %smallLse: tensor<1x2x128xf32>,
                %patches: tensor<256x197x3x12x64xbf16>, %patchesGrad: tensor<256x197x12x64xbf16>, %patchesLse: tensor<256x12x197xf32>,
                %long: tensor<1x32768x3x12x64xbf16>, %longGrad: tensor<1x32768x12x64xbf16>, %longLse: tensor<1x12x32768xf32>,
                %q: tensor<2x256x4x64xbf16>, %k: tensor<2x256x2x64xbf16>, %less: tensor<2x200x2x64xbf16>, %qLse: tensor<2x4x256xf32>,
                %x: tensor<32768x768xbf16>, %odd: tensor<768x800xbf16>, %image: tensor<4x16x32x32xbf16>, %weight: tensor<8x16x3x3xbf16>) {
  %0, %1 = remat.attention %qkv {causal} : (tensor<4x1024x3x12x64xbf16>) -> (tensor<4x1024x12x64xbf16>, tensor<4x12x1024xf32>)
  %2 = remat.attention_backward %grad qkv %qkv output %0, %1 {causal} : (tensor<4x1024x12x64xbf16>, tensor<4x1024x3x12x64xbf16>, tensor<4x1024x12x64xbf16>, tensor<4x12x1024xf32>) -> tensor<4x1024x3x12x64xbf16>
  %3, %4 = remat.attention %qkv mask %mask : (tensor<4x1024x3x12x64xbf16>, tensor<1024x1024xi1>) -> (tensor<4x1024x12x64xbf16>, tensor<4x12x1024xf32>)
  %5, %6 = remat.attention %wide {causal} : (tensor<4x1024x3x12x64xf32>) -> (tensor<4x1024x12x64xf32>, tensor<4x12x1024xf32>)
  %7 = remat.attention_backward %smallGrad qkv %small output %smallGrad, %smallLse {causal} : (tensor<1x128x2x96xbf16>, tensor<1x128x3x2x96xbf16>, tensor<1x128x2x96xbf16>, tensor<1x2x128xf32>) -> tensor<1x128x3x2x96xbf16>
  %p = remat.attention_backward %patchesGrad qkv %patches output %patchesGrad, %patchesLse {causal} : (tensor<256x197x12x64xbf16>, tensor<256x197x3x12x64xbf16>, tensor<256x197x12x64xbf16>, tensor<256x12x197xf32>) -> tensor<256x197x3x12x64xbf16>
  %l = remat.attention_backward %longGrad qkv %long output %longGrad, %longLse {causal} : (tensor<1x32768x12x64xbf16>, tensor<1x32768x3x12x64xbf16>, tensor<1x32768x12x64xbf16>, tensor<1x12x32768xf32>) -> tensor<1x32768x3x12x64xbf16>
  %g:3 = remat.attention_backward %q qkv %q, %k, %k output %q, %qLse : (tensor<2x256x4x64xbf16>, tensor<2x256x4x64xbf16>, tensor<2x256x2x64xbf16>, tensor<2x256x2x64xbf16>, tensor<2x256x4x64xbf16>, tensor<2x4x256xf32>) -> (tensor<2x256x4x64xbf16>, tensor<2x256x2x64xbf16>, tensor<2x256x2x64xbf16>)
  %w, %wl = remat.attention %q, %k, %k {causal, window = 16} : (tensor<2x256x4x64xbf16>, tensor<2x256x2x64xbf16>, tensor<2x256x2x64xbf16>) -> (tensor<2x256x4x64xbf16>, tensor<2x4x256xf32>)
  %u, %ul = remat.attention %q, %less, %less {causal, window = 16} : (tensor<2x256x4x64xbf16>, tensor<2x200x2x64xbf16>, tensor<2x200x2x64xbf16>) -> (tensor<2x256x4x64xbf16>, tensor<2x4x256xf32>)
  %8 = remat.matmul %x, %x {transpose_lhs} : (tensor<32768x768xbf16>, tensor<32768x768xbf16>) -> tensor<768x768xbf16>
  %9 = remat.matmul %x, %8 : (tensor<32768x768xbf16>, tensor<768x768xbf16>) -> tensor<32768x768xbf16>
  %o = remat.matmul %x, %odd : (tensor<32768x768xbf16>, tensor<768x800xbf16>) -> tensor<32768x800xbf16>
  %10 = remat.reduce <sum> %x, [0] : (tensor<32768x768xbf16>) -> tensor<768xbf16>
  %11 = remat.convolution %image, %weight strides [1, 1] pad [1, 1] [1, 1] dilation [1, 1] : (tensor<4x16x32x32xbf16>, tensor<8x16x3x3xbf16>) -> tensor<4x8x32x32xbf16>
  return
}
