// Rows of logits that are no multiple of 16 bytes get one of 128: 1030 classes of
// bf16 are 2060 bytes, and 1088 are 2176.
// RUN: remat-opt %s --remat-set-target=device=cuda --remat-pad-classes | FileCheck %s
// RUN: remat-opt %s --remat-pad-classes | FileCheck %s --check-prefix=HOST
// HOST-NOT: 1088

// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = remat.pad %{{.*}}, [0, 0] [58, 0] : (tensor<1030x256xbf16>) -> tensor<1088x256xbf16>
// CHECK: %[[ZEROS:.*]] = remat.constant dense<0.000000e+00> : tensor<1030xbf16>
// CHECK: %[[FAR:.*]] = remat.constant dense<-1.048580e+06> : tensor<58xbf16>
// CHECK: %[[BIAS:.*]] = remat.concat %[[ZEROS]], %[[FAR]]
// CHECK: %[[LOGITS:.*]] = remat.matmul %{{.*}}, %[[W]] bias %[[BIAS]] {transpose_rhs} : (tensor<64x256xbf16>, tensor<1088x256xbf16>, tensor<1088xbf16>) -> tensor<64x1088xbf16>
// CHECK: %[[IS:.*]] = remat.compare <lt> %{{.*}}, %{{.*}} : (tensor<64xi64>, tensor<i64>) -> tensor<64xi1>
// CHECK: %[[TARGETS:.*]] = remat.select %[[IS]], %{{.*}}, %{{.*}} : (tensor<64xi1>, tensor<64xi64>, tensor<i64>) -> tensor<64xi64>
// CHECK: remat.cross_entropy %[[LOGITS]], %[[TARGETS]] : (tensor<64x1088xbf16>, tensor<64xi64>)
func.func @main(%x: tensor<64x256xbf16>, %w: tensor<1030x256xbf16>, %targets: tensor<64xi64>) -> tensor<f32> {
  %0 = remat.matmul %x, %w {transpose_rhs} : (tensor<64x256xbf16>, tensor<1030x256xbf16>) -> tensor<64x1030xbf16>
  %loss, %lse = remat.cross_entropy %0, %targets : (tensor<64x1030xbf16>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
  return %loss : tensor<f32>
}

// A bias and casts, reshapes and slices of rows between; f16 reaches less far;
// where -1 is ignored, what is no class becomes -2.
// CHECK-LABEL: func.func @between
// CHECK: remat.pad %{{.*}}, [0, 0] [0, 58] : (tensor<256x1030xf16>) -> tensor<256x1088xf16>
// CHECK: remat.constant dense<-3.276800e+04> : tensor<58xf16>
// CHECK: remat.concat %arg2, %{{.*}} {dim = 0 : i64}
// CHECK: remat.cast %{{.*}} : tensor<2x32x1088xf16> to tensor<2x32x1088xf32>
// CHECK: remat.slice %{{.*}}, [0, 0, 0] [2, 31, 1088]
// CHECK: remat.reshape %{{.*}} : tensor<2x31x1088xf32> to tensor<62x1088xf32>
// CHECK: remat.constant dense<-2> : tensor<i32>
// CHECK: remat.cross_entropy %{{.*}} {ignore_index = -1 : i64} : (tensor<62x1088xf32>, tensor<62xi32>)
func.func @between(%x: tensor<2x32x256xf16>, %w: tensor<256x1030xf16>, %b: tensor<1030xf16>, %targets: tensor<62xi32>) -> tensor<f32> {
  %0 = remat.matmul %x, %w bias %b : (tensor<2x32x256xf16>, tensor<256x1030xf16>, tensor<1030xf16>) -> tensor<2x32x1030xf16>
  %1 = remat.cast %0 : tensor<2x32x1030xf16> to tensor<2x32x1030xf32>
  %2 = remat.slice %1, [0, 0, 0] [2, 31, 1030] : (tensor<2x32x1030xf32>) -> tensor<2x31x1030xf32>
  %3 = remat.reshape %2 : tensor<2x31x1030xf32> to tensor<62x1030xf32>
  %loss, %lse = remat.cross_entropy %3, %targets {ignore_index = -1 : i64} : (tensor<62x1030xf32>, tensor<62xi32>) -> (tensor<f32>, tensor<62xf32>)
  return %loss : tensor<f32>
}

// Nothing is done where somebody else reads the logits, for f32, for rows of 16
// bytes, for few classes, for a slice of the classes, and where a number that
// would be a class is ignored.
// CHECK-LABEL: func.func @others
// CHECK-NOT: remat.pad
func.func @others(%x: tensor<64x256xbf16>, %w: tensor<1030x256xbf16>, %f: tensor<64x256xf32>, %fw: tensor<1030x256xf32>,
                  %e: tensor<1032x256xbf16>, %s: tensor<1022x256xbf16>, %targets: tensor<64xi64>)
    -> (tensor<f32>, tensor<64x1030xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = remat.matmul %x, %w {transpose_rhs} : (tensor<64x256xbf16>, tensor<1030x256xbf16>) -> tensor<64x1030xbf16>
  %a, %a1 = remat.cross_entropy %0, %targets : (tensor<64x1030xbf16>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
  %1 = remat.matmul %f, %fw {transpose_rhs} : (tensor<64x256xf32>, tensor<1030x256xf32>) -> tensor<64x1030xf32>
  %b, %b1 = remat.cross_entropy %1, %targets : (tensor<64x1030xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
  %2 = remat.matmul %x, %e {transpose_rhs} : (tensor<64x256xbf16>, tensor<1032x256xbf16>) -> tensor<64x1032xbf16>
  %c, %c1 = remat.cross_entropy %2, %targets : (tensor<64x1032xbf16>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
  %3 = remat.matmul %x, %s {transpose_rhs} : (tensor<64x256xbf16>, tensor<1022x256xbf16>) -> tensor<64x1022xbf16>
  %d, %d1 = remat.cross_entropy %3, %targets : (tensor<64x1022xbf16>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
  %4 = remat.matmul %x, %w {transpose_rhs} : (tensor<64x256xbf16>, tensor<1030x256xbf16>) -> tensor<64x1030xbf16>
  %5 = remat.slice %4, [0, 0] [64, 1024] : (tensor<64x1030xbf16>) -> tensor<64x1024xbf16>
  %g, %g1 = remat.cross_entropy %5, %targets : (tensor<64x1024xbf16>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
  %6 = remat.matmul %x, %w {transpose_rhs} : (tensor<64x256xbf16>, tensor<1030x256xbf16>) -> tensor<64x1030xbf16>
  %h, %h1 = remat.cross_entropy %6, %targets {ignore_index = 1050 : i64} : (tensor<64x1030xbf16>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
  return %a, %0, %b, %c, %d, %g, %h : tensor<f32>, tensor<64x1030xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
