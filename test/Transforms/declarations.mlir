// A declaration has nothing for a pass to do; every pass and the pipeline leave
// it as it is.
// RUN: remat-opt %s --remat-autocast | FileCheck %s
// RUN: remat-opt %s --remat-differentiate | FileCheck %s
// RUN: remat-opt %s --remat-accumulate=micro-batches=2 | FileCheck %s
// RUN: remat-opt %s --remat-add-optimizer | FileCheck %s
// RUN: remat-opt %s --remat-fuse=mode=before-plan | FileCheck %s
// RUN: remat-opt %s --remat-fuse=mode=after-plan | FileCheck %s
// RUN: remat-opt %s --remat-sink-constants | FileCheck %s
// RUN: remat-opt %s --remat-legalize-results | FileCheck %s
// RUN: remat-opt %s --remat-plan | FileCheck %s
// RUN: remat-opt %s --remat-dump-problem | FileCheck %s
// RUN: remat-opt %s --remat-assign-memory | FileCheck %s
// RUN: remat-opt %s --remat-verify-memory | FileCheck %s
// RUN: remat-opt %s --remat-print-liveness | FileCheck %s
// RUN: remat-opt %s --remat-print-memory-profile | FileCheck %s
// RUN: remat-opt %s --remat-print-cost | FileCheck %s
// RUN: remat-opt %s --remat-pipeline | FileCheck %s
// RUN: remat-opt %s --remat-pipeline="autocast=bf16 accumulate=2 device=cuda budget=50%" | FileCheck %s

// CHECK-NOT: liveness
// CHECK: func.func private @main()
// CHECK-NOT: remat
func.func private @main()

// A program is made of a body.
// RUN: not remat-run %s 2>&1 | FileCheck %s --check-prefix=BODY
// RUN: not remat-translate --remat-to-program %s 2>&1 | FileCheck %s --check-prefix=BODY
// RUN: not remat-translate --remat-to-cuda %s 2>&1 | FileCheck %s --check-prefix=BODY
// RUN: not remat-opt %s --whole-graph 2>&1 | FileCheck %s --check-prefix=BODY
// BODY: declarations.mlir:{{[0-9]+}}:{{[0-9]+}}: error: @main has 0 blocks; a graph has 1
