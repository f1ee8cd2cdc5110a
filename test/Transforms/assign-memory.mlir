// RUN: remat-opt %s -split-input-file -remat-assign-memory -remat-verify-memory | FileCheck %s
// Without a search, by the rules alone, these are packed as well.
// RUN: remat-opt %s -split-input-file -remat-assign-memory="node-limit=0" -remat-verify-memory | FileCheck %s

// Residents lie at the arena's begin in the order of the arguments; the rest is
// packed behind them. Every offset is a multiple of 256.

// The documented example: x [0, 256), and exp, overwritten by tanh, [256, 512).
// CHECK-LABEL: func @chain(%{{.*}}remat.offset = 0 : i64
// CHECK-SAME: attributes {remat.arena_bytes = 512 : i64, 
// CHECK: remat.exp %{{.*}} {remat.offsets = array<i64: 256>}
// CHECK: remat.tanh %{{.*}} {remat.offsets = array<i64: 256>}
func.func @chain(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<64xf32>
  %1 = remat.tanh %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// 100 * 4 = 400 bytes take 512. The two exps live together, so the arena is
// 512 + 2 * 512; reduce's 4 bytes (256) fit where the first one was.
// CHECK-LABEL: func @rounding(
// CHECK-SAME: remat.arena_bytes = 1536 : i64
func.func @rounding(%x: tensor<100xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<f32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<100xf32>
  %1 = remat.sin %0 : tensor<100xf32>
  %2 = remat.transpose %1, [0] : (tensor<100xf32>) -> tensor<100xf32>
  %3 = remat.reduce <sum> %2, [0] : (tensor<100xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// A view has its operand's offset, plus where it begins in it: 16 rows of 8
// floats, 512 bytes.
// CHECK-LABEL: func @views(
// CHECK-SAME: remat.arena_bytes = 2560 : i64
// CHECK: remat.exp %{{.*}} {remat.offsets = array<i64: 1024>}
// CHECK: remat.reshape %{{.*}} {remat.offsets = array<i64: 1024>}
// CHECK: remat.slice %{{.*}} {remat.offsets = array<i64: 1536>}
// CHECK: remat.tanh %{{.*}} {remat.offsets = array<i64: 2048>}
func.func @views(%x: tensor<16x16xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<16x16xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<16x8xf32> {remat.role = #remat.role<output>, remat.name = "z"}) {
  %0 = remat.exp %x : tensor<16x16xf32>
  %1 = remat.reshape %0 : tensor<16x16xf32> to tensor<32x8xf32>
  %2 = remat.slice %1, [16, 0] [16, 8] : (tensor<32x8xf32>) -> tensor<16x8xf32>
  %3 = remat.tanh %2 : tensor<16x8xf32>
  return %0, %3 : tensor<16x16xf32>, tensor<16x8xf32>
}

// -----

// concat and pad are no views, they copy: 256 + 768 + 512, where
// concat dies when pad has read it.
// CHECK-LABEL: func @copies(
// CHECK-SAME: remat.arena_bytes = 1536 : i64
// CHECK: remat.concat %{{.*}} {dim = 0 : i64, remat.offsets = array<i64: {{256|1024}}>}
// CHECK: remat.pad %{{.*}} {remat.offsets = array<i64: {{256|768}}>}
func.func @copies(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<192xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.concat %x, %x {dim = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
  %1 = remat.pad %0, [64] [0] : (tensor<128xf32>) -> tensor<192xf32>
  return %1 : tensor<192xf32>
}

// -----

// All three results of adamw lie where their arguments do, step + 1 too.
// w 0, g 256, m 512, v 768, rate 1024, step 1280; the constant 1536.
// CHECK-LABEL: func @donated(
// CHECK-SAME: remat.arena_bytes = 1792 : i64
// CHECK: remat.adamw {{.*}}remat.offsets = array<i64: 0, 512, 768>
// CHECK: remat.constant {remat.offsets = array<i64: 1536>}
// CHECK: remat.add %{{.*}} {remat.offsets = array<i64: 1280>}
func.func @donated(%w: tensor<64xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.donated = 0 : i64},
                   %g: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "g"},
                   %m: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "m", remat.donated = 1 : i64},
                   %v: tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "v", remat.donated = 2 : i64},
                   %rate: tensor<f32> {remat.role = #remat.role<learning_rate>, remat.name = "rate"},
                   %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step", remat.donated = 3 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
        tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "m"},
        tensor<64xf32> {remat.role = #remat.role<state>, remat.name = "v"},
        tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"}) {
  %new:3 = remat.adamw %w, %g moments %m, %v rate %rate step %step
      : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<i64>)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  %one = remat.constant dense<1> : tensor<i64>
  %next = remat.add %step, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %new#0, %new#1, %new#2, %next : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<i64>
}

// -----

// A result that is an argument, one that nobody makes, and one value returned
// twice: x 0, y [256, 512), nothing more.
// CHECK-LABEL: func @passed_through(
// CHECK-SAME: remat.arena_bytes = 512 : i64
func.func @passed_through(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "same"},
        tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<8x8xf32> {remat.role = #remat.role<output>, remat.name = "z"}) {
  %0 = remat.exp %x : tensor<64xf32>
  %1 = remat.reshape %0 : tensor<64xf32> to tensor<8x8xf32>
  return %x, %0, %1 : tensor<64xf32>, tensor<64xf32>, tensor<8x8xf32>
}

// -----

// The argument has its place already, and the first operation, whose result
// nobody reads, keeps clear of it too.
// CHECK-LABEL: func @given
// CHECK-SAME: remat.arena_bytes = 512 : i64
// CHECK: remat.exp %{{.*}} {remat.offsets = array<i64: 256>}
// CHECK: remat.sin %{{.*}} {remat.offsets = array<i64: 256>}
func.func @given(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 0 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<64xf32>
  %1 = remat.sin %x : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// The last 256 of 2^56 bytes are the last place that an argument may have.
// CHECK-LABEL: func @far(
// CHECK-SAME: remat.arena_bytes = 72057594037927936 : i64
func.func @far(%x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x", remat.offset = 72057594037927680 : i64})
    -> (tensor<64xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}
