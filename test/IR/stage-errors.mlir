// RUN: remat-opt %s -split-input-file -verify-diagnostics

// What holds at a stage holds whenever the function is verified, whoever wrote it.

// expected-error @+1 {{'remat.stage' must be a #remat.stage on a function}}
func.func @main() attributes {remat.stage = "planned"} {
  return
}

// -----

// expected-error @+1 {{'remat.plan' must be a #remat.plan on a function}}
func.func @main() attributes {remat.plan = 1 : i64} {
  return
}

// -----

// expected-error @+1 {{at stage 'differentiated' there are 0 gradients for 1 parameters}}
func.func @main(%w: tensor<4xf32> {remat.role = #remat.role<parameter>})
    -> (tensor<4xf32> {remat.role = #remat.role<output>})
    attributes {remat.stage = #remat.stage<differentiated>} {
  return %w : tensor<4xf32>
}

// -----

// expected-error @+1 {{at stage 'optimized' result #0 is still a gradient}}
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>})
    -> (tensor<4xf32> {remat.role = #remat.role<gradient>})
    attributes {remat.stage = #remat.stage<optimized>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{at stage 'optimized' parameter #1 has no 'remat.donated'}}
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>},
                %w: tensor<4xf32> {remat.role = #remat.role<parameter>})
    -> (tensor<4xf32> {remat.role = #remat.role<output>})
    attributes {remat.stage = #remat.stage<optimized>} {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.stage = #remat.stage<optimized>} {
  // expected-error @+1 {{at stage 'optimized' there is no 'remat.origin' yet}}
  %0 = remat.exp %x {remat.origin = 0 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What a kernel holds counts too.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.stage = #remat.stage<differentiated>} {
  %0 = remat.kernel(%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{at stage 'differentiated' there is no 'remat.id' yet}}
    %1 = remat.exp %a {remat.id = 0 : i64} : tensor<4xf32>
    remat.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.stage = #remat.stage<planned>} {
  // expected-error @+1 {{at stage 'planned' there is no 'remat.offsets' yet}}
  %0 = remat.exp %x {remat.id = 0 : i64, remat.offsets = array<i64: 0>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{at stage 'planned' there is no 'remat.arena_bytes' yet}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.arena_bytes = 256 : i64, remat.stage = #remat.stage<planned>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{at stage 'assigned' the function has no 'remat.arena_bytes'}}
func.func @main(%x: tensor<4xf32> {remat.offset = 0 : i64}) -> tensor<4xf32>
    attributes {remat.stage = #remat.stage<assigned>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{at stage 'assigned' argument #0 has no 'remat.offset'}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.arena_bytes = 256 : i64, remat.stage = #remat.stage<assigned>} {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32> {remat.offset = 0 : i64}) -> tensor<4xf32>
    attributes {remat.arena_bytes = 512 : i64, remat.stage = #remat.stage<assigned>} {
  // expected-error @+1 {{at stage 'assigned' the operation has no 'remat.offsets'}}
  %0 = remat.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A function without a stage may be anything.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.exp %x {remat.origin = 0 : i64, remat.offsets = array<i64: 0>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
