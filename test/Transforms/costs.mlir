// Times of a profile stand for those of the target's model: by an operation's
// name, attributes, types and kernel. Timed alone, the steps take 5 + 3 + 4 us,
// together 6; what is subtracted from each is 2 us. Two steps have one key, of
// 3 and 2 us afterwards; their mean is taken.
// RUN: split-file %s %t
// RUN: remat-opt %t/graph.mlir --remat-set-target=costs=%t/profile.json | FileCheck %s --check-prefix=ATTR
// RUN: remat-opt %t/graph.mlir --remat-set-target=costs=%t/profile.json --remat-print-cost -o /dev/null | FileCheck %s
// RUN: remat-opt %t/graph.mlir --remat-set-target=costs=%t/profile.json,%t/later.json --remat-print-cost -o /dev/null | FileCheck %s --check-prefix=LATER
// RUN: not remat-opt %t/graph.mlir --remat-set-target=costs=%t/none.json 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not remat-opt %t/graph.mlir --remat-set-target=costs=%t/text.json 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not remat-opt %t/graph.mlir --remat-set-target=costs=%t/other.json 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not remat-opt %t/graph.mlir --remat-set-target=costs=%t/negative.json 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not remat-opt %t/graph.mlir --remat-set-target=costs=%t/program.json 2>&1 | FileCheck %s --check-prefix=PROGRAM

// ATTR: attributes {remat.costs = {"own exp {} (tensor<4xf32>) -> (tensor<4xf32>)" = 2.500000e+00 : f64, "own neg {} (tensor<4xf32>) -> (tensor<4xf32>)" = 1.000000e+00 : f64}}

// CHECK: exp: {{.*}} 2.500 us own
// CHECK: exp: {{.*}} 2.500 us own
// CHECK: neg: {{.*}} 1.000 us own
// What the profile has not takes what the model says: 0.5 us and 32 bytes at 10 GB/s.
// CHECK: abs: {{.*}} 0.503 us own
// LATER: exp: {{.*}} 2.500 us own
// LATER: neg: {{.*}} 7.000 us own

// RUN: not remat-opt %t/infinite.mlir 2>&1 | FileCheck %s --check-prefix=INFINITE

// INFINITE: error: {{.*}}'remat.costs' must be microseconds from 0 by name on a function
// NONE: error: cannot read '{{.*}}none.json'
// TEXT: error: '{{.*}}text.json' is no profile of a graph's steps: no JSON
// TEXT: note: remat-run GRAPH --profile FILE writes one
// OTHER: error: '{{.*}}other.json' is no profile of a graph's steps: no list of steps
// NEGATIVE: error: '{{.*}}negative.json' is no profile of a graph's steps: a step without its milliseconds
// PROGRAM: error: '{{.*}}program.json' is no profile of a graph's steps: no step of a graph

//--- graph.mlir
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<4xf32>
  %1 = remat.exp %0 : tensor<4xf32>
  %2 = remat.neg %1 : tensor<4xf32>
  %3 = remat.abs %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

//--- infinite.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {remat.costs = {"own exp" = 0x7FF0000000000000 : f64}} {
  return %x : tensor<4xf32>
}

//--- profile.json
{"device": "host", "step_ms": 0.006, "steps": [
  {"op": "exp", "key": "own exp {} (tensor<4xf32>) -> (tensor<4xf32>)", "ms": 0.005},
  {"op": "neg", "key": "own neg {} (tensor<4xf32>) -> (tensor<4xf32>)", "ms": 0.003},
  {"op": "exp", "key": "own exp {} (tensor<4xf32>) -> (tensor<4xf32>)", "ms": 0.004}]}

//--- later.json
{"device": "host", "step_ms": null, "steps": [
  {"op": "neg", "key": "own neg {} (tensor<4xf32>) -> (tensor<4xf32>)", "ms": 0.007}]}

//--- text.json
steps

//--- other.json
{"device": "host"}

//--- negative.json
{"steps": [{"op": "neg", "key": "own neg", "ms": -1}]}

//--- program.json
{"steps": [{"op": "neg", "key": null, "ms": 1}]}
