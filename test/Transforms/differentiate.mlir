// RUN: remat-opt %s --remat-differentiate | FileCheck %s
// RUN: remat-opt %s --remat-differentiate --mlir-print-debuginfo --mlir-print-op-generic | FileCheck %s --check-prefix=LOC

// The example of Passes.td. Every element of relu's gradient is 1 where the
// result is positive; x is an input, so that the product has one gradient.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32> {{.*}}, %[[W:.*]]: tensor<3x4xf32>
// CHECK-SAME: -> (tensor<f32> {remat.name = "loss", remat.role = #remat.role<loss>}, tensor<3x4xf32> {remat.name = "grad.w", remat.role = #remat.role<gradient>})
// CHECK-NEXT: %[[P:.*]] = remat.matmul %[[X]], %[[W]]
// CHECK-NEXT: %[[Y:.*]] = remat.relu %[[P]] : tensor<2x4xf32>
// CHECK-NEXT: %[[LOSS:.*]] = remat.reduce <sum> %[[Y]], [0, 1] :
// CHECK-NEXT: %[[ONE:.*]] = remat.constant {remat.phase = #remat.phase<backward>} dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[SMALL:.*]] = remat.reshape %[[ONE]] {remat.phase = #remat.phase<backward>} : tensor<f32> to tensor<1x1xf32>
// CHECK-NEXT: %[[DY:.*]] = remat.broadcast %[[SMALL]] {remat.phase = #remat.phase<backward>} : tensor<1x1xf32> to tensor<2x4xf32>
// CHECK-NEXT: %[[DP:.*]] = remat.relu_backward %[[Y]], %[[DY]] {remat.phase = #remat.phase<backward>} : tensor<2x4xf32>
// CHECK-NEXT: %[[DW:.*]] = remat.matmul %[[X]], %[[DP]] {remat.phase = #remat.phase<backward>, transpose_lhs} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: return %[[LOSS]], %[[DW]] : tensor<f32>, tensor<3x4xf32>
func.func @main(%x: tensor<2x3xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<3x4xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = remat.relu %0 : tensor<2x4xf32>
  %loss = remat.reduce <sum> %1, [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// A graph without a loss has no backward.
// CHECK-LABEL: func.func @forward_only
// CHECK-NEXT: %[[Y:.*]] = remat.gelu
// CHECK-NEXT: return %[[Y]] : tensor<3xf32>
func.func @forward_only(%w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<3xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.gelu %w : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// A weight of [4, 5] serves 2 * 3 rows: its gradient contracts 6 rows at once,
// [6, 4]^T [6, 5], with no [2, 4, 5] in between. The bias gradient sums the same
// 6 rows; both stand before the gradient of the activation. The order of the
// results is that of the parameters.
// CHECK-LABEL: func.func @weight_of_a_batch
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x3x4xf32>
// CHECK-SAME: %[[W:[^:]*]]: tensor<4x5xf32>
// CHECK: %[[H:.*]] = remat.tanh %[[X]] : tensor<2x3x4xf32>
// CHECK: %[[DY:.*]] = remat.broadcast {{.*}} to tensor<2x3x5xf32>
// CHECK-NEXT: %[[DB:.*]] = remat.reduce <sum> %[[DY]], [0, 1] {{.*}} -> tensor<5xf32>
// CHECK-NEXT: %[[ROWS:.*]] = remat.reshape %[[H]] {{.*}} : tensor<2x3x4xf32> to tensor<6x4xf32>
// CHECK-NEXT: %[[GROWS:.*]] = remat.reshape %[[DY]] {{.*}} : tensor<2x3x5xf32> to tensor<6x5xf32>
// CHECK-NEXT: %[[DW:.*]] = remat.matmul %[[ROWS]], %[[GROWS]] {{{.*}}transpose_lhs} : (tensor<6x4xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT: %[[DH:.*]] = remat.matmul %[[DY]], %[[W]] {{{.*}}transpose_rhs} : (tensor<2x3x5xf32>, tensor<4x5xf32>) -> tensor<2x3x4xf32>
// CHECK-NOT: remat.transpose
// CHECK: return %{{.*}}, %[[DX:.*]], %[[DW]], %[[DB]] :
func.func @weight_of_a_batch(
    %x: tensor<2x3x4xf32> {remat.role = #remat.role<parameter>, remat.name = "x"},
    %w: tensor<4x5xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
    %b: tensor<5xf32> {remat.role = #remat.role<parameter>, remat.name = "b"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %h = remat.tanh %x : tensor<2x3x4xf32>
  %y = remat.matmul %h, %w bias %b : (tensor<2x3x4xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %loss = remat.reduce <sum> %y, [0, 1, 2] : (tensor<2x3x5xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// transpose_rhs, as a tied output layer has it: w [5, 4] with y = x w^T. Its
// gradient dy^T x is [5, 6] [6, 4], the activation's is dy w: flags alone.
// CHECK-LABEL: func.func @transposed_weight
// CHECK: %[[DW:.*]] = remat.matmul %{{.*}}, %{{.*}} {{{.*}}transpose_lhs} : (tensor<6x5xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: remat.matmul %{{.*}}, %{{.*}} {remat.phase = #remat.phase<backward>} : (tensor<2x3x5xf32>, tensor<5x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NOT: remat.transpose
func.func @transposed_weight(
    %x: tensor<2x3x4xf32> {remat.role = #remat.role<parameter>, remat.name = "x"},
    %w: tensor<5x4xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %y = remat.matmul %x, %w {transpose_rhs} : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
  %loss = remat.reduce <sum> %y, [0, 1, 2] : (tensor<2x3x5xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// A parameter used twice has one gradient, d(a^2 + 3a)/da = 2a + 3: the later
// use's share comes first, the sum is in that order at every run.
// CHECK-LABEL: func.func @used_twice
// CHECK-SAME: (%[[A:[^:]*]]: tensor<f32>
// CHECK: %[[THREE:.*]] = remat.constant dense<3.0{{.*}}> : tensor<f32>
// CHECK: %[[LATER:.*]] = remat.mul %[[ONE:.*]], %[[THREE]] {remat.phase = #remat.phase<backward>}
// CHECK-NEXT: %[[LEFT:.*]] = remat.mul %[[ONE]], %[[A]] {remat.phase = #remat.phase<backward>}
// CHECK-NEXT: %[[RIGHT:.*]] = remat.mul %[[ONE]], %[[A]] {remat.phase = #remat.phase<backward>}
// CHECK-NEXT: %[[FIRST:.*]] = remat.add %[[LATER]], %[[LEFT]] {remat.phase = #remat.phase<backward>}
// CHECK-NEXT: %[[SUM:.*]] = remat.add %[[FIRST]], %[[RIGHT]] {remat.phase = #remat.phase<backward>}
// CHECK-NEXT: return %{{.*}}, %[[SUM]] :
func.func @used_twice(%a: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "a"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %three = remat.constant dense<3.0> : tensor<f32>
  %square = remat.mul %a, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %triple = remat.mul %a, %three : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = remat.add %square, %triple : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// [3, 1] + [2, 1, 4] broadcasts to [2, 3, 4]: the gradients are summed over
// dimensions 0 and 2, and over 1.
// CHECK-LABEL: func.func @broadcast
// CHECK: %[[G:.*]] = remat.broadcast {{.*}} to tensor<2x3x4xf32>
// CHECK-NEXT: %[[SA:.*]] = remat.reduce <sum> %[[G]], [0, 2] {{.*}} -> tensor<3xf32>
// CHECK-NEXT: %[[DA:.*]] = remat.reshape %[[SA]] {{.*}} to tensor<3x1xf32>
// CHECK-NEXT: %[[SB:.*]] = remat.reduce <sum> %[[G]], [1] {{.*}} -> tensor<2x4xf32>
// CHECK-NEXT: %[[DB:.*]] = remat.reshape %[[SB]] {{.*}} to tensor<2x1x4xf32>
// CHECK-NEXT: return %{{.*}}, %[[DA]], %[[DB]] :
func.func @broadcast(%a: tensor<3x1xf32> {remat.role = #remat.role<parameter>, remat.name = "a"},
                     %b: tensor<2x1x4xf32> {remat.role = #remat.role<parameter>, remat.name = "b"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.add %a, %b : (tensor<3x1xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  %loss = remat.reduce <sum> %0, [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// What each adjoint reads: gelu its operand, softmax, exp, sqrt, tanh and
// sigmoid their results, dropout nothing but the gradient.
// CHECK-LABEL: func.func @reads_the_least
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x4xf32>
// CHECK: %[[GELU:.*]] = remat.gelu %[[X]] {kind = #remat.gelu_kind<tanh>}
// CHECK: %[[DROPPED:.*]] = remat.dropout %[[GELU]], %[[SEED:.*]], %[[STEP:.*]] {id = 7 : i64, p = 2.500000e-01 : f64}
// CHECK: %[[EXP:.*]] = remat.exp
// CHECK: %[[SQRT:.*]] = remat.sqrt
// CHECK: %[[TANH:.*]] = remat.tanh
// CHECK: %[[SIGMOID:.*]] = remat.sigmoid
// CHECK: %[[SOFTMAX:.*]] = remat.softmax
// CHECK: remat.softmax_backward %[[SOFTMAX]], %{{.*}}
// CHECK: remat.sub %{{.*}}, %[[SIGMOID]] {remat.phase
// CHECK: remat.mul %[[TANH]], %[[TANH]] {remat.phase
// CHECK: remat.div %{{.*}}, %[[SQRT]] {remat.phase
// CHECK: %[[DEXP:.*]] = remat.mul %{{.*}}, %[[EXP]] {remat.phase
// CHECK-NEXT: %[[DDROP:.*]] = remat.dropout %[[DEXP]], %[[SEED]], %[[STEP]] {id = 7 : i64, p = 2.500000e-01 : f64, remat.phase
// CHECK-NEXT: %[[DX:.*]] = remat.gelu_backward %[[X]], %[[DDROP]] {kind = #remat.gelu_kind<tanh>, remat.phase
// CHECK-NEXT: return %{{.*}}, %[[DX]] :
func.func @reads_the_least(
    %x: tensor<2x4xf32> {remat.role = #remat.role<parameter>, remat.name = "x"},
    %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
    %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.gelu %x {kind = #remat.gelu_kind<tanh>} : tensor<2x4xf32>
  %1 = remat.dropout %0, %seed, %step {p = 0.25, id = 7} : tensor<2x4xf32>
  %2 = remat.exp %1 : tensor<2x4xf32>
  %3 = remat.sqrt %2 : tensor<2x4xf32>
  %4 = remat.tanh %3 : tensor<2x4xf32>
  %5 = remat.sigmoid %4 : tensor<2x4xf32>
  %6 = remat.softmax %5 : tensor<2x4xf32>
  %loss = remat.reduce <sum> %6, [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// Shape operations move gradients and read nothing: a slice of columns 1 and 2
// of 5 is padded by 1 and 2, the permutation (2, 0, 1) is undone by (1, 2, 0), a
// roll of 5 columns by 2 is undone by 3.
// CHECK-LABEL: func.func @shapes
// CHECK-SAME: (%[[X:[^:]*]]: tensor<3x5xf32>
// CHECK: remat.transpose %{{.*}}, [2, 0, 1] :
// CHECK: remat.transpose %{{.*}}, [1, 2, 0] {remat.phase
// CHECK-NEXT: remat.reshape %{{.*}} : tensor<3x2x1xf32> to tensor<3x2xf32>
// CHECK-NEXT: %[[DR:.*]] = remat.pad %{{.*}}, [0, 1] [0, 2] {{.*}} -> tensor<3x5xf32>
// CHECK-NEXT: %[[DX:.*]] = remat.roll %[[DR]] {dim = 1 : i64, remat.phase = #remat.phase<backward>, shift = 3 : i64} : tensor<3x5xf32>
// CHECK-NEXT: return %{{.*}}, %[[DX]] :
func.func @shapes(%x: tensor<3x5xf32> {remat.role = #remat.role<parameter>, remat.name = "x"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %r = remat.roll %x {dim = 1 : i64, shift = 2 : i64} : tensor<3x5xf32>
  %0 = remat.slice %r, [0, 1] [3, 2] : (tensor<3x5xf32>) -> tensor<3x2xf32>
  %1 = remat.reshape %0 : tensor<3x2xf32> to tensor<3x2x1xf32>
  %2 = remat.transpose %1, [2, 0, 1] : (tensor<3x2x1xf32>) -> tensor<1x3x2xf32>
  %loss = remat.reduce <sum> %2, [0, 1, 2] : (tensor<1x3x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// layer_norm hands x, scale, mean and rstd to its backward, attention its
// operands, result and log-sum-exp, with its options; the embedding its ids.
// CHECK-LABEL: func.func @layers
// CHECK-SAME: (%[[IDS:[^:]*]]: tensor<2x4xi64> {{[^%]*}}, %[[TABLE:[^:]*]]: tensor<9x24xf32> {{[^%]*}}, %[[SCALE:[^:]*]]: tensor<24xf32>
// CHECK: %[[X:.*]] = remat.embedding
// CHECK: %[[NORM:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = remat.layer_norm %[[X]]
// CHECK: %[[QKV:.*]] = remat.reshape %[[NORM]]
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = remat.attention %[[QKV]]
// CHECK: %[[DQKV:.*]] = remat.attention_backward %{{.*}} qkv %[[QKV]] output %[[OUT]], %[[LSE]] {causal, {{.*}}remat.phase = #remat.phase<backward>, scale = 2.500000e-01
// CHECK: %[[DNORM:.*]] = remat.reshape %[[DQKV]]
// CHECK-NEXT: %[[DX:.*]], %[[DSCALE:.*]], %[[DBIAS:.*]] = remat.layer_norm_backward %[[DNORM]], %[[X]], %[[SCALE]], %[[MEAN]], %[[RSTD]]
// CHECK-NEXT: %[[DTABLE:.*]] = remat.embedding_backward %[[IDS]], %[[DX]]
// CHECK-NEXT: return %{{.*}}, %[[DTABLE]], %[[DSCALE]], %[[DBIAS]] :
func.func @layers(
    %ids: tensor<2x4xi64> {remat.role = #remat.role<input>, remat.name = "ids", remat.bound = 9 : i64},
    %table: tensor<9x24xf32> {remat.role = #remat.role<parameter>, remat.name = "table"},
    %scale: tensor<24xf32> {remat.role = #remat.role<parameter>, remat.name = "scale"},
    %bias: tensor<24xf32> {remat.role = #remat.role<parameter>, remat.name = "bias"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %x = remat.embedding %ids, %table : (tensor<2x4xi64>, tensor<9x24xf32>) -> tensor<2x4x24xf32>
  %norm, %mean, %rstd = remat.layer_norm %x, %scale, %bias : (tensor<2x4x24xf32>, tensor<24xf32>, tensor<24xf32>) -> (tensor<2x4x24xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %qkv = remat.reshape %norm : tensor<2x4x24xf32> to tensor<2x4x3x2x4xf32>
  %out, %lse = remat.attention %qkv {causal, scale = 0.25} : (tensor<2x4x3x2x4xf32>) -> (tensor<2x4x2x4xf32>, tensor<2x2x4xf32>)
  %loss = remat.reduce <mean> %out, [0, 1, 2, 3] : (tensor<2x4x2x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// Heads that share a key and a value: their gradients have as many heads as they,
// and the window is the backward's too.
// CHECK-LABEL: func.func @grouped_attention
// CHECK: remat.attention_backward {{.*}} {causal, {{.*}}window = 2 : i64} : {{.*}} -> (tensor<1x4x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>)
func.func @grouped_attention(
    %q: tensor<1x4x4x2xf32> {remat.role = #remat.role<parameter>, remat.name = "q"},
    %k: tensor<1x4x2x2xf32> {remat.role = #remat.role<parameter>, remat.name = "k"},
    %v: tensor<1x4x2x2xf32> {remat.role = #remat.role<parameter>, remat.name = "v"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %out, %lse = remat.attention %q, %k, %v {causal, window = 2} : (tensor<1x4x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> (tensor<1x4x4x2xf32>, tensor<1x4x4xf32>)
  %loss = remat.reduce <mean> %out, [0, 1, 2, 3] : (tensor<1x4x4x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// Where the loss reads no result of an operation, nothing is differentiated:
// the sine of w is an output only.
// CHECK-LABEL: func.func @no_gradient_flows
// CHECK: remat.sin
// CHECK-NOT: remat.cos
// CHECK: return
func.func @no_gradient_flows(%w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<3xf32> {remat.role = #remat.role<output>, remat.name = "sine"}) {
  %0 = remat.sin %w : tensor<3xf32>
  %loss = remat.reduce <sum> %w, [0] : (tensor<3xf32>) -> tensor<f32>
  return %loss, %0 : tensor<f32>, tensor<3xf32>
}

// The output layer's half of the gradient of a tied table waits as bf16, 6 * 2
// bytes, until the embedding's half is there, and is cast then.
// CHECK-LABEL: func.func @tied
// CHECK: %[[HALF:.*]] = remat.matmul {{.*}} -> tensor<3x2xbf16>
// CHECK-NEXT: %[[DX:.*]] = remat.matmul {{.*}} -> tensor<4x2xbf16>
// CHECK-NEXT: %[[ROWS:.*]] = remat.cast %[[DX]] {{.*}} to tensor<4x2xf32>
// CHECK-NEXT: %[[OTHER:.*]] = remat.embedding_backward %{{.*}}, %[[ROWS]]
// CHECK-NEXT: %[[WIDE:.*]] = remat.cast %[[HALF]] {remat.phase = #remat.phase<backward>} : tensor<3x2xbf16> to tensor<3x2xf32>
// CHECK-NEXT: remat.add %[[WIDE]], %[[OTHER]]
func.func @tied(%ids: tensor<4xi64> {remat.role = #remat.role<input>, remat.name = "ids", remat.bound = 3 : i64},
                %table: tensor<3x2xf32> {remat.role = #remat.role<parameter>, remat.name = "table"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.embedding %ids, %table : (tensor<4xi64>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %x = remat.cast %0 : tensor<4x2xf32> to tensor<4x2xbf16>
  %w = remat.cast %table : tensor<3x2xf32> to tensor<3x2xbf16>
  %y = remat.matmul %x, %w {transpose_rhs} : (tensor<4x2xbf16>, tensor<3x2xbf16>) -> tensor<4x3xbf16>
  %loss, %lse = remat.cross_entropy %y, %ids : (tensor<4x3xbf16>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
  return %loss : tensor<f32>
}

// A backward operation carries the location of its forward operation.
// LOC: "func.func"() <{{{.*}}sym_name = "located"
// LOC: "remat.relu"({{.*}} loc(#[[RELU:.*]])
// LOC: "remat.relu_backward"({{.*}} loc(#[[BACK:.*]])
// LOC-DAG: #[[PLACE:.*]] = loc("relu.py":3:1)
// LOC-DAG: #[[RELU]] = loc("relu"(#[[PLACE]]))
// LOC-DAG: #[[BACK]] = loc(fused<#remat.phase<backward>>[#[[RELU]]])
func.func @located(%w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.relu %w : tensor<3xf32> loc("relu.py":3:1)
  %loss = remat.reduce <sum> %0, [0] : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
