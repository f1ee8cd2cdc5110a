// RUN: remat-opt %s --remat-autocast=type=bf16 | FileCheck %s
// RUN: remat-opt %s --remat-autocast=type=f16 | FileCheck %s --check-prefix=F16
// RUN: not remat-opt %s --remat-autocast=type=fp8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown autocast type 'fp8'
// UNKNOWN: note: known are bf16 and f16

// The example of Passes.td. Activations take 2 bytes an element: the [2, 4]
// product 16 instead of 32.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x3xf32> {{.*}}, %[[W:[^:]*]]: tensor<3x4xf32> {{.*}}, %[[T:[^:]*]]: tensor<2x4xf32>
// CHECK-NEXT: %[[LX:.*]] = remat.cast %[[X]] : tensor<2x3xf32> to tensor<2x3xbf16>
// CHECK-NEXT: %[[LW:.*]] = remat.cast %[[W]] : tensor<3x4xf32> to tensor<3x4xbf16>
// CHECK-NEXT: %[[P:.*]] = remat.matmul %[[LX]], %[[LW]] : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
// CHECK-NEXT: %[[Y:.*]] = remat.relu %[[P]] : tensor<2x4xbf16>
// CHECK-NEXT: %[[FULL:.*]] = remat.cast %[[Y]] : tensor<2x4xbf16> to tensor<2x4xf32>
// CHECK-NEXT: %[[LOSS:.*]] = remat.mse %[[FULL]], %[[T]] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<f32>
// CHECK-NEXT: return %[[LOSS]] : tensor<f32>
// F16-LABEL: func.func @main
// F16: remat.matmul {{.*}} -> tensor<2x4xf16>
func.func @main(%x: tensor<2x3xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<3x4xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
                %t: tensor<2x4xf32> {remat.role = #remat.role<input>, remat.name = "t"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = remat.relu %0 : tensor<2x4xf32>
  %2 = remat.mse %1, %t : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// The residual stream stays low from the embedding to the logits. The table is
// gathered in f32 and cast once for the tied head; scale, bias and statistics of
// the norm stay f32; cross_entropy reads bf16 logits and gives an f32 loss.
// CHECK-LABEL: func.func @language_model
// CHECK-SAME: (%[[IDS:[^:]*]]: tensor<6xi64> {{.*}}, %[[TABLE:[^:]*]]: tensor<9x4xf32>
// CHECK-NEXT: %[[ROWS:.*]] = remat.embedding %[[IDS]], %[[TABLE]] : (tensor<6xi64>, tensor<9x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: %[[X:.*]] = remat.cast %[[ROWS]] : tensor<6x4xf32> to tensor<6x4xbf16>
// CHECK-NEXT: %[[N:.*]], %{{.*}}, %{{.*}} = remat.layer_norm %[[X]], %{{.*}}, %{{.*}} : (tensor<6x4xbf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<6x4xbf16>, tensor<6xf32>, tensor<6xf32>)
// CHECK-NEXT: %[[G:.*]] = remat.gelu %[[N]] : tensor<6x4xbf16>
// CHECK-NEXT: %[[R:.*]] = remat.add %[[X]], %[[G]] : (tensor<6x4xbf16>, tensor<6x4xbf16>) -> tensor<6x4xbf16>
// CHECK-NEXT: %[[LT:.*]] = remat.cast %[[TABLE]] : tensor<9x4xf32> to tensor<9x4xbf16>
// CHECK-NEXT: %[[LOGITS:.*]] = remat.matmul %[[R]], %[[LT]] {transpose_rhs} {{.*}} -> tensor<6x9xbf16>
// CHECK-NEXT: %[[LOSS:.*]], %{{.*}} = remat.cross_entropy %[[LOGITS]], %{{.*}} : (tensor<6x9xbf16>, tensor<6xi64>) -> (tensor<f32>, tensor<6xf32>)
// CHECK-NEXT: return %[[LOSS]]
func.func @language_model(
    %ids: tensor<6xi64> {remat.role = #remat.role<input>, remat.name = "ids", remat.bound = 9 : i64},
    %table: tensor<9x4xf32> {remat.role = #remat.role<parameter>, remat.name = "table"},
    %scale: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "scale"},
    %bias: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "bias"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %x = remat.embedding %ids, %table : (tensor<6xi64>, tensor<9x4xf32>) -> tensor<6x4xf32>
  %n, %mean, %rstd = remat.layer_norm %x, %scale, %bias : (tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<6x4xf32>, tensor<6xf32>, tensor<6xf32>)
  %g = remat.gelu %n : tensor<6x4xf32>
  %r = remat.add %x, %g : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %logits = remat.matmul %r, %table {transpose_rhs} : (tensor<6x4xf32>, tensor<9x4xf32>) -> tensor<6x9xf32>
  %loss, %lse = remat.cross_entropy %logits, %ids : (tensor<6x9xf32>, tensor<6xi64>) -> (tensor<f32>, tensor<6xf32>)
  return %loss : tensor<f32>
}

// A value is cast once for all its readers, and back to its own type by the
// value itself. The mask of attention and its log-sum-exp keep their types.
// CHECK-LABEL: func.func @one_cast
// CHECK-SAME: (%[[X:[^:]*]]: tensor<1x4x3x2x8xf32> {{.*}}, %[[M:[^:]*]]: tensor<4x4xf32>
// CHECK-NEXT: %[[LX:.*]] = remat.cast %[[X]]
// CHECK-NEXT: %[[A:.*]], %[[LSE:.*]] = remat.attention %[[LX]] mask %[[M]] : (tensor<1x4x3x2x8xbf16>, tensor<4x4xf32>) -> (tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>)
// CHECK-NEXT: %[[B:.*]], %{{.*}} = remat.attention %[[LX]] {causal}
// CHECK-NEXT: %[[S:.*]] = remat.add %[[A]], %[[B]]
// CHECK-NEXT: %[[E:.*]] = remat.exp %[[X]] : tensor<1x4x3x2x8xf32>
// CHECK-NEXT: %[[FULL:.*]] = remat.cast %[[S]] : tensor<1x4x2x8xbf16> to tensor<1x4x2x8xf32>
// CHECK-NEXT: return %[[FULL]], %[[E]], %[[LSE]] :
func.func @one_cast(%x: tensor<1x4x3x2x8xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                    %m: tensor<4x4xf32> {remat.role = #remat.role<input>, remat.name = "m"})
    -> (tensor<1x4x2x8xf32> {remat.role = #remat.role<output>, remat.name = "sum"},
        tensor<1x4x3x2x8xf32> {remat.role = #remat.role<output>, remat.name = "exp"},
        tensor<1x2x4xf32> {remat.role = #remat.role<output>, remat.name = "lse"}) {
  %a, %lse = remat.attention %x mask %m : (tensor<1x4x3x2x8xf32>, tensor<4x4xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  %b, %lse1 = remat.attention %x {causal} : (tensor<1x4x3x2x8xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  %s = remat.add %a, %b : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  %e = remat.exp %x : tensor<1x4x3x2x8xf32>
  return %s, %e, %lse : tensor<1x4x2x8xf32>, tensor<1x4x3x2x8xf32>, tensor<1x2x4xf32>
}

// Constants are remade in the low type, comparisons compare it, a mean to one
// number is made in f32, a row sum follows its operand.
// CHECK-LABEL: func.func @follow
// CHECK-NOT: remat.constant
// CHECK: %[[P:.*]] = remat.matmul {{.*}} -> tensor<3x3xbf16>
// CHECK: %[[HALF:.*]] = remat.constant dense<5.000000e-01> : tensor<bf16>
// CHECK: %[[S:.*]] = remat.mul %[[P]], %[[HALF]] : (tensor<3x3xbf16>, tensor<bf16>) -> tensor<3x3xbf16>
// CHECK: %[[C:.*]] = remat.compare <gt> %[[P]], %[[S]] : (tensor<3x3xbf16>, tensor<3x3xbf16>) -> tensor<3x3xi1>
// CHECK: %[[CHOICE:.*]] = remat.select %[[C]], %[[S]], %[[P]] : (tensor<3x3xi1>, tensor<3x3xbf16>, tensor<3x3xbf16>) -> tensor<3x3xbf16>
// CHECK: %[[ROW:.*]] = remat.reduce <sum> %[[CHOICE]], [1] : (tensor<3x3xbf16>) -> tensor<3xbf16>
// CHECK: %[[FULL:.*]] = remat.cast %[[ROW]] : tensor<3xbf16> to tensor<3xf32>
// CHECK: remat.reduce <mean> %[[FULL]], [0] : (tensor<3xf32>) -> tensor<f32>
func.func @follow(%w: tensor<3x3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %half = remat.constant dense<0.5> : tensor<f32>
  %p = remat.matmul %w, %w : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %s = remat.mul %p, %half : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %c = remat.compare <gt> %p, %s : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xi1>
  %choice = remat.select %c, %s, %p : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %row = remat.reduce <sum> %choice, [1] : (tensor<3x3xf32>) -> tensor<3xf32>
  %loss = remat.reduce <mean> %row, [0] : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// A graph of 16 bits. What sums to one element runs in f32, what follows it in
// the types as written; global_norm takes any type and gives f32, and the
// backward of attention reads what it read before, types and all.
// CHECK-LABEL: func.func @mixed
// CHECK: %[[M:.*]] = remat.reduce <mean> %{{.*}}, [0, 1] {keep_dims} : (tensor<4x4xf32>) -> tensor<1x1xf32>
// CHECK-NEXT: %[[F:.*]] = remat.cast %[[M]] : tensor<1x1xf32> to tensor<1x1xf16>
// CHECK-NEXT: remat.slice %[[F]], [0, 0] [1, 1] : (tensor<1x1xf16>) -> tensor<1x1xf16>
// CHECK: %[[P:.*]] = remat.matmul {{.*}} -> tensor<4x4xbf16>
// CHECK-NEXT: remat.global_norm %[[P]] : (tensor<4x4xbf16>) -> tensor<f32>
// CHECK: remat.attention %{{.*}} : (tensor<1x2x3x1x4xbf16>) -> (tensor<1x2x1x4xbf16>, tensor<1x1x2xf32>)
// CHECK: remat.attention_backward {{.*}} : (tensor<1x2x1x4xf16>, tensor<1x2x3x1x4xf16>, tensor<1x2x1x4xf16>, tensor<1x1x2xf32>) -> tensor<1x2x3x1x4xf16>
func.func @mixed(%x: tensor<4x4xf16> {remat.role = #remat.role<input>, remat.name = "x"},
                 %q: tensor<1x2x3x1x4xf16> {remat.role = #remat.role<input>, remat.name = "q"})
    -> (tensor<1x1xf16> {remat.role = #remat.role<output>, remat.name = "m"},
        tensor<f32> {remat.role = #remat.role<output>, remat.name = "n"},
        tensor<1x2x3x1x4xf16> {remat.role = #remat.role<output>, remat.name = "g"}) {
  %0 = remat.reduce <mean> %x, [0, 1] {keep_dims} : (tensor<4x4xf16>) -> tensor<1x1xf16>
  %m = remat.slice %0, [0, 0] [1, 1] : (tensor<1x1xf16>) -> tensor<1x1xf16>
  %1 = remat.matmul %x, %x : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %n = remat.global_norm %1 : (tensor<4x4xf16>) -> tensor<f32>
  %a, %lse = remat.attention %q : (tensor<1x2x3x1x4xf16>) -> (tensor<1x2x1x4xf16>, tensor<1x1x2xf32>)
  %g = remat.attention_backward %a qkv %q output %a, %lse : (tensor<1x2x1x4xf16>, tensor<1x2x3x1x4xf16>, tensor<1x2x1x4xf16>, tensor<1x1x2xf32>) -> tensor<1x2x3x1x4xf16>
  return %m, %n, %g : tensor<1x1xf16>, tensor<f32>, tensor<1x2x3x1x4xf16>
}

// exp leaves f32 behind, softmax was written for bf16 and stays so.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[E:.*]] = remat.exp %{{.*}} : tensor<4x4xf32>
// CHECK-NEXT: %[[L:.*]] = remat.cast %[[E]] : tensor<4x4xf32> to tensor<4x4xbf16>
// CHECK-NEXT: remat.softmax %[[L]] : tensor<4x4xbf16>
func.func @softmax(%x: tensor<4x4xbf16> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4x4xbf16> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<4x4xbf16>
  %1 = remat.softmax %0 : tensor<4x4xbf16>
  return %1 : tensor<4x4xbf16>
}
