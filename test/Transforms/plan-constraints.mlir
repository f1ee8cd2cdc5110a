// RUN: remat-opt %s -split-input-file -remat-plan="budget=1024" | FileCheck %s
// RUN: remat-opt %s -split-input-file -remat-plan="budget=1024" -remat-assign-memory -remat-verify-memory -o /dev/null
// RUN: remat-opt %s -split-input-file -remat-dump-problem -o /dev/null | FileCheck %s --check-prefix=PROBLEM

// The chain of plan.mlir, with something that forbids the cheapest plan.

// exp must be kept: tanh is computed again instead, from it.
// CHECK-LABEL: @keep
// CHECK: remat.exp
// CHECK-NOT: remat.exp
// CHECK: remat.tanh {{.*}}remat.origin
// PROBLEM: "exp.0"{{.*}}"keep":"must"
func.func @keep(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x {remat.keep = #remat.keep<must>} : tensor<64xf32>
  %1 = remat.tanh %0 : tensor<64xf32>
  %2 = remat.sin %1 : tensor<64xf32>
  %3 = remat.cos %2 : tensor<64xf32>
  %4 = remat.mul %3, %2 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %5 = remat.mul %4, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %6 = remat.mul %5, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %6 : tensor<64xf32>
}

// -----

// s is read by exp and overwritten by the neg of s, which in the text stands
// first. All readers of the old bytes, the clone of exp too, stand before it:
// in the problem it runs after them.
// CHECK-LABEL: @overwritten
// CHECK: remat.exp %arg0 {remat.id = 0 : i64}
// CHECK: remat.exp %arg0 {remat.origin = 0 : i64}
// CHECK: %[[NEW:.*]] = remat.neg %arg0
// CHECK-NOT: %arg0
// CHECK: return {{.*}}, %[[NEW]]
// PROBLEM: "resident": [
// PROBLEM-NEXT: {"name":"s","bytes":256}
// PROBLEM: {"name":"exp.0"
// PROBLEM: {"name":"neg.{{[0-9]+}}","time":{{.*}},"inputs":["s"],"outputs":[{"name":"neg.{{[0-9]+}}#0","bytes":0}],"once":true,"after":["exp.0"]}
func.func @overwritten(%s: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 1 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s"}) {
  %new = remat.neg %s : tensor<64xf32>
  %0 = remat.exp %s : tensor<64xf32>
  %1 = remat.tanh %0 {remat.keep = #remat.keep<must>} : tensor<64xf32>
  %2 = remat.sin %1 : tensor<64xf32>
  %3 = remat.cos %2 : tensor<64xf32>
  %4 = remat.mul %3, %2 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %5 = remat.mul %4, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %6 = remat.mul %5, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %6, %new : tensor<64xf32>, tensor<64xf32>
}

// -----

// s is overwritten before the block holds most: what reads it cannot be computed
// again after that, so that it is kept though it was to be kept never.
// CHECK-LABEL: @early_overwrite
// CHECK-COUNT-1: remat.exp %arg0
// CHECK: remat.neg %arg0
// CHECK-NOT: remat.exp
// PROBLEM: {"name":"exp.0","time":{{[^{}]*}},"outputs":[{"name":"exp.0#0","bytes":256}]}
// PROBLEM: {"name":"neg.1",{{.*}}"after":["exp.0"]}
func.func @early_overwrite(%s: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 1 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s"}) {
  %0 = remat.exp %s {remat.keep = #remat.keep<never>} : tensor<64xf32>
  %new = remat.neg %s : tensor<64xf32>
  %1 = remat.mul %new, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = remat.mul %1, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2, %new : tensor<64xf32>, tensor<64xf32>
}

// -----

// A view is an alias: it costs nothing, and its clone comes with the clone of
// what it shows.
// CHECK-LABEL: @view
// CHECK: %[[EXP:.*]] = remat.exp %arg0 {remat.origin
// CHECK: %[[VIEW:.*]] = remat.reshape %[[EXP]] {remat.origin
// CHECK: remat.mul %{{.*}}, %[[VIEW]]
// PROBLEM: {"name":"reshape.1","time":0.0,"inputs":["exp.0#0"],"outputs":[{"name":"reshape.1#0","bytes":0,"alias":"exp.0#0"}]}
func.func @view(%x: tensor<8x8xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %e = remat.exp %x : tensor<8x8xf32>
  %0 = remat.reshape %e : tensor<8x8xf32> to tensor<64xf32>
  %1 = remat.tanh %0 : tensor<64xf32>
  %2 = remat.sin %1 : tensor<64xf32>
  %3 = remat.cos %2 : tensor<64xf32>
  %4 = remat.mul %3, %2 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %5 = remat.mul %4, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %6 = remat.mul %5, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %6 : tensor<64xf32>
}

// -----

// "never" asks nothing of a result of the graph, nor of what overwrites an
// argument that others read and so cannot be computed again.
// CHECK-LABEL: @never_without_effect
// CHECK: %[[OUT:.*]] = remat.exp
// CHECK: return %[[OUT]]
// PROBLEM-NOT: "keep":"never"
func.func @never_without_effect(%s: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 1 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s"}) {
  %0 = remat.exp %s {remat.keep = #remat.keep<never>} : tensor<64xf32>
  %new = remat.tanh %s {remat.keep = #remat.keep<never>} : tensor<64xf32>
  return %0, %new : tensor<64xf32>, tensor<64xf32>
}
