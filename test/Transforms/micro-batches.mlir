// The loop over micro-batches is planned within the budget, as a whole step.

// RUN: remat-opt %s -remat-fit-budget | FileCheck %s
// RUN: remat-opt %s -remat-fit-budget=budget=smallest | FileCheck %s --check-prefix=SMALL
// RUN: not remat-opt %s -remat-fit-budget=budget=8191 2>&1 | FileCheck %s --check-prefix=REFUSED

// The input has 4 rows of 1024 bytes; the parameter and the sum have 1024 each.
// b, c and d are there at once: 4096 + 2 * 1024 + 3 * 1024 = 9216. Sum, row and
// parameter stand for the first 3072 bytes of the body's arena; what is above is
// the workspace. The sum begins in the bytes in which it ends.
// CHECK: remat.arena_bytes = 9216
// CHECK-SAME: peak = 9216, unplanned = 9216, smallest = 8192, {{.*}} recomputed = 0,
// CHECK: %[[ZERO:.*]] = remat.constant {remat.offsets = array<i64: 8192>}
// CHECK: remat.scan 4 (%[[SUM:.*]] = %[[ZERO]] : {{.*}} attributes {arena = 6144 : i64, micro_batches, remat.offsets = array<i64: 8192>, remat.workspace = array<i64: 5120, 3072>} {
// CHECK: remat.add %[[SUM]], {{.*}} {remat.offsets = array<i64: 0>

// One of the three less, b, is made again from its row and the parameter in each
// micro-batch.
// SMALL: remat.arena_bytes = 8192
// SMALL-SAME: #remat.plan<"search", budget = 8192, peak = 8192, unplanned = 9216, smallest = 8192, {{.*}} recomputed = 2,
// SMALL: remat.scan 4 {{.*}} attributes {arena = 5120 : i64, micro_batches, {{.*}}remat.workspace = array<i64: 5120, 2048>} {
// SMALL: remat.mul {{.*}} {remat.offsets = {{.*}}, remat.origin = 0 : i64}
// SMALL-NEXT: remat.softmax {{.*}} {remat.offsets = {{.*}}, remat.origin = 1 : i64}

// A refusal is about the whole step: 3072 of the input's bytes are rows of other
// micro-batches.
// REFUSED: error: budget of 8191 bytes is refused: the smallest peak found is 8192 bytes, 9216 without recomputation
// REFUSED: note: inputs: 'tensor<3x256xf32>' 'x[1:]' holds 3072 bytes there
func.func @main(
    %x: tensor<4x256xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %w: tensor<256xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.donated = 0 : i64})
    -> (tensor<256xf32> {remat.role = #remat.role<parameter>, remat.name = "w"}) {
  %0 = remat.constant dense<-0.0> : tensor<256xf32>
  %1 = remat.scan 4 (%s = %0 : tensor<256xf32>) over (%row = %x : tensor<4x256xf32>) with (%v = %w : tensor<256xf32>) -> tensor<256xf32> attributes {micro_batches} {
    %a = remat.mul %row, %v : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    %b = remat.softmax %a : tensor<256xf32>
    %c = remat.softmax %b : tensor<256xf32>
    %d = remat.softmax %c : tensor<256xf32>
    %f = remat.softmax_backward %d, %d {remat.phase = #remat.phase<backward>} : tensor<256xf32>
    %g = remat.softmax_backward %c, %f {remat.phase = #remat.phase<backward>} : tensor<256xf32>
    %h = remat.softmax_backward %b, %g {remat.phase = #remat.phase<backward>} : tensor<256xf32>
    %i = remat.add %s, %h {remat.phase = #remat.phase<backward>} : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    remat.yield %i : tensor<256xf32>
  }
  %2 = remat.add %w, %1 : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  return %2 : tensor<256xf32>
}
