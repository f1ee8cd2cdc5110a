// RUN: remat-opt %s --remat-accumulate=micro-batches=2 | FileCheck %s

// What micro-batch 0 leaves in the state is what micro-batch 1 finds there, and
// what that leaves is the result: written once a step. An output that shows the
// state shows what each micro-batch read. A state that is not updated is the
// same for all.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3xf32> {{.*}}, %[[S:[^:]*]]: tensor<3xf32> {remat.donated = 0 : i64, {{.*}}, %[[C:[^:]*]]: tensor<3xf32> {remat.name = "c"
// CHECK: %[[X0:.*]] = remat.reshape
// CHECK-NEXT: %[[S1:.*]] = remat.add %[[S]], %[[X0]]
// CHECK-NEXT: %[[P0:.*]] = remat.mul %[[X0]], %[[C]]
// CHECK: %[[X1:.*]] = remat.reshape
// CHECK-NEXT: %[[S2:.*]] = remat.add %[[S1]], %[[X1]]
// CHECK-NEXT: %[[P1:.*]] = remat.mul %[[X1]], %[[C]]
// CHECK-DAG: %[[OLD0:.*]] = remat.reshape %[[S]] : tensor<3xf32> to tensor<1x3xf32>
// CHECK-DAG: %[[OLD1:.*]] = remat.reshape %[[S1]] : tensor<3xf32> to tensor<1x3xf32>
// CHECK-DAG: %[[OLD:.*]] = remat.concat %[[OLD0]], %[[OLD1]]
// CHECK-DAG: %[[P:.*]] = remat.concat
// CHECK: return %[[S2]], %[[OLD]], %[[P]]
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

// Two states that change places: both read what was there before.
// CHECK-LABEL: func.func @swap
// CHECK-SAME: %[[A:[^:]*]]: tensor<3xf32> {{{.*}}remat.name = "a"{{.*}}}, %[[B:[^:]*]]: tensor<3xf32> {{{.*}}remat.name = "b"
// CHECK: return %[[A]], %[[B]]
func.func @swap(%x: tensor<3xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %a: tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "a", remat.donated = 0 : i64},
                %b: tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "b", remat.donated = 1 : i64})
    -> (tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "a"},
        tensor<3xf32> {remat.role = #remat.role<state>, remat.name = "b"}) {
  return %b, %a : tensor<3xf32>, tensor<3xf32>
}
