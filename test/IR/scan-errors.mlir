// What the verifier of scans refuses.

// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: tensor<4xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+2 {{slices operand #1 of type 'tensor<3x4xf32>' in 2 steps}}
  // expected-note @+1 {{its first dimension must be 2}}
  %0 = remat.scan 2 (%h = %a : tensor<4xf32>) over (%x = %b : tensor<3x4xf32>) with () -> tensor<4xf32> {
    remat.yield %h : tensor<4xf32>
  }
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  // expected-error @+2 {{slices operand #1 of type 'tensor<f32>' in 2 steps}}
  // expected-note @+1 {{its first dimension must be 2}}
  %0 = remat.scan 2 (%h = %a : tensor<4xf32>) over (%x = %b : tensor<f32>) with () -> tensor<4xf32> {
    remat.yield %h : tensor<4xf32>
  }
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %0 = remat.scan 2 (%h = %a : tensor<4xf32>) over () with () -> tensor<4xf32> {
    %1 = remat.cast %h : tensor<4xf32> to tensor<4xbf16>
    // expected-error @+2 {{yields carry #0 of type 'tensor<4xbf16>', which begins as 'tensor<4xf32>'}}
    // expected-note @+1 {{a carry has one type in all steps}}
    remat.yield %1 : tensor<4xbf16>
  }
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %0 = remat.scan 2 (%h = %a : tensor<4xf32>) over () with () -> tensor<4xf32> {
    // expected-error @+1 {{yields 2 values; the scan has 1 carries and 1 results}}
    remat.yield %h, %h : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result #1 is of type 'tensor<3x4xf32>', what is yielded for it makes 'tensor<2x4xf32>'}}
  %0:2 = remat.scan 2 (%h = %a : tensor<4xf32>) over () with () -> (tensor<4xf32>, tensor<3x4xf32>) {
    remat.yield %h, %h : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{has no results}}
  remat.scan 2 () over () with (%w = %a : tensor<4xf32>) {
    remat.yield
  }
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'steps' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = remat.scan 0 (%h = %a : tensor<4xf32>) over () with () -> tensor<4xf32> {
    remat.yield %h : tensor<4xf32>
  }
  return
}

// -----

func.func @f(%w: tensor<4xf32>, %g: tensor<4xf32>, %rate: tensor<f32>) {
  // expected-note @+1 {{the scan is here; a parameter is updated once a step}}
  %0 = remat.scan 2 (%p = %w : tensor<4xf32>) over () with (%grad = %g : tensor<4xf32>, %r = %rate : tensor<f32>) -> tensor<4xf32> {
    // expected-error @+1 {{cannot be part of a scan}}
    %1 = remat.sgd %p, %grad rate %r : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    remat.yield %1 : tensor<4xf32>
  }
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  %0 = remat.scan 2 (%h = %a : tensor<4xf32>) over () with () -> tensor<4xf32> {
    // expected-error @+1 {{using value defined outside the region}}
    %1 = remat.add %h, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // expected-note @-3 {{required by region isolation constraints}}
    remat.yield %1 : tensor<4xf32>
  }
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %0 = remat.scan 2 (%b = %a : tensor<4xf32>) over () with () -> tensor<4xf32> {
    %1 = remat.scan 2 (%c = %b : tensor<4xf32>) over () with () -> tensor<4xf32> {
      %2 = remat.scan 2 (%d = %c : tensor<4xf32>) over () with () -> tensor<4xf32> {
        %3 = remat.scan 2 (%e = %d : tensor<4xf32>) over () with () -> tensor<4xf32> {
          // expected-error @+1 {{lies in 4 other scans; it may lie in 3}}
          %4 = remat.scan 2 (%f = %e : tensor<4xf32>) over () with () -> tensor<4xf32> {
            remat.yield %f : tensor<4xf32>
          }
          remat.yield %4 : tensor<4xf32>
        }
        remat.yield %3 : tensor<4xf32>
      }
      remat.yield %2 : tensor<4xf32>
    }
    remat.yield %1 : tensor<4xf32>
  }
  return
}
