// What the verifiers of optimizers and kernel groups refuse.

// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @f(%p: tensor<4xf32>, %g: tensor<5xf32>, %r: tensor<f32>) {
  // expected-error @+1 {{grad 'tensor<5xf32>' must have the shape of the parameter 'tensor<4xf32>'}}
  %0 = remat.sgd %p, %g rate %r : (tensor<4xf32>, tensor<5xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %r: tensor<f32>) {
  // expected-error @+1 {{momentum needs a buffer}}
  %0 = remat.sgd %p, %p rate %r {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %r: tensor<f32>) {
  // expected-error @+1 {{the second result must be there exactly when the buffer is}}
  %0 = remat.sgd %p, %p buffer %p rate %r : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %b: tensor<3xf32>, %r: tensor<f32>) {
  // expected-error @+1 {{buffer 'tensor<3xf32>' must have the shape of the parameter 'tensor<4xf32>'}}
  %0:2 = remat.sgd %p, %p buffer %b rate %r : (tensor<4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %r: tensor<f32>) {
  // expected-error @+1 {{new parameter 'tensor<4xbf16>' must have the parameter's type 'tensor<4xf32>'}}
  %0 = remat.sgd %p, %p rate %r : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xbf16>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %r: tensor<f32>) {
  // expected-error @+1 {{attribute 'weight_decay' failed to satisfy constraint: 64-bit float attribute whose value is finite}}
  %0 = remat.sgd %p, %p rate %r {weight_decay = 0x7FF0000000000000 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %r: tensor<1xf32>) {
  // expected-error @+1 {{operand #2 must be a tensor<f32>, but got 'tensor<1xf32>'}}
  %0 = remat.sgd %p, %p rate %r : (tensor<4xf32>, tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %m: tensor<3xf32>, %r: tensor<f32>, %s: tensor<i64>) {
  // expected-error @+1 {{first moment 'tensor<3xf32>' must have the shape of the parameter 'tensor<4xf32>'}}
  %0:3 = remat.adamw %p, %p moments %m, %p rate %r step %s : (tensor<4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>) -> (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %h: tensor<4xf32> {remat.in_halves}, %r: tensor<f32>, %s: tensor<i64>) {
  // expected-error @+1 {{reads halves of what is no argument with 'remat.in_halves'}}
  %0:3 = remat.adamw %p, %p moments %p, %p rate %r step %s {in_halves} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xbf16>, %m: tensor<4xf32>, %r: tensor<f32>, %s: tensor<i64>) {
  // expected-error @+1 {{as_halves is for an f32 parameter that lies whole}}
  %0:3 = remat.adamw %p, %p moments %m, %m rate %r step %s {as_halves} : (tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>) -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%h: tensor<4xf32> {remat.in_halves}) {
  %0 = remat.exp %h : tensor<4xf32>
  // expected-error @+1 {{reads halves of what is no argument with 'remat.in_halves'}}
  %1 = remat.upper_half %0 : (tensor<4xf32>) -> tensor<4xbf16>
  return
}

// -----

func.func @f(%p: tensor<4xf32>) {
  // expected-error @+1 {{reads halves of what is no argument with 'remat.in_halves'}}
  %0 = remat.join_halves %p : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %r: tensor<f32>, %s: tensor<i64>) {
  // expected-error @+1 {{beta1 is 1.000000e+00; it must be in [0, 1)}}
  %0:3 = remat.adamw %p, %p moments %p, %p rate %r step %s {beta1 = 1.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) {
  // expected-note @+1 {{the kernel is here}}
  %0 = remat.kernel(%a = %x : tensor<4x8xf32>, %b = %w : tensor<8x4xf32>) -> tensor<4x4xf32> {
    // expected-error @+1 {{'remat.matmul' op cannot be part of a kernel}}
    %1 = remat.matmul %a, %b : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    remat.yield %1 : tensor<4x4xf32>
  }
  return
}

// -----

func.func @f() {
  %0 = remat.kernel() -> tensor<2xf32> {
    // expected-error @+1 {{'remat.constant' op must be a splat to be part of a kernel}}
    %1 = remat.constant dense<[1.0, 2.0]> : tensor<2xf32>
    remat.yield %1 : tensor<2xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %0 = remat.kernel(%a = %x : tensor<4x8xf32>) -> tensor<8xf32> {
    // expected-error @+1 {{must reduce the last dimension to be part of a kernel}}
    %1 = remat.reduce <max> %a, [0] : (tensor<4x8xf32>) -> tensor<8xf32>
    remat.yield %1 : tensor<8xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %0 = remat.kernel(%a = %x : tensor<4x8xf32>) -> tensor<8xf32> {
    // expected-error @+1 {{the yielded values must have the types of the kernel's results}}
    remat.yield %a : tensor<4x8xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{the block's arguments must have the operands' types}}
  %0 = "remat.kernel"(%x) ({
  ^bb0(%a: tensor<8xf32>):
    "remat.yield"(%a) : (tensor<8xf32>) -> ()
  }) : (tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %0 = remat.kernel() -> tensor<4x8xf32> {
    // expected-error @+1 {{using value defined outside the region}}
    %1 = remat.neg %x : tensor<4x8xf32>
    remat.yield %1 : tensor<4x8xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'remat.yield' op expects parent op to be one of 'remat.kernel, remat.scan'}}
  remat.yield %x : tensor<4x8xf32>
}

// -----

func.func @f(%x: tensor<4x8xf32>, %y: tensor<3xf32>) {
  %0:2 = remat.kernel(%a = %x : tensor<4x8xf32>, %b = %y : tensor<3xf32>) -> (tensor<4x8xf32>, tensor<3xf32>) {
    %1 = remat.neg %a : tensor<4x8xf32>
    // expected-error @+1 {{'remat.neg' op result 'tensor<3xf32>' does not broadcast to the kernel's 'tensor<4x8xf32>'}}
    %2 = remat.neg %b : tensor<3xf32>
    remat.yield %1, %2 : tensor<4x8xf32>, tensor<3xf32>
  }
  return
}

// -----

func.func @no_results(%x: tensor<4xf32>) {
  // expected-error @+1 {{'remat.kernel' op has no results}}
  remat.kernel(%a = %x : tensor<4xf32>) {
    %0 = remat.exp %a : tensor<4xf32>
    remat.yield
  }
  return
}

// -----

func.func @sum_read_inside(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %0:2 = remat.kernel(%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
    // expected-error @+1 {{a sum over rows can only be yielded by the kernel that makes it}}
    %1 = remat.reduce <sum> %a, [0] : (tensor<4x8xf32>) -> tensor<8xf32>
    %2 = remat.add %a, %1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    remat.yield %2, %1 : tensor<4x8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<8xf32>
}

// -----

func.func @rolls_inside(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = remat.kernel(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %1 = remat.exp %a : tensor<4x8xf32>
    // expected-error @+2 {{rolls what the kernel makes}}
    // expected-note @+1 {{a kernel can roll its operands}}
    %2 = remat.roll %1 {dim = 1 : i64, shift = 4 : i64} : tensor<4x8xf32>
    remat.yield %2 : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----

func.func @sum_of_what_stays(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %0:2 = remat.kernel(%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
    %1 = remat.exp %a : tensor<4x8xf32>
    %2 = remat.neg %1 : tensor<4x8xf32>
    // expected-error @+2 {{sums over rows what the kernel does not yield}}
    // expected-note @+1 {{yield the operand too}}
    %3 = remat.reduce <sum> %1, [0] : (tensor<4x8xf32>) -> tensor<8xf32>
    remat.yield %2, %3 : tensor<4x8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<8xf32>
}
