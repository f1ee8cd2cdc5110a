// What the dialect checks of attributes of arguments, results and operations.

// RUN: remat-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{argument #0: role 'loss' is none of an argument}}
func.func @main(%x: tensor<f32> {remat.role = #remat.role<loss>}) { return }

// -----

// expected-error @+1 {{result #0: role 'input' is none of a result}}
func.func @main(%x: tensor<f32>) -> (tensor<f32> {remat.role = #remat.role<input>}) { return %x : tensor<f32> }

// -----

// expected-error @+1 {{argument #0: 'remat.role' must be a #remat.role}}
func.func @main(%x: tensor<f32> {remat.role = "input"}) { return }

// -----

// expected-error @+1 {{argument #0: a value of role 'seed' is a 'tensor<i64>', not a 'tensor<i32>'}}
func.func @main(%x: tensor<i32> {remat.role = #remat.role<seed>}) { return }

// -----

// expected-error @+1 {{argument #0: a value of role 'step' is a 'tensor<i64>', not a 'tensor<1xi64>'}}
func.func @main(%x: tensor<1xi64> {remat.role = #remat.role<step>}) { return }

// -----

// expected-error @+1 {{argument #0: a value of role 'learning_rate' is a 'tensor<f32>', not a 'tensor<bf16>'}}
func.func @main(%x: tensor<bf16> {remat.role = #remat.role<learning_rate>}) { return }

// -----

// expected-error @+2 {{result #0: a value of role 'loss' is a 'tensor<f32>', not a 'tensor<4xf32>'}}
// expected-note @+1 {{make one f32 number of it}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {remat.role = #remat.role<loss>}) { return %x : tensor<4xf32> }

// -----

// expected-error @+2 {{argument #0: a value of role 'parameter' must have float elements, not 'tensor<4xi32>'}}
// expected-note @+1 {{integers have no gradient; give it the role input}}
func.func @main(%x: tensor<4xi32> {remat.role = #remat.role<parameter>}) { return }

// -----

// expected-error @+1 {{argument #0: type 'tensor<?xf32>' is no ranked tensor of static shape}}
func.func @main(%x: tensor<?xf32> {remat.role = #remat.role<input>}) { return }

// -----

// expected-error @+1 {{argument #0: type 'tensor<*xf32>' is no ranked tensor of static shape}}
func.func @main(%x: tensor<*xf32> {remat.role = #remat.role<input>}) { return }

// -----

// expected-error @+1 {{argument #0: type 'f32' is no ranked tensor of static shape}}
func.func @main(%x: f32 {remat.role = #remat.role<input>}) { return }

// -----

// expected-error @+1 {{argument #0: element type 'f64' is not f32, bf16, f16, i32, i64, i1 or f8E4M3FN}}
func.func @main(%x: tensor<4xf64> {remat.role = #remat.role<input>}) { return }

// -----

// expected-error @+1 {{argument #0: element type 'ui32' is not f32, bf16, f16, i32, i64, i1 or f8E4M3FN}}
func.func @main(%x: tensor<4xui32> {remat.role = #remat.role<input>}) { return }

// -----

// expected-error @+1 {{argument #0: tensor type 'tensor<4x0xf32>' has size 0 in dimension 1; tensors have at least one element}}
func.func @main(%x: tensor<4x0xf32> {remat.role = #remat.role<input>}) { return }

// -----

// expected-error @+1 {{argument #0: tensor type 'tensor<4611686018427387904x4xf32>' takes 73786976294838206464 bytes, more than the 9223372036854775807 that can be addressed}}
func.func @main(%x: tensor<4611686018427387904x4xf32> {remat.role = #remat.role<input>}) { return }

// -----

// expected-error @+1 {{argument #0: tensor type 'tensor<4xf32, "csr">' has an encoding}}
func.func @main(%x: tensor<4xf32, "csr"> {remat.role = #remat.role<input>}) { return }

// -----

// expected-error @+1 {{argument #0: tensor type has 17 dimensions, more than the 16 that are supported}}
func.func @main(%x: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32> {remat.role = #remat.role<input>}) { return }

// -----

// expected-error @+1 {{argument #2: name 'x' is already that of #0}}
func.func @main(%x: tensor<f32> {remat.name = "x"}, %y: tensor<f32> {remat.name = "y"}, %z: tensor<f32> {remat.name = "x"}) { return }

// -----

// expected-error @+1 {{result #1: name 'x' is already that of #0}}
func.func @main(%x: tensor<f32>) -> (tensor<f32> {remat.name = "x"}, tensor<f32> {remat.name = "x"}) { return %x, %x : tensor<f32>, tensor<f32> }

// -----

// Arguments and results are named apart: a new parameter has the old one's name.
func.func @main(%x: tensor<f32> {remat.name = "x"}) -> (tensor<f32> {remat.name = "x"}) { return %x : tensor<f32> }

// -----

// expected-error @+1 {{argument #0: 'remat.name' must be a string of 1 to 255 characters}}
func.func @main(%x: tensor<f32> {remat.name = ""}) { return }

// -----

// expected-error @+1 {{argument #0: 'remat.name' must be a string of 1 to 255 characters}}
func.func @main(%x: tensor<f32> {remat.name = 1 : i64}) { return }

// -----

// expected-error @+1 {{argument #0: name has the character 0x22; letters, digits and _.-/:+@#$[](),= are allowed}}
func.func @main(%x: tensor<f32> {remat.name = "a\22b"}) { return }

// -----

// expected-error @+1 {{name has the character 0xA;}}
func.func @main(%x: tensor<f32> {remat.name = "a\nb"}) { return }

// -----

// expected-error @+1 {{name has the character 0x2A;}}
func.func @main(%x: tensor<f32> {remat.name = "*/ code /*"}) { return }

// -----

// expected-error @+1 {{name has the character 0x5C;}}
func.func @main(%x: tensor<f32> {remat.name = "a\\"}) { return }

// -----

// expected-error @+1 {{name has the character 0x0;}}
func.func @main(%x: tensor<f32> {remat.name = "a\00b"}) { return }

// -----

// expected-error @+1 {{argument #0: 'remat.init' is for parameters and states}}
func.func @main(%x: tensor<f32> {remat.role = #remat.role<input>, remat.init = #remat.init<constant, 1.0>}) { return }

// -----

// expected-error @+1 {{argument #0: 'remat.init' must be a #remat.init}}
func.func @main(%x: tensor<f32> {remat.role = #remat.role<parameter>, remat.init = 1.0 : f32}) { return }

// -----

// expected-error @+1 {{argument #0: 'remat.init' has the negative width -5.000000e-01}}
func.func @main(%x: tensor<f32> {remat.role = #remat.role<parameter>, remat.init = #remat.init<uniform, -0.5>}) { return }

// -----

// expected-error @+1 {{argument #0: 'remat.data' must be #remat.data<tokens> or #remat.data<targets>}}
func.func @main(%x: tensor<4xi32> {remat.role = #remat.role<input>, remat.data = "labels"}) { return }

// -----

// expected-error @+1 {{argument #0: 'remat.data' is for inputs with integer elements}}
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.data = #remat.data<tokens>}) { return }

// -----

// expected-error @+1 {{argument #0: 'remat.bound' must be a positive i64}}
func.func @main(%x: tensor<4xi32> {remat.role = #remat.role<input>, remat.bound = 0 : i64}) { return }

// -----

// expected-error @+1 {{argument #0: 'remat.bound' is for inputs with integer elements}}
func.func @main(%x: tensor<4xi32> {remat.role = #remat.role<state>, remat.bound = 4 : i64}) { return }

// -----

// expected-error @+1 {{argument #0: is donated to result #1, but there are 1}}
func.func @main(%x: tensor<f32> {remat.donated = 1 : i64}) -> tensor<f32> { return %x : tensor<f32> }

// -----

// expected-error @+1 {{argument #0: of type 'tensor<f32>' is donated to result #0 of type 'tensor<i32>'}}
func.func @main(%x: tensor<f32> {remat.donated = 0 : i64}, %y: tensor<i32>) -> tensor<i32> { return %y : tensor<i32> }

// -----

// expected-error @+1 {{argument #1: is donated to the same result as argument #0}}
func.func @main(%x: tensor<f32> {remat.donated = 0 : i64}, %y: tensor<f32> {remat.donated = 0 : i64}) -> tensor<f32> { return %y : tensor<f32> }

// -----

// expected-error @+1 {{result #0: 'remat.donated' must be an i64 on an argument}}
func.func @main(%x: tensor<f32>) -> (tensor<f32> {remat.donated = 0 : i64}) { return %x : tensor<f32> }

// -----

// expected-error @+1 {{argument #0: 'remat.in_halves' stands without a value on an f32 argument}}
func.func @main(%x: tensor<bf16> {remat.in_halves}) { return }

// -----

// expected-error @+1 {{argument #0: 'remat.in_halves' stands without a value on an f32 argument}}
func.func @main(%x: tensor<f32> {remat.in_halves = 1 : i64}) { return }

// -----

// expected-error @+1 {{result #0: 'remat.in_halves' stands without a value on an f32 argument}}
func.func @main(%x: tensor<f32>) -> (tensor<f32> {remat.in_halves}) { return %x : tensor<f32> }

// -----

// expected-error @+1 {{argument #0: 'remat.offset' must be a byte offset on an argument}}
func.func @main(%x: tensor<f32> {remat.offset = -256 : i64}) { return }

// -----

// expected-error @+1 {{argument #0: the dialect has no attribute 'remat.rolle' for arguments or results}}
func.func @main(%x: tensor<f32> {remat.rolle = #remat.role<input>}) { return }

// -----

// expected-error @+1 {{'remat.arena_bytes' must be a byte count on a function}}
func.func @main(%x: tensor<f32>) attributes {remat.arena_bytes = -1 : i64} { return }

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{'remat.phase' must be #remat.phase<backward> or #remat.phase<optimizer>}}
  %0 = remat.neg %x {remat.phase = "backward"} : tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{'remat.keep' must be #remat.keep<must>, #remat.keep<never> or #remat.keep<prefer>}}
  %0 = remat.neg %x {remat.keep = "always"} : tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{'remat.id' must be an i64 that is not negative}}
  %0 = remat.neg %x {remat.id = "a"} : tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{'remat.origin' must be an i64 that is not negative}}
  %0 = remat.neg %x {remat.origin = -1 : i64} : tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{'remat.offsets' must have one byte offset for each result}}
  %0 = remat.neg %x {remat.offsets = array<i64: 0, 256>} : tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{'remat.workspace' must have a byte offset and a byte count}}
  %0 = remat.neg %x {remat.workspace = array<i64: 0>} : tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{'remat.choice' must be a #remat.kernel}}
  %0 = remat.neg %x {remat.choice = "own"} : tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{'remat.keeps' is no attribute that the dialect has for operations}}
  %0 = remat.neg %x {remat.keeps = "must"} : tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{'remat.phase' is for operations of this dialect}}
  return {remat.phase = #remat.phase<backward>}
}

// -----

// expected-error @+1 {{the host has no architecture, no choice of attention kernels, and is deterministic}}
func.func @main() attributes {remat.target = #remat.target<host, arch = "sm_90">} {
  return
}

// -----

// expected-error @+1 {{the host has no architecture, no choice of attention kernels, and is deterministic}}
func.func @main() attributes {remat.target = #remat.target<host, deterministic = false>} {
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{a kernel of own is deterministic}}
  %0 = remat.neg %x {remat.choice = #remat.kernel<own, microseconds = 1.0, deterministic = false>} : tensor<f32>
  return
}

// -----

// expected-error @+1 {{expected a CUDA architecture such as sm_90, got ''}}
func.func @main() attributes {remat.target = #remat.target<cuda>} {
  return
}

// -----

// expected-error @+1 {{'remat.target' must be a #remat.target on a function}}
func.func @main() attributes {remat.target = "cuda"} {
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{a kernel takes a time from 0, not -1.0}}
  %0 = remat.neg %x {remat.choice = #remat.kernel<own, microseconds = -1.0>} : tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{a batch in 2 slices: cublaslt takes 1}}
  %0 = remat.neg %x {remat.choice = #remat.kernel<cublaslt, microseconds = 1.0, slices = 2>} : tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<f32>) {
  // expected-error @+1 {{a workspace of -1 bytes and 1 launches: neither can be negative}}
  %0 = remat.neg %x {remat.choice = #remat.kernel<own, microseconds = 1.0, workspace = -1>} : tensor<f32>
  return
}

// -----

// expected-error @+2 {{argument #0: a value of role 'parameter' must have float elements, not 'tensor<4xf8E4M3FN>'}}
// expected-note @+1 {{floats that nothing computes with have no gradient; give it the role input}}
func.func @main(%x: tensor<4xf8E4M3FN> {remat.role = #remat.role<parameter>}) { return }

// -----

// expected-error@+1 {{'remat.rate_scale' must be an f64, finite and not negative}}
func.func @scale(%w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.rate_scale = -1.0 : f64}) {
  return
}

// -----

// expected-error@+1 {{'remat.weight_decay' must be an f64, finite and not negative}}
func.func @decay(%w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.weight_decay = 1.0 : f32}) {
  return
}

// -----

// expected-error@+1 {{'remat.weight_decay' is for parameters}}
func.func @input(%x: tensor<f32> {remat.role = #remat.role<input>, remat.name = "x", remat.weight_decay = 0.1 : f64}) {
  return
}

// -----

// expected-error@+1 {{'remat.update' must be a #remat.update}}
func.func @name(%w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.update = "adamw"}) {
  return
}

// -----

// expected-error@+1 {{'remat.update' is muon, which is for matrices, not for rank 1}}
func.func @vector(%w: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.update = #remat.update<muon>}) {
  return
}

// -----

// expected-error@+1 {{'remat.update' is for parameters}}
func.func @state(%w: tensor<4xf32> {remat.role = #remat.role<state>, remat.name = "w", remat.update = #remat.update<lion>}) {
  return
}
