// RUN: remat-opt %s -remat-plan="budget=1024 strategy=search" | FileCheck %s
// RUN: remat-opt %s -remat-plan="budget=1024 strategy=search" --remarks-filter=remat-plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: remat-opt %s -remat-plan="budget=1024" -remat-assign-memory -remat-verify-memory | FileCheck %s --check-prefix=ARENA
// RUN: remat-opt %s -remat-plan="strategy=none" | FileCheck %s --check-prefix=NONE
// RUN: remat-opt %s -remat-dump-problem -o /dev/null | FileCheck %s --check-prefix=PROBLEM
// RUN: remat-opt %s -remat-dump-problem -o /dev/null > %t.json
// RUN: remat-solve recompute %t.json --budget 1024 | FileCheck %s --check-prefix=SOLVE

// Every value takes 256 bytes; x is resident. As it stands exp, tanh, sin and cos
// live together at cos: 5 * 256 = 1280. exp is read once more, at the end: computed
// again there it need not be kept, and 4 * 256 = 1024 are enough.

// CHECK: %[[EXP:.*]] = remat.exp %arg0 {remat.id = 0 : i64}
// CHECK-NEXT: %[[TANH:.*]] = remat.tanh %[[EXP]]
// CHECK-NEXT: %[[SIN:.*]] = remat.sin %[[TANH]]
// CHECK-NEXT: %[[COS:.*]] = remat.cos %[[SIN]]
// CHECK-NEXT: %[[A:.*]] = remat.mul %[[COS]], %[[SIN]]
// CHECK-NEXT: %[[B:.*]] = remat.mul %[[A]], %[[TANH]]
// CHECK-NEXT: %[[AGAIN:.*]] = remat.exp %arg0 {remat.origin = 0 : i64}
// CHECK-NEXT: %[[C:.*]] = remat.mul %[[B]], %[[AGAIN]]
// CHECK-NEXT: return %[[C]]

// REMARK: plan.mlir:[[#@LINE+19]]:8: remark: [Passed] recompute | Category:remat-plan
// REMARK-SAME: Bytes=256, Id=0
// REMARK-SAME: Op=exp
// REMARK-NOT: remark

// ARENA: remat.arena_bytes = 1024 : i64

// NONE-NOT: remat.origin

// PROBLEM: {"format": "remat-problem-1"
// PROBLEM: {"name":"x","bytes":256}
// PROBLEM: {"name":"exp.0","time":{{.*}},"inputs":["x"],"outputs":[{"name":"exp.0#0","bytes":256}]}
// PROBLEM: "inputs":["exp.0#0"],"outputs":[{"name":"tanh.1#0","bytes":256,"reuses":"exp.0#0"}]}
// PROBLEM: "results": ["mul.6#0"]

// SOLVE: "feasible":true,{{.*}}"peak":1024

func.func @main(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<64xf32>
  %1 = remat.tanh %0 : tensor<64xf32>
  %2 = remat.sin %1 : tensor<64xf32>
  %3 = remat.cos %2 : tensor<64xf32>
  %4 = remat.mul %3, %2 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %5 = remat.mul %4, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %6 = remat.mul %5, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %6 : tensor<64xf32>
}
