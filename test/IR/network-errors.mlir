// What the verifiers of layers and losses refuse.

// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<8x16xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{sums over 16 elements of the left operand, but 8 of the right one}}
  %0 = remat.matmul %x, %w : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<16xf32>, %w: tensor<16x4xf32>) {
  // expected-error @+1 {{operands 'tensor<16xf32>' and 'tensor<16x4xf32>' must have at least 2 dimensions}}
  %0 = remat.matmul %x, %w : (tensor<16xf32>, tensor<16x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x16xf32>, %w: tensor<16x4xbf16>) {
  // expected-error @+1 {{operands have element types 'f32' and 'bf16'; convert one of them with remat.cast}}
  %0 = remat.matmul %x, %w : (tensor<8x16xf32>, tensor<16x4xbf16>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) {
  // expected-error @+1 {{result element type 'bf16' is neither the operands' 'f32' nor f32}}
  %0 = remat.matmul %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xbf16>
  return
}

// -----

func.func @f(%x: tensor<2x8x16xf32>, %w: tensor<3x16x4xf32>) {
  // expected-error @+1 {{batch dimensions of 'tensor<2x8x16xf32>' and 'tensor<3x16x4xf32>' differ}}
  %0 = remat.matmul %x, %w : (tensor<2x8x16xf32>, tensor<3x16x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) {
  // expected-error @+1 {{result is 'tensor<4x8xf32>', but the operands give 'tensor<8x4xf32>'}}
  %0 = remat.matmul %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{bias is 'tensor<8xf32>', not 'tensor<4xf32>'}}
  %0 = remat.matmul %x, %w bias %b : (tensor<8x16xf32>, tensor<16x4xf32>, tensor<8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x16xbf16>, %w: tensor<16x4xbf16>, %b: tensor<4xf16>) {
  // expected-error @+1 {{bias is 'tensor<4xf16>', not 'tensor<4xbf16>' or 'tensor<4xf32>'}}
  %0 = remat.matmul %x, %w bias %b : (tensor<8x16xbf16>, tensor<16x4xbf16>, tensor<4xf16>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x16xbf16>, %w: tensor<16x4xbf16>, %a: tensor<8x4xbf16>) {
  // expected-error @+1 {{addend is 'tensor<8x4xbf16>', not 'tensor<8x4xf32>'}}
  %0 = remat.matmul %x, %w add %a : (tensor<8x16xbf16>, tensor<16x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{operand has no dimension to normalise}}
  %0 = remat.softmax %x : tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{scale 'tensor<4xf32>' and bias 'tensor<4xf32>' must be of one type with the 8 elements of the operand's last dimension}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = remat.layer_norm %x, %s, %s : (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{epsilon is negative}}
  %0:3 = remat.layer_norm %x, %s, %s {epsilon = -1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{attribute 'epsilon' failed to satisfy constraint: 64-bit float attribute whose value is finite}}
  %0:3 = remat.layer_norm %x, %s, %s {epsilon = 0x7FF0000000000000 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %m: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'remat.layer_norm_backward' op inferred type(s) 'tensor<4x8xf32>', 'tensor<8xf32>', 'tensor<8xf32>', 'tensor<8xf32>' are incompatible with return type(s)}}
  %0:3 = remat.layer_norm_backward %x, %x, %s, %m, %m {with_sum} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %m: tensor<8xf32>) {
  // expected-error @+2 {{mean 'tensor<8xf32>' and rstd 'tensor<8xf32>' must be 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = remat.layer_norm_backward %x, %x, %s, %m, %m : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{packed operand 'tensor<2x8x4x16xf32>' must be [batch, tokens, 3, heads, head size]}}
  %0:2 = remat.attention %x : (tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{there are 2 operands; one packed operand or query, key and value are needed}}
  %0:2 = remat.attention %x, %x : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x2x8xf32>) {
  // expected-error @+1 {{key 'tensor<2x8x2x8xf32>' and query 'tensor<2x8x4x16xf32>' may differ in the numbers of tokens and heads only}}
  %0:2 = remat.attention %q, %k, %k : (tensor<2x8x4x16xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x3x16xf32>) {
  // expected-error @+1 {{4 heads of the query are no multiple of the 3 of the key}}
  %0:2 = remat.attention %q, %k, %k : (tensor<2x8x4x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>) {
  // expected-error @+1 {{window is 0; it must be positive}}
  %0:2 = remat.attention %x {causal, window = 0} : (tensor<2x8x3x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{window is 3, but attention is not causal}}
  %0 = remat.attention_backward %o qkv %x output %o, %l {window = 3} : (tensor<2x8x4x16xf32>, tensor<2x8x3x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x3x4x16xf32>
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8xf32>) {
  // expected-error @+1 {{key 'tensor<2x8xf32>' and query 'tensor<2x8x4x16xf32>' may differ in the numbers of tokens and heads only}}
  %0:2 = remat.attention %q, %k, %k : (tensor<2x8x4x16xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x5x4x16xf32>) {
  // expected-error @+1 {{key 'tensor<2x5x4x16xf32>' and value 'tensor<2x8x4x16xf32>' must be of one type}}
  %0:2 = remat.attention %q, %k, %q : (tensor<2x8x4x16xf32>, tensor<2x5x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>, %m: tensor<3x8xi1>) {
  // expected-error @+1 {{mask 'tensor<3x8xi1>' does not broadcast to the scores [2, 4, 8, 8]}}
  %0:2 = remat.attention %x mask %m : (tensor<2x8x3x4x16xf32>, tensor<3x8xi1>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>, %m: tensor<8x8xi32>) {
  // expected-error @+1 {{mask is 'tensor<8x8xi32>'; its elements must be i1 or float}}
  %0:2 = remat.attention %x mask %m : (tensor<2x8x3x4x16xf32>, tensor<8x8xi32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>) {
  // expected-error @+1 {{dropout_p is 1.000000e-01, but there are no seed and step to draw from}}
  %0:2 = remat.attention %x {dropout_p = 0.1 : f64} : (tensor<2x8x3x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{dropout_p is -1.000000e-01; it must be in [0, 1)}}
  %0:2 = remat.attention %x random %s, %s {dropout_p = -0.1 : f64} : (tensor<2x8x3x4x16xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{seed and step must be given together}}
  %0:2 = "remat.attention"(%x, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 0>} : (tensor<2x8x3x4x16xf32>, tensor<i64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>) {
  // expected-error @+1 {{attribute 'scale' failed to satisfy constraint: 64-bit float attribute whose value is finite}}
  %0:2 = remat.attention %x {scale = 0x7FF8000000000000 : f64} : (tensor<2x8x3x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>) {
  // expected-error @+1 {{lse is 'tensor<2x8x4xf32>', not 'tensor<2x4x8xf32>'}}
  %0 = remat.attention_backward %o qkv %x output %o, %l : (tensor<2x8x4x16xf32>, tensor<2x8x3x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>) -> tensor<2x8x3x4x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{results must have the types of the 1 operands behind 'qkv'}}
  %0 = remat.attention_backward %o qkv %x output %o, %l : (tensor<2x8x4x16xf32>, tensor<2x8x3x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x3x4x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{grad 'tensor<2x8x3x4x16xf32>' and output 'tensor<2x8x4x16xf32>' must be 'tensor<2x8x4x16xf32>'}}
  %0 = remat.attention_backward %x qkv %x output %o, %l : (tensor<2x8x3x4x16xf32>, tensor<2x8x3x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x3x4x16xf32>
  return
}

// -----

func.func @f(%i: tensor<4xi32>, %t: tensor<10x4x4xf32>) {
  // expected-error @+2 {{table 'tensor<10x4x4xf32>' must have 2 dimensions: rows and their elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.embedding %i, %t : (tensor<4xi32>, tensor<10x4x4xf32>) -> tensor<4x4x4xf32>
  return
}

// -----

func.func @f(%i: tensor<4xi32>, %g: tensor<4x8xf32>) {
  // expected-error @+1 {{grad is 'tensor<4x8xf32>', but ids and result give 'tensor<4x16xf32>'}}
  %0 = remat.embedding_backward %i, %g : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<10x16xf32>
  return
}

// -----

func.func @f(%i: tensor<4xi32>, %g: tensor<4x8xf32>) {
  // expected-error @below {{grad has elements of 'f32', which are no narrower floats than the result's 'bf16'}}
  %0 = remat.embedding_backward %i, %g : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<10x8xbf16>
  return
}

// -----

func.func @f(%i: tensor<4xi32>, %g: tensor<4x8xbf16>, %a: tensor<10x8xf32>) {
  // expected-error @below {{addend is 'tensor<10x8xf32>', but the result 'tensor<10x8xbf16>' must be of its shape and no narrower}}
  %0 = remat.embedding_backward %i, %g add %a : (tensor<4xi32>, tensor<4x8xbf16>, tensor<10x8xf32>) -> tensor<10x8xbf16>
  return
}

// -----

func.func @f(%i: tensor<4xi32>, %g: tensor<4x8xf32>, %a: tensor<8xf32>) {
  // expected-error @below {{addend is 'tensor<8xf32>', but the result 'tensor<10x8xf32>' must be of its shape and no narrower}}
  %0 = remat.embedding_backward %i, %g add %a : (tensor<4xi32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<10x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x10xf32>, %t: tensor<10xi32>) {
  // expected-error @+2 {{targets 'tensor<10xi32>' must have the shape of the rows of logits 'tensor<4x10xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.cross_entropy %x, %t : (tensor<4x10xf32>, tensor<10xi32>) -> (tensor<f32>, tensor<10xf32>)
  return
}

// -----

func.func @f(%x: tensor<f32>, %t: tensor<i32>) {
  // expected-error @+2 {{logits have no dimension of classes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.cross_entropy %x, %t : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%g: tensor<f32>, %x: tensor<4x10xf32>, %t: tensor<4xi32>, %l: tensor<10xf32>) {
  // expected-error @+2 {{lse is 'tensor<10xf32>', not 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.cross_entropy_backward %g, %x, %t, %l : (tensor<f32>, tensor<4x10xf32>, tensor<4xi32>, tensor<10xf32>) -> tensor<4x10xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{requires all operands to have the same type}}
  %0 = remat.mse %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+2 {{weight 'tensor<4xf32>' must have the 8 elements of the operand's last dimension}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.rms_norm %x, %w : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<f32>, %w: tensor<1xf32>) {
  // expected-error @+2 {{operand has no dimension to normalise}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.rms_norm %x, %w : (tensor<f32>, tensor<1xf32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{epsilon is negative}}
  %0:2 = remat.rms_norm %x, %w {epsilon = -1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %h: tensor<4x8xbf16>, %w: tensor<8xf32>, %r: tensor<4xf32>) {
  // expected-error @+2 {{grad 'tensor<4x8xbf16>' and operand 'tensor<4x8xf32>' must be of one type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.rms_norm_backward %h, %x, %w, %r : (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+2 {{rstd 'tensor<8xf32>' must be 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.rms_norm_backward %x, %x, %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{dims must be sorted, without repetition: 0 comes behind 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.moments %x, [1, 0] : (tensor<4x8xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %m: tensor<2x8xf32>) {
  // expected-error @+2 {{mean 'tensor<2x8xf32>' must have the rank of the operand 'tensor<4x8xf32>' and in each dimension its size or 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.normalize %x, %m, %m, %m, %m : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %m: tensor<1x8xf32>, %s: tensor<4x1xf32>) {
  // expected-error @+2 {{scale 'tensor<4x1xf32>' must be of the mean's type 'tensor<1x8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = remat.normalize %x, %m, %m, %s, %m : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<4x1xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %g: tensor<4x8xbf16>, %m: tensor<1x8xf32>) {
  // expected-error @+2 {{grad 'tensor<4x8xbf16>' and operand 'tensor<4x8xf32>' must be of one type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.normalize_sums %g, %x, %m : (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %m: tensor<1x8xf32>) {
  // expected-error @+2 {{relu has 2 operands, which must be rstd, scale and bias}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = remat.normalize_sums %x, %x, %m relu %m, %m : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>)
  return
}
