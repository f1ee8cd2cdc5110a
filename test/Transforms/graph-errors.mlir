// What no pass runs on: functions that are no graph. Each pass begins with the
// same check, so that two stand for all.
// RUN: remat-opt --remat-fuse --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// RUN: remat-opt --remat-print-cost --split-input-file --verify-diagnostics --allow-unregistered-dialect %s

// expected-error @+1 {{@two has 2 blocks; a graph has 1}}
func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  "other.branch"()[^next] : () -> ()
^next:
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument #1: type 'index' is no ranked tensor of static shape}}
func.func @index(%x: tensor<4xf32>, %i: index) -> tensor<4xf32> {
  %0 = remat.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument #0: type 'tensor<?xf32>' is no ranked tensor of static shape}}
func.func @dynamic(%x: tensor<?xf32>) {
  return
}

// -----

func.func private @count() -> index

func.func @call(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'func.call' is no operation of the remat dialect}}
  %0 = func.call @count() : () -> index
  return %x : tensor<4xf32>
}

// -----

func.func @unregistered(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'other.op' is no operation of the remat dialect}}
  %0 = "other.op"(%x) : (tensor<4xf32>) -> index
  return %x : tensor<4xf32>
}

// -----

func.func @end(%x: tensor<4xf32>) {
  // expected-error @+1 {{'other.end' is no operation of the remat dialect}}
  "other.end"() : () -> ()
}
