// Layers, losses and their backward operations.

// RUN: remat-opt %s | FileCheck %s
// RUN: remat-opt %s --mlir-print-op-generic | remat-opt | FileCheck %s

// CHECK-LABEL: @matmul
func.func @matmul(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %bt: tensor<4x16xf32>, %at: tensor<16x8xf32>,
                  %batch: tensor<2x3x8x16xf32>, %bias: tensor<4xf32>, %h: tensor<8x16xbf16>, %g: tensor<16x4xbf16>,
                  %right: tensor<5x16x4xf32>) {
  // CHECK: remat.matmul %{{.*}}, %{{.*}} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %0 = remat.matmul %a, %b : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  // CHECK: remat.matmul %{{.*}}, %{{.*}} {transpose_lhs, transpose_rhs} : (tensor<16x8xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
  %1 = remat.matmul %at, %bt {transpose_lhs, transpose_rhs} : (tensor<16x8xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
  // CHECK: remat.matmul %{{.*}}, %{{.*}} bias %{{.*}} {transpose_rhs} : (tensor<8x16xf32>, tensor<4x16xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %2 = remat.matmul %a, %bt bias %bias {transpose_rhs} : (tensor<8x16xf32>, tensor<4x16xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  // One side without a batch serves every batch.
  // CHECK: remat.matmul %{{.*}} : (tensor<2x3x8x16xf32>, tensor<16x4xf32>) -> tensor<2x3x8x4xf32>
  %3 = remat.matmul %batch, %b : (tensor<2x3x8x16xf32>, tensor<16x4xf32>) -> tensor<2x3x8x4xf32>
  // CHECK: remat.matmul %{{.*}} : (tensor<8x16xf32>, tensor<5x16x4xf32>) -> tensor<5x8x4xf32>
  %4 = remat.matmul %a, %right : (tensor<8x16xf32>, tensor<5x16x4xf32>) -> tensor<5x8x4xf32>
  // CHECK: remat.matmul %{{.*}} : (tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x8xf32>
  %5 = remat.matmul %batch, %batch {transpose_rhs} : (tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: remat.matmul %{{.*}} : (tensor<8x16xbf16>, tensor<16x4xbf16>) -> tensor<8x4xf32>
  %6 = remat.matmul %h, %g : (tensor<8x16xbf16>, tensor<16x4xbf16>) -> tensor<8x4xf32>
  return
}

// CHECK-LABEL: @norms
func.func @norms(%x: tensor<2x8x16xf32>, %h: tensor<2x8x16xbf16>, %scale: tensor<16xf32>, %bias: tensor<16xf32>) {
  // CHECK: remat.softmax %{{.*}} : tensor<2x8x16xf32>
  %0 = remat.softmax %x : tensor<2x8x16xf32>
  // CHECK: remat.softmax_backward %{{.*}}, %{{.*}} : tensor<2x8x16xf32>
  %1 = remat.softmax_backward %0, %x : tensor<2x8x16xf32>
  // CHECK: remat.layer_norm %{{[^{]*}} : (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  %2, %mean, %rstd = remat.layer_norm %x, %scale, %bias : (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  // A bf16 operand beside f32 scale and bias.
  // CHECK: remat.layer_norm %{{.*}} {epsilon = 1.000000e-03 : f64} : (tensor<2x8x16xbf16>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x8x16xbf16>, tensor<2x8xf32>, tensor<2x8xf32>)
  %3, %m, %r = remat.layer_norm %h, %scale, %bias {epsilon = 1.0e-3 : f64} : (tensor<2x8x16xbf16>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x8x16xbf16>, tensor<2x8xf32>, tensor<2x8xf32>)
  // CHECK: remat.layer_norm_backward %{{.*}} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>)
  %gx, %gs, %gb = remat.layer_norm_backward %x, %x, %scale, %mean, %rstd : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>)
  // CHECK: remat.layer_norm_backward %{{.*}} {with_sum} : {{.*}} -> (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %ix, %is, %ib, %iw = remat.layer_norm_backward %x, %x, %scale, %mean, %rstd {with_sum} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  // CHECK: remat.rms_norm %{{[^{]*}} : (tensor<2x8x16xbf16>, tensor<16xf32>) -> (tensor<2x8x16xbf16>, tensor<2x8xf32>)
  %4, %root = remat.rms_norm %h, %scale : (tensor<2x8x16xbf16>, tensor<16xf32>) -> (tensor<2x8x16xbf16>, tensor<2x8xf32>)
  // CHECK: remat.moments %{{.*}}, [0, 2] : (tensor<2x8x16xbf16>) -> (tensor<1x8x1xf32>, tensor<1x8x1xf32>)
  %average, %variance = remat.moments %h, [0, 2] : (tensor<2x8x16xbf16>) -> (tensor<1x8x1xf32>, tensor<1x8x1xf32>)
  // CHECK: remat.normalize %{{.*}} : (tensor<2x8x16xbf16>, tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<2x8x16xbf16>
  %5 = remat.normalize %h, %average, %variance, %average, %variance : (tensor<2x8x16xbf16>, tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<2x8x16xbf16>
  // CHECK: remat.normalize_sums %{{.*}} : (tensor<2x8x16xbf16>, tensor<2x8x16xbf16>, tensor<1x8x1xf32>) -> (tensor<1x8x1xf32>, tensor<1x8x1xf32>)
  %sum, %centred = remat.normalize_sums %5, %h, %average : (tensor<2x8x16xbf16>, tensor<2x8x16xbf16>, tensor<1x8x1xf32>) -> (tensor<1x8x1xf32>, tensor<1x8x1xf32>)
  // CHECK: remat.normalize_sums %{{.*}}, %{{.*}}, %{{.*}} relu %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x8x16xbf16>, tensor<2x8x16xbf16>, tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> (tensor<1x8x1xf32>, tensor<1x8x1xf32>)
  %sum1, %centred1 = remat.normalize_sums %5, %h, %average relu %variance, %average, %average : (tensor<2x8x16xbf16>, tensor<2x8x16xbf16>, tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> (tensor<1x8x1xf32>, tensor<1x8x1xf32>)
  // CHECK: remat.rms_norm_backward %{{.*}} : (tensor<2x8x16xbf16>, tensor<2x8x16xbf16>, tensor<16xf32>, tensor<2x8xf32>) -> (tensor<2x8x16xbf16>, tensor<16xf32>)
  %hx, %hw = remat.rms_norm_backward %4, %h, %scale, %root : (tensor<2x8x16xbf16>, tensor<2x8x16xbf16>, tensor<16xf32>, tensor<2x8xf32>) -> (tensor<2x8x16xbf16>, tensor<16xf32>)
  return
}

// CHECK-LABEL: @attention
func.func @attention(%qkv: tensor<2x8x3x4x16xf32>, %q: tensor<2x8x4x16xf32>, %kv: tensor<2x5x4x16xf32>,
                     %mask: tensor<8x5xi1>, %seed: tensor<i64>, %step: tensor<i64>) {
  // CHECK: remat.attention %{{[a-z0-9]+}} {causal} : (tensor<2x8x3x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  %0, %l0 = remat.attention %qkv {causal} : (tensor<2x8x3x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  // CHECK: remat.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} random %{{.*}}, %{{.*}} {dropout_p = 1.000000e-01 : f64, id = 7 : i64, scale = 2.500000e-01 : f64}
  // CHECK-SAME: (tensor<2x8x4x16xf32>, tensor<2x5x4x16xf32>, tensor<2x5x4x16xf32>, tensor<8x5xi1>, tensor<i64>, tensor<i64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  %1, %l1 = remat.attention %q, %kv, %kv mask %mask random %seed, %step {dropout_p = 0.1 : f64, id = 7 : i64, scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x5x4x16xf32>, tensor<2x5x4x16xf32>, tensor<8x5xi1>, tensor<i64>, tensor<i64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  // CHECK: remat.attention_backward %{{.*}} qkv %{{.*}} output %{{.*}}, %{{.*}} {causal} : (tensor<2x8x4x16xf32>, tensor<2x8x3x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x3x4x16xf32>
  %2 = remat.attention_backward %0 qkv %qkv output %0, %l0 {causal} : (tensor<2x8x4x16xf32>, tensor<2x8x3x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x3x4x16xf32>
  // CHECK: remat.attention_backward %{{.*}} qkv %{{.*}}, %{{.*}}, %{{.*}} output %{{.*}}, %{{.*}} mask %{{.*}} random %{{.*}}, %{{.*}} {dropout_p = 1.000000e-01 : f64, id = 7 : i64, scale = 2.500000e-01 : f64}
  %3:3 = remat.attention_backward %1 qkv %q, %kv, %kv output %1, %l1 mask %mask random %seed, %step {dropout_p = 0.1 : f64, id = 7 : i64, scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x5x4x16xf32>, tensor<2x5x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<8x5xi1>, tensor<i64>, tensor<i64>) -> (tensor<2x8x4x16xf32>, tensor<2x5x4x16xf32>, tensor<2x5x4x16xf32>)
  return
}

// Four heads of queries share two of keys, and see the last three keys.
// CHECK-LABEL: @grouped_attention
func.func @grouped_attention(%q: tensor<2x8x4x16xf32>, %kv: tensor<2x8x2x16xf32>) {
  // CHECK: remat.attention %{{.*}} {causal, window = 3 : i64} : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  %0, %l0 = remat.attention %q, %kv, %kv {causal, window = 3} : (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
  // CHECK: remat.attention_backward %{{.*}} {causal, window = 3 : i64} : {{.*}} -> (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>)
  %1:3 = remat.attention_backward %0 qkv %q, %kv, %kv output %0, %l0 {causal, window = 3} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>)
  return
}

// CHECK-LABEL: @embedding
func.func @embedding(%ids: tensor<2x8xi32>, %table: tensor<100x16xf32>) {
  // CHECK: remat.embedding %{{.*}}, %{{.*}} : (tensor<2x8xi32>, tensor<100x16xf32>) -> tensor<2x8x16xf32>
  %0 = remat.embedding %ids, %table : (tensor<2x8xi32>, tensor<100x16xf32>) -> tensor<2x8x16xf32>
  // CHECK: remat.embedding_backward %{{.*}}, %{{.*}} : (tensor<2x8xi32>, tensor<2x8x16xf32>) -> tensor<100x16xf32>
  %1 = remat.embedding_backward %ids, %0 : (tensor<2x8xi32>, tensor<2x8x16xf32>) -> tensor<100x16xf32>
  // CHECK: remat.embedding_backward %{{.*}}, %{{.*}} add %{{.*}} : (tensor<2x8xi32>, tensor<2x8x16xf32>, tensor<100x16xf32>) -> tensor<100x16xf32>
  %2 = remat.embedding_backward %ids, %0 add %1 : (tensor<2x8xi32>, tensor<2x8x16xf32>, tensor<100x16xf32>) -> tensor<100x16xf32>
  return
}

// CHECK-LABEL: @losses
func.func @losses(%logits: tensor<2x8x100xbf16>, %targets: tensor<2x8xi64>, %y: tensor<4xf32>) {
  // CHECK: remat.cross_entropy %{{[^{]*}} : (tensor<2x8x100xbf16>, tensor<2x8xi64>) -> (tensor<f32>, tensor<2x8xf32>)
  %loss, %lse = remat.cross_entropy %logits, %targets : (tensor<2x8x100xbf16>, tensor<2x8xi64>) -> (tensor<f32>, tensor<2x8xf32>)
  // CHECK: remat.cross_entropy_backward %{{.*}} {ignore_index = -1 : i64} : (tensor<f32>, tensor<2x8x100xbf16>, tensor<2x8xi64>, tensor<2x8xf32>) -> tensor<2x8x100xbf16>
  %0 = remat.cross_entropy_backward %loss, %logits, %targets, %lse {ignore_index = -1 : i64} : (tensor<f32>, tensor<2x8x100xbf16>, tensor<2x8xi64>, tensor<2x8xf32>) -> tensor<2x8x100xbf16>
  // CHECK: remat.mse %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %1 = remat.mse %y, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return
}
