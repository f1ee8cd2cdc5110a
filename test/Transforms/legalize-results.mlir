// RUN: remat-opt %s -split-input-file -remat-legalize-results | FileCheck %s
// RUN: remat-opt %s -split-input-file -remat-legalize-results -remat-assign-memory -remat-verify-memory -o /dev/null

// Nothing to do: the result may be written over the donated argument.
// CHECK-LABEL: @in_place
// CHECK-NEXT: remat.exp
// CHECK-NEXT: return
func.func @in_place(%s: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s"}) {
  %0 = remat.exp %s : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// Donated to the result that returns it: it stays.
// CHECK-LABEL: @itself
// CHECK-NEXT: return %arg0
func.func @itself(%s: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s"}) {
  return %s : tensor<64xf32>
}

// -----

// tanh reads the old state: it moves in front of exp, which overwrites it.
// CHECK-LABEL: @reader_first
// CHECK-NEXT: %[[Y:.*]] = remat.tanh %arg0
// CHECK-NEXT: %[[S:.*]] = remat.exp %arg0
// CHECK-NEXT: return %[[S]], %[[Y]]
func.func @reader_first(%s: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s"},
        tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %s : tensor<64xf32>
  %1 = remat.tanh %s : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// -----

// mul reads the old and the new state: exp cannot write over the old one.
// CHECK-LABEL: @both
// CHECK-NEXT: %[[NEW:.*]] = remat.exp %arg0
// CHECK-NEXT: %[[Y:.*]] = remat.mul %[[NEW]], %arg0
// CHECK-NEXT: %[[COPY:.*]] = remat.copy %[[NEW]] : tensor<64xf32>
// CHECK-NEXT: return %[[COPY]], %[[Y]]
func.func @both(%s: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s"},
        tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %s : tensor<64xf32>
  %1 = remat.mul %0, %s : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// -----

// The same one operation further on: mul reads what is made of the new state.
// CHECK-LABEL: @both_later
// CHECK-NEXT: %[[NEW:.*]] = remat.exp %arg0
// CHECK-NEXT: %[[SIN:.*]] = remat.sin %[[NEW]]
// CHECK-NEXT: %[[Y:.*]] = remat.mul %[[SIN]], %arg0
// CHECK-NEXT: %[[COPY:.*]] = remat.copy %[[NEW]] : tensor<64xf32>
// CHECK-NEXT: return %[[COPY]], %[[Y]]
func.func @both_later(%s: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s"},
        tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %s : tensor<64xf32>
  %1 = remat.sin %0 : tensor<64xf32>
  %2 = remat.mul %1, %s : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0, %2 : tensor<64xf32>, tensor<64xf32>
}

// -----

// The old state is a result as well: it is copied before it is overwritten.
// CHECK-LABEL: @old_returned
// CHECK-NEXT: %[[OLD:.*]] = remat.copy %arg0
// CHECK-NEXT: %[[NEW:.*]] = remat.exp %arg0
// CHECK-NEXT: return %[[NEW]], %[[OLD]]
func.func @old_returned(%s: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s"},
        tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "old"}) {
  %0 = remat.exp %s : tensor<64xf32>
  return %0, %s : tensor<64xf32>, tensor<64xf32>
}

// -----

// Two states change places: one old value waits in a copy.
// CHECK-LABEL: @swap
// CHECK-NEXT: %[[A:.*]] = remat.copy %arg0
// CHECK-NEXT: %[[TO_A:.*]] = remat.copy %arg1
// CHECK-NEXT: %[[TO_B:.*]] = remat.copy %[[A]]
// CHECK-NEXT: return %[[TO_A]], %[[TO_B]]
func.func @swap(%a: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "a", remat.donated = 0 : i64},
                %b: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "b", remat.donated = 1 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "a"},
        tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "b"}) {
  return %b, %a : tensor<64xf32>, tensor<64xf32>
}

// -----

// One value for two states: the second gets a copy.
// CHECK-LABEL: @shared
// CHECK-NEXT: %[[NEW:.*]] = remat.exp %arg2
// CHECK-NEXT: %[[COPY:.*]] = remat.copy %[[NEW]]
// CHECK-NEXT: return %[[NEW]], %[[COPY]]
func.func @shared(%a: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "a", remat.donated = 0 : i64},
                  %b: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "b", remat.donated = 1 : i64},
                  %x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "a"},
        tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "b"}) {
  %0 = remat.exp %x : tensor<64xf32>
  return %0, %0 : tensor<64xf32>, tensor<64xf32>
}

// -----

// matmul can write over neither operand: its result is copied over the state.
// CHECK-LABEL: @not_in_place
// CHECK-NEXT: %[[NEW:.*]] = remat.matmul %arg0, %arg0
// CHECK-NEXT: %[[COPY:.*]] = remat.copy %[[NEW]]
// CHECK-NEXT: return %[[COPY]]
func.func @not_in_place(%s: tensor<8x8xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 0 : i64})
    -> (tensor<8x8xf32> {remat.role = #remat.role<state>, remat.name = "s"}) {
  %0 = remat.matmul %s, %s : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
