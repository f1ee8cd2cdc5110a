// Operations over the same rows that become one, before planning: the gradient
// of a norm or of an embedding and what is added to it, a cross entropy and its
// gradient.
// RUN: remat-opt --remat-fuse --split-input-file %s | FileCheck %s
// RUN: remat-opt --remat-fuse=mode=after-plan --split-input-file %s | FileCheck %s --check-prefix=AFTER

// AFTER-NOT: {{[0-9a-z]}} add %
// AFTER-NOT: cross_entropy_with_grad

// The sum takes the place of the gradient, whose only reader it is.
// CHECK-LABEL: func.func @residual
// CHECK: remat.layer_norm_backward %arg0, %arg1, %arg2, %arg3, %arg4 add %arg5
// CHECK-SAME: {remat.phase = #remat.phase<backward>}
// CHECK-NOT: remat.add
func.func @residual(%g: tensor<4x8xbf16>, %x: tensor<4x8xbf16>, %s: tensor<8xf32>,
    %m: tensor<4xf32>, %r: tensor<4xf32>, %a: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<8xf32>) {
  %0:3 = remat.layer_norm_backward %g, %x, %s, %m, %r {remat.phase = #remat.phase<backward>} : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xbf16>, tensor<8xf32>, tensor<8xf32>)
  %1 = remat.add %a, %0#0 {remat.phase = #remat.phase<backward>} : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %1, %0#1 : tensor<4x8xbf16>, tensor<8xf32>
}

// -----

// The addend is made behind the gradient: the gradient moves to the sum.
// CHECK-LABEL: func.func @later
// CHECK: %[[E:.*]] = remat.exp
// CHECK-NEXT: remat.rms_norm_backward %arg0, %arg1, %arg2, %arg3 add %[[E]]
func.func @later(%g: tensor<4x8xf32>, %x: tensor<4x8xf32>, %w: tensor<8xf32>,
    %r: tensor<4xf32>, %a: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %0:2 = remat.rms_norm_backward %g, %x, %w, %r : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  %1 = remat.exp %a : tensor<4x8xf32>
  %2 = remat.add %0#0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2, %0#1 : tensor<4x8xf32>, tensor<8xf32>
}

// -----

// Another reader needs the gradient alone; one that stands between cannot move;
// a sum that repeats its addend is no sum of rows.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: {{[0-9a-z]}} add %
// CHECK-COUNT-3: remat.add
func.func @apart(%g: tensor<4x8xf32>, %x: tensor<4x8xf32>, %w: tensor<8xf32>, %r: tensor<4xf32>,
    %a: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0:2 = remat.rms_norm_backward %g, %x, %w, %r : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  %1 = remat.add %0#0, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2:2 = remat.rms_norm_backward %a, %x, %w, %r : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  %m = remat.reduce <sum> %2#1, [0] : (tensor<8xf32>) -> tensor<f32>
  %3 = remat.broadcast %m : tensor<f32> to tensor<4x8xf32>
  %4 = remat.add %2#0, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %5:2 = remat.rms_norm_backward %g, %a, %w, %r : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  %6 = remat.add %5#0, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0#0, %1, %4, %6 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A norm of its own weight: what is added to the gradient is its other result.
// CHECK-LABEL: func.func @own_weight
// CHECK: %[[X:.*]], %[[W:.*]] = remat.rms_norm_backward %arg0, %arg1, %arg1, %arg2 :
// CHECK-NEXT: remat.add %[[X]], %[[W]]
func.func @own_weight(%g: tensor<8xf32>, %w: tensor<8xf32>, %r: tensor<f32>) -> tensor<8xf32> {
  %0:2 = remat.rms_norm_backward %g, %w, %w, %r : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>)
  %1 = remat.add %0#0, %0#1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// A table's gradient, to which that of the logits is added: widened first or not.
// CHECK-LABEL: func.func @table
// CHECK-NEXT: %[[T:.*]] = remat.embedding_backward %arg0, %arg1 add %arg2 : (tensor<3x2xi32>, tensor<3x2x8xbf16>, tensor<5x8xbf16>) -> tensor<5x8xf32>
// CHECK-NEXT: %[[F:.*]] = remat.embedding_backward %arg0, %arg1 add %arg3 : {{.*}} tensor<5x8xf32>) -> tensor<5x8xf32>
// CHECK-NEXT: return %[[T]], %[[F]]
func.func @table(%ids: tensor<3x2xi32>, %g: tensor<3x2x8xbf16>, %a: tensor<5x8xbf16>,
    %f: tensor<5x8xf32>) -> (tensor<5x8xf32>, tensor<5x8xf32>) {
  %0 = remat.embedding_backward %ids, %g : (tensor<3x2xi32>, tensor<3x2x8xbf16>) -> tensor<5x8xf32>
  %1 = remat.cast %a : tensor<5x8xbf16> to tensor<5x8xf32>
  %2 = remat.add %1, %0 : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  %3 = remat.embedding_backward %ids, %g : (tensor<3x2xi32>, tensor<3x2x8xbf16>) -> tensor<5x8xf32>
  %4 = remat.add %3, %f : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  return %2, %4 : tensor<5x8xf32>, tensor<5x8xf32>
}

// -----

// What is widened from no float, or repeated over the rows, is added as it is.
// CHECK-LABEL: func.func @table_apart
// CHECK: %[[C:.*]] = remat.cast %arg2
// CHECK: remat.embedding_backward %arg0, %arg1 add %[[C]]
// CHECK: remat.embedding_backward %arg0, %arg1 :
// CHECK: remat.add
func.func @table_apart(%ids: tensor<6xi32>, %g: tensor<6x8xf32>, %a: tensor<5x8xi1>,
    %f: tensor<8xf32>) -> (tensor<5x8xf32>, tensor<5x8xf32>) {
  %0 = remat.embedding_backward %ids, %g : (tensor<6xi32>, tensor<6x8xf32>) -> tensor<5x8xf32>
  %1 = remat.cast %a : tensor<5x8xi1> to tensor<5x8xf32>
  %2 = remat.add %1, %0 : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  %3 = remat.embedding_backward %ids, %g : (tensor<6xi32>, tensor<6x8xf32>) -> tensor<5x8xf32>
  %4 = remat.add %3, %f : (tensor<5x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  return %2, %4 : tensor<5x8xf32>, tensor<5x8xf32>
}

// -----

// The gradient that comes in is a scalar that can be made before the loss.
// CHECK-LABEL: func.func @loss
// CHECK: %[[L:.*]] = remat.exp
// CHECK: %[[N:.*]] = remat.neg %arg2
// CHECK: %[[LOSS:.*]], %{{.*}}, %[[GRAD:.*]] = remat.cross_entropy_with_grad %[[N]], %[[L]], %arg1 {ignore_index = 1 : i64, remat.phase = #remat.phase<backward>}
// CHECK: return %[[LOSS]], %[[GRAD]]
func.func @loss(%x: tensor<4x8xf32>, %t: tensor<4xi32>, %s: tensor<f32>) -> (tensor<f32>, tensor<4x8xf32>) {
  %0 = remat.exp %x : tensor<4x8xf32>
  %1:2 = remat.cross_entropy %0, %t {ignore_index = 1 : i64} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %2 = remat.neg %s {remat.phase = #remat.phase<backward>} : tensor<f32>
  %3 = remat.cross_entropy_backward %2, %0, %t, %1#1 {ignore_index = 1 : i64, remat.phase = #remat.phase<backward>} : (tensor<f32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %1#0, %3 : tensor<f32>, tensor<4x8xf32>
}

// -----

// The gradient depends on the loss; the logits are read again, so that the
// gradient would need memory of its own for longer; the logits differ.
// CHECK-LABEL: func.func @losses_apart
// CHECK-NOT: cross_entropy_with_grad
func.func @losses_apart(%x: tensor<4x8xf32>, %t: tensor<4xi32>, %s: tensor<f32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = remat.exp %x : tensor<4x8xf32>
  %1:2 = remat.cross_entropy %0, %t : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %2 = remat.neg %1#0 : tensor<f32>
  %3 = remat.cross_entropy_backward %2, %0, %t, %1#1 : (tensor<f32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  %4 = remat.sqrt %x : tensor<4x8xf32>
  %5:2 = remat.cross_entropy %4, %t : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %6 = remat.cross_entropy_backward %s, %4, %t, %5#1 : (tensor<f32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  %7 = remat.cross_entropy_backward %s, %x, %t, %5#1 : (tensor<f32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %3, %4, %6, %7 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
