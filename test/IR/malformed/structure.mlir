// ERROR: there is no func.func @main


// -----

// ERROR: there is no func.func @main
module {}

// -----

// ERROR: there is no func.func @main
func.func @other(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: argument #0 of @second has no 'remat.name'
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}
func.func @second(%x: tensor<4xf32> {remat.role = #remat.role<input>}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: redefinition of symbol named 'main'
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// ERROR: a graph file has functions only
module { module {} }

// -----

// ERROR: @main has 0 blocks; a graph has 1
func.func private @main(tensor<4xf32>)

// -----

// ERROR: @main has 2 blocks; a graph has 1
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<4xf32>
^bb1:
  return %x : tensor<4xf32>
}

// -----

// ERROR: is no operation of the remat dialect
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = func.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: is no operation of the remat dialect
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = func.constant @main : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = arith.constant 1 : i32
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = "remat.unknown"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: expects parent op to be one of 'remat.kernel, remat.scan'
func.func @main() { "remat.yield"() : () -> () }

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  
}

// -----

// ERROR: undeclared SSA value
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %nothing : tensor<4xf32>
}

// -----

// ERROR: does not dominate this use
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.neg %1 : tensor<4xf32>
  %1 = remat.neg %0 : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: redefinition of SSA value
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.neg %x : tensor<4xf32>
  %0 = remat.neg %x : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

// ERROR: error:
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.kernel(%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    remat.yield %x : tensor<4xf32>
  }
  return %x : tensor<4xf32>
}

// -----

// ERROR: cannot be part of a kernel
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.kernel(%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %1 = remat.kernel(%b = %a : tensor<4xf32>) -> tensor<4xf32> {
      remat.yield %b : tensor<4xf32>
    }
    remat.yield %1 : tensor<4xf32>
  }
  return %x : tensor<4xf32>
}

// -----

// ERROR: requires attribute 'function_type'
"builtin.module"() ({
  "func.func"() <{sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    "func.return"(%x) : (tensor<4xf32>) -> ()
  }) {remat.stage = #remat.stage<optimized>} : () -> ()
}) : () -> ()
