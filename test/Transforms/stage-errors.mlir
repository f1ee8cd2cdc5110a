// What comes too late is refused, by whatever tool it runs.
// RUN: not remat-opt %s -remat-differentiate -remat-differentiate 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: remat-opt %s -remat-differentiate | not remat-opt - -remat-differentiate 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not remat-opt %s -remat-differentiate -remat-add-optimizer -remat-accumulate="micro-batches=2" 2>&1 | FileCheck %s --check-prefix=ACCUMULATE
// RUN: not remat-opt %s -remat-differentiate -remat-add-optimizer -remat-add-optimizer 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not remat-opt %s -remat-plan -remat-autocast="type=bf16" 2>&1 | FileCheck %s --check-prefix=AUTOCAST
// RUN: not remat-opt %s -remat-plan -remat-plan 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not remat-opt %s -remat-plan -remat-sink-constants 2>&1 | FileCheck %s --check-prefix=SINK
// RUN: not remat-opt %s -remat-plan -remat-join-addends 2>&1 | FileCheck %s --check-prefix=JOIN
// RUN: not remat-opt %s -remat-plan -remat-halve-parameters 2>&1 | FileCheck %s --check-prefix=HALVE
// RUN: not remat-opt %s -remat-plan -remat-join-sums 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: not remat-opt %s -remat-plan -remat-form-rolls 2>&1 | FileCheck %s --check-prefix=ROLLS
// RUN: not remat-opt %s -remat-assign-memory -remat-fuse 2>&1 | FileCheck %s --check-prefix=FUSE
// RUN: not remat-opt %s -remat-assign-memory -remat-legalize-results 2>&1 | FileCheck %s --check-prefix=LEGALIZE
// RUN: not remat-opt %s -remat-assign-memory -remat-dump-problem 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: not remat-opt %s -remat-pipeline -remat-fit-budget 2>&1 | FileCheck %s --check-prefix=FIT
// RUN: not remat-opt %s -remat-differentiate -remat-pad-classes 2>&1 | FileCheck %s --check-prefix=PAD
// RUN: not remat-opt %s -remat-plan -remat-cancel-transposes 2>&1 | FileCheck %s --check-prefix=CANCEL
// RUN: remat-opt %s -remat-pipeline | not remat-run - --compile-only 2>&1 | FileCheck %s --check-prefix=TOOL

// TWICE: error: remat-differentiate comes too late: the graph is differentiated already
// TWICE: note: run it on the graph as it was before it was differentiated
// ACCUMULATE: error: remat-accumulate comes too late: the graph is optimized already
// OPTIMIZER: error: remat-add-optimizer comes too late: the graph is optimized already
// AUTOCAST: error: remat-autocast comes too late: the graph is planned already
// PLAN: error: remat-plan comes too late: the graph is planned already
// SINK: error: remat-sink-constants comes too late: the graph is planned already
// JOIN: error: remat-join-addends comes too late: the graph is planned already
// HALVE: error: remat-halve-parameters comes too late: the graph is planned already
// SUMS: error: remat-join-sums comes too late: the graph is planned already
// ROLLS: error: remat-form-rolls comes too late: the graph is planned already
// FUSE: error: remat-fuse comes too late: the graph is assigned already
// LEGALIZE: error: remat-legalize-results comes too late: the graph is assigned already
// DUMP: error: remat-dump-problem comes too late: the graph is assigned already
// FIT: error: remat-fit-budget comes too late: the graph is assigned already
// FIT: note: run it on the graph as it was before it was planned
// PAD: error: remat-pad-classes comes too late: the graph is differentiated already
// CANCEL: error: remat-cancel-transposes comes too late: the graph is planned already
// TOOL: error: remat-cancel-transposes comes too late: the graph is assigned already

// What comes in time may run in any number, and memory may be assigned anew.
// RUN: remat-opt %s -remat-differentiate -remat-accumulate="micro-batches=2" -remat-add-optimizer -remat-fuse -remat-fit-budget -remat-assign-memory -remat-assign-memory -remat-verify-memory | FileCheck %s --check-prefix=RIGHT
// RUN: remat-opt %s -remat-differentiate -remat-add-optimizer -remat-fuse -remat-plan -remat-fuse="mode=after-plan" -remat-legalize-results -remat-assign-memory -remat-assign-memory -remat-verify-memory | FileCheck %s --check-prefix=RIGHT
// RIGHT: remat.stage = #remat.stage<assigned>
func.func @main(%x: tensor<8x8xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<8x8xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = remat.exp %0 : tensor<8x8xf32>
  %loss = remat.reduce <sum> %1, [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
