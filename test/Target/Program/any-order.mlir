// A step that may add in any order says so: the gradients of attention and of
// convolutions by cuDNN, where the target does not ask for the same bits.
// RUN: remat-opt "--remat-set-target=device=cuda arch=sm_80 deterministic=false" --remat-assign-memory %s | remat-translate --remat-to-program | remat-translate --program-to-text | FileCheck %s
// RUN: remat-opt "--remat-set-target=device=cuda arch=sm_80" --remat-assign-memory %s | remat-translate --remat-to-program | remat-translate --program-to-text | FileCheck %s --check-prefix=SAME
// CHECK: "attention"
// CHECK-NOT: any order
// CHECK-SAME: kernel Cudnn workspace
// CHECK: "attention_backward" {{.*}} kernel Cudnn in any order workspace
// CHECK: "convolution"
// CHECK-NOT: any order
// CHECK: "convolution_weight_grad" {{.*}} kernel Cudnn in any order workspace
// SAME-NOT: any order
func.func @main(%x: tensor<2x64x3x2x64xbf16> {remat.role = #remat.role<input>, remat.name = "x"},
                %image: tensor<4x16x8x8xbf16> {remat.role = #remat.role<input>, remat.name = "image"},
                %weight: tensor<8x16x3x3xbf16> {remat.role = #remat.role<input>, remat.name = "weight"})
    -> (tensor<2x64x3x2x64xbf16> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<8x16x3x3xbf16> {remat.role = #remat.role<output>, remat.name = "b"}) {
  %0, %l = remat.attention %x {causal} : (tensor<2x64x3x2x64xbf16>) -> (tensor<2x64x2x64xbf16>, tensor<2x2x64xf32>)
  %1 = remat.attention_backward %0 qkv %x output %0, %l {causal}
      : (tensor<2x64x2x64xbf16>, tensor<2x64x3x2x64xbf16>, tensor<2x64x2x64xbf16>, tensor<2x2x64xf32>) -> tensor<2x64x3x2x64xbf16>
  %2 = remat.convolution %image, %weight strides [1, 1] pad [1, 1] [1, 1] dilation [1, 1] : (tensor<4x16x8x8xbf16>, tensor<8x16x3x3xbf16>) -> tensor<4x8x8x8xbf16>
  %3 = remat.convolution_weight_grad %2, %image strides [1, 1] pad [1, 1] [1, 1] dilation [1, 1] : (tensor<4x8x8x8xbf16>, tensor<4x16x8x8xbf16>) -> tensor<8x16x3x3xbf16>
  return %1, %3 : tensor<2x64x3x2x64xbf16>, tensor<8x16x3x3xbf16>
}
