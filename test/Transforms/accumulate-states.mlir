// RUN: remat-opt %s --remat-accumulate=micro-batches=2 | FileCheck %s

// What a micro-batch leaves in the state is what the next one finds there: it is
// carried, and written once a step. An output that shows the state shows what
// each micro-batch read. A state that is not updated is read.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3xf32> {{.*}}, %[[S:[^:]*]]: tensor<3xf32> {remat.donated = 0 : i64, {{.*}}, %[[C:[^:]*]]: tensor<3xf32> {remat.name = "c"
// CHECK-NEXT: %[[MADE:.*]]:3 = remat.scan 2 (%[[S0:.*]] = %[[S]] : tensor<3xf32>) over (%[[X0:.*]] = %[[X]] : tensor<2x3xf32>) with (%[[C0:.*]] = %[[C]] : tensor<3xf32>)
// CHECK-NEXT: %[[S1:.*]] = remat.add %[[S0]], %[[X0]]
// CHECK-NEXT: %[[P:.*]] = remat.mul %[[X0]], %[[C0]]
// CHECK-NEXT: remat.yield %[[S1]], %[[S0]], %[[P]]
// CHECK: return %[[MADE]]#0, %[[MADE]]#1, %[[MADE]]#2
func.func @main(%x: tensor<3xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %s: tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 0 : i64},
                %c: tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "c"})
    -> (tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "s"},
        tensor<3xf32> {remat.role = #remat.role<output>, remat.name = "old"},
        tensor<3xf32> {remat.role = #remat.role<output>, remat.name = "p"}) {
  %new = remat.add %s, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %p = remat.mul %x, %c : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %new, %s, %p : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Two states that change places: each micro-batch reads what was there before.
// CHECK-LABEL: func.func @swap
// CHECK-SAME: %[[A:[^:]*]]: tensor<3xf32> {{{.*}}remat.name = "a"{{.*}}}, %[[B:[^:]*]]: tensor<3xf32> {{{.*}}remat.name = "b"
// CHECK-NEXT: %[[MADE:.*]]:2 = remat.scan 2 (%[[A0:.*]] = %[[A]] : tensor<3xf32>, %[[B0:.*]] = %[[B]] : tensor<3xf32>)
// CHECK-NEXT: remat.yield %[[B0]], %[[A0]]
// CHECK: return %[[MADE]]#0, %[[MADE]]#1
func.func @swap(%x: tensor<3xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %a: tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "a", remat.donated = 0 : i64},
                %b: tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "b", remat.donated = 1 : i64})
    -> (tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "a"},
        tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "b"}) {
  return %b, %a : tensor<3xf32>, tensor<3xf32>
}
