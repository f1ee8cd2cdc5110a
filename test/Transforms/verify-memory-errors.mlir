// RUN: remat-opt %s -split-input-file -verify-diagnostics -remat-verify-memory

// Each function's memory is wrong in one way.

// tanh's result destroys exp's, which mul still reads.
func.func @overlap(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) attributes {remat.arena_bytes = 768 : i64} {
  // expected-note @+1 {{the value at offset 256}}
  %0 = remat.exp %x {remat.offsets = array<i64: 256>} : tensor<64xf32>
  %1 = remat.tanh %0 {remat.offsets = array<i64: 256>} : tensor<64xf32>
  // expected-error @+1 {{reads bytes that no longer hold the value they should}}
  %2 = remat.mul %1, %0 {remat.offsets = array<i64: 512>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

// Only part of a value is destroyed: 512 bytes at 256 against 256 at 512.
func.func @partial(%x: tensor<128xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<128xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "z"}) attributes {remat.arena_bytes = 1024 : i64} {
  // expected-note @+1 {{the value at offset 512}}
  %0 = remat.exp %x {remat.offsets = array<i64: 512>} : tensor<128xf32>
  %1 = remat.slice %x, [0] [64] {remat.offsets = array<i64: 0>} : (tensor<128xf32>) -> tensor<64xf32>
  %2 = remat.tanh %1 {remat.offsets = array<i64: 768>} : tensor<64xf32>
  // expected-error @+1 {{reads bytes that no longer hold the value they should}}
  return %0, %2 : tensor<128xf32>, tensor<64xf32>
}

// -----

// matmul may not write over its operands.
func.func @in_place(%x: tensor<8x8xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<8x8xf32> {remat.role = #remat.role<output>, remat.name = "y"}) attributes {remat.arena_bytes = 512 : i64} {
  %0 = remat.exp %x {remat.offsets = array<i64: 256>} : tensor<8x8xf32>
  // expected-error @+1 {{result #0 overwrites an operand}}
  %1 = remat.matmul %0, %0 {remat.offsets = array<i64: 256>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

func.func @two_results(%x: tensor<8x8xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64},
                       %t: tensor<8xi64> {remat.role = #remat.role<input>, remat.name = "t", remat.offset = 256 : i64})
    -> (tensor<f32> {remat.role = #remat.role<output>, remat.name = "y"}) attributes {remat.arena_bytes = 768 : i64} {
  // expected-error @+1 {{results #0 and #1 overlap}}
  %loss, %lse = remat.cross_entropy %x, %t {remat.offsets = array<i64: 512, 512>} : (tensor<8x8xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<8xf32>)
  return %loss : tensor<f32>
}

// -----

// An input must be there for the next step.
// expected-note @+1 {{the value at offset 0}}
func.func @input_destroyed(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) attributes {remat.arena_bytes = 256 : i64} {
  %0 = remat.exp %x {remat.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @+1 {{reads bytes that no longer hold the value they should}}
  return %0 : tensor<64xf32>
}

// -----

// expected-error @+1 {{result of donated argument #0 lies elsewhere}}
func.func @donated_elsewhere(%s: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 0 : i64, remat.offset = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "s"}) attributes {remat.arena_bytes = 512 : i64} {
  %0 = remat.exp %s {remat.offsets = array<i64: 256>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

func.func @view_elsewhere(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<8x8xf32> {remat.role = #remat.role<output>, remat.name = "y"}) attributes {remat.arena_bytes = 512 : i64} {
  // expected-error @+1 {{is a view that lies not in its operand}}
  %0 = remat.reshape %x {remat.offsets = array<i64: 256>} : tensor<64xf32> to tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @workspace(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) attributes {remat.arena_bytes = 512 : i64} {
  // expected-error @+1 {{has a workspace over its operands or results}}
  %0 = remat.exp %x {remat.offsets = array<i64: 256>, remat.workspace = array<i64: 0, 256>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// A workspace destroys what another operation reads later.
func.func @workspace_later(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) attributes {remat.arena_bytes = 768 : i64} {
  // expected-note @+1 {{the value at offset 256}}
  %0 = remat.exp %x {remat.offsets = array<i64: 256>} : tensor<64xf32>
  %1 = remat.sin %x {remat.offsets = array<i64: 512>, remat.workspace = array<i64: 256, 256>} : tensor<64xf32>
  // expected-error @+1 {{reads bytes that no longer hold the value they should}}
  %2 = remat.mul %0, %1 {remat.offsets = array<i64: 512>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

// expected-error @+1 {{arena has 1024 bytes but the last value ends at 512}}
func.func @arena_too_large(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) attributes {remat.arena_bytes = 1024 : i64} {
  %0 = remat.exp %x {remat.offsets = array<i64: 256>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

func.func @arena_too_small(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) attributes {remat.arena_bytes = 256 : i64} {
  // expected-error @+1 {{value at offset 256 does not lie in the arena of 256 bytes}}
  %0 = remat.exp %x {remat.offsets = array<i64: 256>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

func.func @alignment(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) attributes {remat.arena_bytes = 528 : i64} {
  // expected-error @+1 {{offset 272 is not a multiple of 256}}
  %0 = remat.exp %x {remat.offsets = array<i64: 272>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// expected-error @+1 {{argument #0 has no remat.offset}}
func.func @no_offset(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    attributes {remat.arena_bytes = 256 : i64} {
  return
}

// -----

func.func @no_offsets(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    attributes {remat.arena_bytes = 256 : i64} {
  // expected-error @+1 {{has not one offset a result in remat.offsets}}
  %0 = remat.exp %x : tensor<64xf32>
  return
}

// -----

// expected-error @+1 {{has no remat.arena_bytes}}
func.func @no_arena(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64}) {
  return
}
