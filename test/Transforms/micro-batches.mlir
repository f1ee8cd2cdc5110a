func.func @main(
    %x: tensor<4x256xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %w: tensor<256xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.donated = 0 : i64})
    -> (tensor<256xf32> {remat.role = #remat.role<parameter>, remat.name = "w"}) {
  %0 = remat.constant dense<-0.0> : tensor<256xf32>
  %1 = remat.scan 4 (%s = %0 : tensor<256xf32>) over (%row = %x : tensor<4x256xf32>) with (%v = %w : tensor<256xf32>) -> tensor<256xf32> attributes {micro_batches} {
    %a = remat.mul %row, %v : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    %b = remat.softmax %a : tensor<256xf32>
    %c = remat.softmax %b : tensor<256xf32>
    %d = remat.softmax %c : tensor<256xf32>
    %f = remat.softmax_backward %d, %d {remat.phase = #remat.phase<backward>} : tensor<256xf32>
    %g = remat.softmax_backward %c, %f {remat.phase = #remat.phase<backward>} : tensor<256xf32>
    %h = remat.softmax_backward %b, %g {remat.phase = #remat.phase<backward>} : tensor<256xf32>
    %i = remat.add %s, %h {remat.phase = #remat.phase<backward>} : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    remat.yield %i : tensor<256xf32>
  }
  %2 = remat.add %w, %1 : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  return %2 : tensor<256xf32>
}
