// The dialect loads in a stock mlir-opt, which then reads and writes the text
// that remat-opt reads and writes.

// REQUIRES: plugin
// RUN: remat-opt %s -o %t.own
// RUN: mlir-opt --load-dialect-plugin=%plugin %s -o %t.stock
// RUN: diff %t.own %t.stock
// RUN: remat-opt --canonicalize %s -o %t.own
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(canonicalize)" %s -o %t.stock
// RUN: diff %t.own %t.stock

func.func @main(%x: tensor<8x16xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<16x4xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.init = #remat.init<normal, 2.0e-02>},
                %t: tensor<8xi64> {remat.role = #remat.role<input>, remat.name = "targets", remat.data = #remat.data<targets>, remat.bound = 4 : i64})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = remat.kernel(%a = %0 : tensor<8x4xf32>) -> tensor<8x4xf32> {
    %2 = remat.neg %a : tensor<8x4xf32>
    %3 = remat.neg %2 : tensor<8x4xf32>
    remat.yield %3 : tensor<8x4xf32>
  }
  %loss, %lse = remat.cross_entropy %1, %t : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<8xf32>)
  return %loss : tensor<f32>
}
