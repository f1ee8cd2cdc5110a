// What the verifiers of convolution and pooling refuse.

// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<2x4x9xf32>, %w: tensor<6x3x3xf32>) {
  // expected-error @+2 {{weight 'tensor<6x3x3xf32>' reads 3 channels, but a group has 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [1] pad [0] [0] dilation [1] : (tensor<2x4x9xf32>, tensor<6x3x3xf32>) -> tensor<2x6x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x9xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+2 {{4 groups do not divide 4 input and 6 output channels}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [1] pad [0] [0] dilation [1] {groups = 4 : i64} : (tensor<2x4x9xf32>, tensor<6x2x3xf32>) -> tensor<2x6x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{0 groups do not divide 4 input and 6 output channels}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [1] pad [0] [0] dilation [1] {groups = 0 : i64} : (tensor<2x4x9xf32>, tensor<6x4x3xf32>) -> tensor<2x6x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{strides has 2 entries, but the window moves over 1 dimensions}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [1, 1] pad [0] [0] dilation [1] : (tensor<2x4x9xf32>, tensor<6x4x3xf32>) -> tensor<2x6x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{strides has the entry 0, which is not from 1 to 2147483647}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [0] pad [0] [0] dilation [1] : (tensor<2x4x9xf32>, tensor<6x4x3xf32>) -> tensor<2x6x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{low has the entry -1, which is not from 0 to 2147483647}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [1] pad [-1] [0] dilation [1] : (tensor<2x4x9xf32>, tensor<6x4x3xf32>) -> tensor<2x6x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{dilation has the entry 9223372036854775807, which is not from 1 to 2147483647}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [1] pad [0] [0] dilation [9223372036854775807] : (tensor<2x4x9xf32>, tensor<6x4x3xf32>) -> tensor<2x6x7xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // 5 * (3 - 1) + 1 = 11 elements of 9 + 0 + 1.
  // expected-error @+2 {{a window that reaches over 11 elements does not fit dimension 0 of 9 elements padded by 0 and 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [1] pad [0] [1] dilation [5] : (tensor<2x4x9xf32>, tensor<6x4x3xf32>) -> tensor<2x6x1xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %w: tensor<6x4xf32>) {
  // expected-error @+2 {{need batch, channels and the same 1 to 3 dimensions}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [] pad [] [] dilation [] : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x1x1x1x1xf32>, %w: tensor<6x4x1x1x1x1xf32>) {
  // expected-error @+2 {{a window moves over 1 to 3 dimensions, not 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [1, 1, 1, 1] pad [0, 0, 0, 0] [0, 0, 0, 0] dilation [1, 1, 1, 1] : (tensor<2x4x1x1x1x1xf32>, tensor<6x4x1x1x1x1xf32>) -> tensor<2x6x1x1x1x1xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x9xf32>, %w: tensor<6x4x3xbf16>) {
  // expected-error @+2 {{element types of 'tensor<2x4x9xf32>' and 'tensor<6x4x3xbf16>' differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [1] pad [0] [0] dilation [1] : (tensor<2x4x9xf32>, tensor<6x4x3xbf16>) -> tensor<2x6x7xf32>
  return
}

// -----

func.func @f(%g: tensor<2x6x7xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{a convolution of 'tensor<2x4x8xf32>' with 'tensor<6x4x3xf32>' gives 'tensor<2x6x6xf32>', but the gradient is 'tensor<2x6x7xf32>'}}
  %0 = remat.convolution_input_grad %g, %w strides [1] pad [0] [0] dilation [1] : (tensor<2x6x7xf32>, tensor<6x4x3xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%g: tensor<2x6x7xf32>, %x: tensor<2x4x9xf32>) {
  // expected-error @+1 {{gives 'tensor<2x6x8xf32>', but the gradient is 'tensor<2x6x7xf32>'}}
  %0 = remat.convolution_weight_grad %g, %x strides [1] pad [0] [0] dilation [1] : (tensor<2x6x7xf32>, tensor<2x4x9xf32>) -> tensor<6x4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<9xf32>) {
  // expected-error @+2 {{window has 2 entries, but the operand 'tensor<9xf32>' has 1 dimensions}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.max_pool %x window [2, 2] strides [2, 2] pad [0, 0] [0, 0] dilation [1, 1] : (tensor<9xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<9xf32>, %g: tensor<3xf32>) {
  // expected-error @+2 {{grad 'tensor<3xf32>' must be 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.max_pool_backward %g, %x window [2] strides [2] pad [0] [0] dilation [1] : (tensor<3xf32>, tensor<9xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @f(%x: tensor<9x8xf32>) {
  // expected-error @+2 {{the operand 'tensor<9x8xf32>' has no dimension of channels behind those of the window}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.max_pool %x window [2, 2] strides [2, 2] pad [0, 0] [0, 0] dilation [1, 1] {channels_last} : (tensor<9x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x9x4xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{reads 3 channels, but a group has 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.convolution %x, %w strides [1] pad [0] [0] dilation [1] {channels_last} : (tensor<2x9x4xf32>, tensor<6x4x3xf32>) -> tensor<2x7x6xf32>
  return
}
