// Every elementwise operation in every element type that it takes, compiled for
// the oldest and the newest architecture.
// REQUIRES: nvrtc
// RUN: remat-translate --remat-to-cuda --compile-for=sm_80,sm_120 %s -o %t.cu
// RUN: FileCheck %s < %t.cu
// CHECK: struct Exact
func.func @main(
    %x_f32: tensor<24x40xf32> {remat.role = #remat.role<input>, remat.name = "x_f32"},
    %y_f32: tensor<24x40xf32> {remat.role = #remat.role<input>, remat.name = "y_f32"},
    %x_bf16: tensor<24x40xbf16> {remat.role = #remat.role<input>, remat.name = "x_bf16"},
    %y_bf16: tensor<24x40xbf16> {remat.role = #remat.role<input>, remat.name = "y_bf16"},
    %x_f16: tensor<24x40xf16> {remat.role = #remat.role<input>, remat.name = "x_f16"},
    %y_f16: tensor<24x40xf16> {remat.role = #remat.role<input>, remat.name = "y_f16"},
    %x_i32: tensor<24x40xi32> {remat.role = #remat.role<input>, remat.name = "x_i32"},
    %y_i32: tensor<24x40xi32> {remat.role = #remat.role<input>, remat.name = "y_i32"},
    %x_i64: tensor<24x40xi64> {remat.role = #remat.role<input>, remat.name = "x_i64"},
    %y_i64: tensor<24x40xi64> {remat.role = #remat.role<input>, remat.name = "y_i64"},
    %p: tensor<24x40xi1> {remat.role = #remat.role<input>, remat.name = "p"})
    -> (
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o0"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o1"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o2"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o3"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o4"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o5"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o6"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o7"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o8"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o9"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o10"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o11"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o12"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o13"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o14"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o15"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o16"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o17"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o18"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o19"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o20"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o21"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o22"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o23"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o24"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o25"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o26"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o27"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o28"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o29"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o30"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o31"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o32"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o33"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o34"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o35"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o36"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o37"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o38"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o39"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o40"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o41"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o42"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o43"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o44"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o45"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o46"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o47"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o48"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o49"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o50"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o51"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o52"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o53"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o54"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o55"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o56"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o57"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o58"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o59"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o60"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o61"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o62"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o63"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o64"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o65"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o66"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o67"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o68"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o69"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o70"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o71"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o72"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o73"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o74"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o75"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o76"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o77"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o78"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o79"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o80"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o81"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o82"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o83"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o84"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o85"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o86"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o87"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o88"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o89"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o90"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o91"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o92"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o93"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o94"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o95"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o96"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o97"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o98"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o99"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o100"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o101"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o102"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o103"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o104"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o105"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o106"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o107"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o108"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o109"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o110"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o111"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o112"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o113"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o114"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o115"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o116"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o117"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o118"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o119"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o120"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o121"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o122"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o123"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o124"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o125"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o126"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o127"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o128"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o129"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o130"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o131"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o132"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o133"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o134"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o135"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o136"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o137"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o138"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o139"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o140"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o141"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o142"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o143"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o144"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o145"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o146"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o147"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o148"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o149"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o150"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o151"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o152"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o153"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o154"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o155"},
    tensor<24x40xf32> {remat.role = #remat.role<output>, remat.name = "o156"},
    tensor<24x40xbf16> {remat.role = #remat.role<output>, remat.name = "o157"},
    tensor<24x40xf16> {remat.role = #remat.role<output>, remat.name = "o158"},
    tensor<24x40xi32> {remat.role = #remat.role<output>, remat.name = "o159"},
    tensor<24x40xi64> {remat.role = #remat.role<output>, remat.name = "o160"},
    tensor<24x40xi1> {remat.role = #remat.role<output>, remat.name = "o161"}) {
  %v0 = remat.neg %x_f32 : tensor<24x40xf32>
  %v1 = remat.abs %x_f32 : tensor<24x40xf32>
  %v2 = remat.exp %x_f32 : tensor<24x40xf32>
  %v3 = remat.log %x_f32 : tensor<24x40xf32>
  %v4 = remat.sqrt %x_f32 : tensor<24x40xf32>
  %v5 = remat.rsqrt %x_f32 : tensor<24x40xf32>
  %v6 = remat.reciprocal %x_f32 : tensor<24x40xf32>
  %v7 = remat.sin %x_f32 : tensor<24x40xf32>
  %v8 = remat.cos %x_f32 : tensor<24x40xf32>
  %v9 = remat.tanh %x_f32 : tensor<24x40xf32>
  %v10 = remat.erf %x_f32 : tensor<24x40xf32>
  %v11 = remat.sigmoid %x_f32 : tensor<24x40xf32>
  %v12 = remat.silu %x_f32 : tensor<24x40xf32>
  %v13 = remat.relu %x_f32 : tensor<24x40xf32>
  %v14 = remat.gelu %x_f32 {kind = #remat.gelu_kind<erf>} : tensor<24x40xf32>
  %v15 = remat.gelu_backward %x_f32, %y_f32 {kind = #remat.gelu_kind<erf>} : tensor<24x40xf32>
  %v16 = remat.gelu %x_f32 {kind = #remat.gelu_kind<tanh>} : tensor<24x40xf32>
  %v17 = remat.gelu_backward %x_f32, %y_f32 {kind = #remat.gelu_kind<tanh>} : tensor<24x40xf32>
  %v18 = remat.relu_backward %x_f32, %y_f32 : tensor<24x40xf32>
  %v19 = remat.neg %x_bf16 : tensor<24x40xbf16>
  %v20 = remat.abs %x_bf16 : tensor<24x40xbf16>
  %v21 = remat.exp %x_bf16 : tensor<24x40xbf16>
  %v22 = remat.log %x_bf16 : tensor<24x40xbf16>
  %v23 = remat.sqrt %x_bf16 : tensor<24x40xbf16>
  %v24 = remat.rsqrt %x_bf16 : tensor<24x40xbf16>
  %v25 = remat.reciprocal %x_bf16 : tensor<24x40xbf16>
  %v26 = remat.sin %x_bf16 : tensor<24x40xbf16>
  %v27 = remat.cos %x_bf16 : tensor<24x40xbf16>
  %v28 = remat.tanh %x_bf16 : tensor<24x40xbf16>
  %v29 = remat.erf %x_bf16 : tensor<24x40xbf16>
  %v30 = remat.sigmoid %x_bf16 : tensor<24x40xbf16>
  %v31 = remat.silu %x_bf16 : tensor<24x40xbf16>
  %v32 = remat.relu %x_bf16 : tensor<24x40xbf16>
  %v33 = remat.gelu %x_bf16 {kind = #remat.gelu_kind<erf>} : tensor<24x40xbf16>
  %v34 = remat.gelu_backward %x_bf16, %y_bf16 {kind = #remat.gelu_kind<erf>} : tensor<24x40xbf16>
  %v35 = remat.gelu %x_bf16 {kind = #remat.gelu_kind<tanh>} : tensor<24x40xbf16>
  %v36 = remat.gelu_backward %x_bf16, %y_bf16 {kind = #remat.gelu_kind<tanh>} : tensor<24x40xbf16>
  %v37 = remat.relu_backward %x_bf16, %y_bf16 : tensor<24x40xbf16>
  %v38 = remat.neg %x_f16 : tensor<24x40xf16>
  %v39 = remat.abs %x_f16 : tensor<24x40xf16>
  %v40 = remat.exp %x_f16 : tensor<24x40xf16>
  %v41 = remat.log %x_f16 : tensor<24x40xf16>
  %v42 = remat.sqrt %x_f16 : tensor<24x40xf16>
  %v43 = remat.rsqrt %x_f16 : tensor<24x40xf16>
  %v44 = remat.reciprocal %x_f16 : tensor<24x40xf16>
  %v45 = remat.sin %x_f16 : tensor<24x40xf16>
  %v46 = remat.cos %x_f16 : tensor<24x40xf16>
  %v47 = remat.tanh %x_f16 : tensor<24x40xf16>
  %v48 = remat.erf %x_f16 : tensor<24x40xf16>
  %v49 = remat.sigmoid %x_f16 : tensor<24x40xf16>
  %v50 = remat.silu %x_f16 : tensor<24x40xf16>
  %v51 = remat.relu %x_f16 : tensor<24x40xf16>
  %v52 = remat.gelu %x_f16 {kind = #remat.gelu_kind<erf>} : tensor<24x40xf16>
  %v53 = remat.gelu_backward %x_f16, %y_f16 {kind = #remat.gelu_kind<erf>} : tensor<24x40xf16>
  %v54 = remat.gelu %x_f16 {kind = #remat.gelu_kind<tanh>} : tensor<24x40xf16>
  %v55 = remat.gelu_backward %x_f16, %y_f16 {kind = #remat.gelu_kind<tanh>} : tensor<24x40xf16>
  %v56 = remat.relu_backward %x_f16, %y_f16 : tensor<24x40xf16>
  %v57 = remat.add %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %v58 = remat.sub %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %v59 = remat.mul %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %v60 = remat.div %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %v61 = remat.max %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %v62 = remat.min %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %v63 = remat.pow %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %v64 = remat.compare <eq> %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xi1>
  %v65 = remat.compare <ne> %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xi1>
  %v66 = remat.compare <lt> %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xi1>
  %v67 = remat.compare <le> %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xi1>
  %v68 = remat.compare <gt> %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xi1>
  %v69 = remat.compare <ge> %x_f32, %y_f32 : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xi1>
  %v70 = remat.select %p, %x_f32, %y_f32 : (tensor<24x40xi1>, tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %v71 = remat.add %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xbf16>
  %v72 = remat.sub %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xbf16>
  %v73 = remat.mul %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xbf16>
  %v74 = remat.div %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xbf16>
  %v75 = remat.max %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xbf16>
  %v76 = remat.min %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xbf16>
  %v77 = remat.pow %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xbf16>
  %v78 = remat.compare <eq> %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xi1>
  %v79 = remat.compare <ne> %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xi1>
  %v80 = remat.compare <lt> %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xi1>
  %v81 = remat.compare <le> %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xi1>
  %v82 = remat.compare <gt> %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xi1>
  %v83 = remat.compare <ge> %x_bf16, %y_bf16 : (tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xi1>
  %v84 = remat.select %p, %x_bf16, %y_bf16 : (tensor<24x40xi1>, tensor<24x40xbf16>, tensor<24x40xbf16>) -> tensor<24x40xbf16>
  %v85 = remat.add %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xf16>
  %v86 = remat.sub %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xf16>
  %v87 = remat.mul %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xf16>
  %v88 = remat.div %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xf16>
  %v89 = remat.max %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xf16>
  %v90 = remat.min %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xf16>
  %v91 = remat.pow %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xf16>
  %v92 = remat.compare <eq> %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xi1>
  %v93 = remat.compare <ne> %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xi1>
  %v94 = remat.compare <lt> %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xi1>
  %v95 = remat.compare <le> %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xi1>
  %v96 = remat.compare <gt> %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xi1>
  %v97 = remat.compare <ge> %x_f16, %y_f16 : (tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xi1>
  %v98 = remat.select %p, %x_f16, %y_f16 : (tensor<24x40xi1>, tensor<24x40xf16>, tensor<24x40xf16>) -> tensor<24x40xf16>
  %v99 = remat.add %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi32>
  %v100 = remat.sub %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi32>
  %v101 = remat.mul %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi32>
  %v102 = remat.div %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi32>
  %v103 = remat.max %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi32>
  %v104 = remat.min %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi32>
  %v105 = remat.compare <eq> %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi1>
  %v106 = remat.compare <ne> %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi1>
  %v107 = remat.compare <lt> %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi1>
  %v108 = remat.compare <le> %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi1>
  %v109 = remat.compare <gt> %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi1>
  %v110 = remat.compare <ge> %x_i32, %y_i32 : (tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi1>
  %v111 = remat.select %p, %x_i32, %y_i32 : (tensor<24x40xi1>, tensor<24x40xi32>, tensor<24x40xi32>) -> tensor<24x40xi32>
  %v112 = remat.add %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi64>
  %v113 = remat.sub %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi64>
  %v114 = remat.mul %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi64>
  %v115 = remat.div %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi64>
  %v116 = remat.max %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi64>
  %v117 = remat.min %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi64>
  %v118 = remat.compare <eq> %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi1>
  %v119 = remat.compare <ne> %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi1>
  %v120 = remat.compare <lt> %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi1>
  %v121 = remat.compare <le> %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi1>
  %v122 = remat.compare <gt> %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi1>
  %v123 = remat.compare <ge> %x_i64, %y_i64 : (tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi1>
  %v124 = remat.select %p, %x_i64, %y_i64 : (tensor<24x40xi1>, tensor<24x40xi64>, tensor<24x40xi64>) -> tensor<24x40xi64>
  %v125 = remat.cast %x_f32 : tensor<24x40xf32> to tensor<24x40xbf16>
  %v126 = remat.cast %x_f32 : tensor<24x40xf32> to tensor<24x40xf16>
  %v127 = remat.cast %x_f32 : tensor<24x40xf32> to tensor<24x40xi32>
  %v128 = remat.cast %x_f32 : tensor<24x40xf32> to tensor<24x40xi64>
  %v129 = remat.cast %x_f32 : tensor<24x40xf32> to tensor<24x40xi1>
  %v130 = remat.cast %x_bf16 : tensor<24x40xbf16> to tensor<24x40xf32>
  %v131 = remat.cast %x_bf16 : tensor<24x40xbf16> to tensor<24x40xf16>
  %v132 = remat.cast %x_bf16 : tensor<24x40xbf16> to tensor<24x40xi32>
  %v133 = remat.cast %x_bf16 : tensor<24x40xbf16> to tensor<24x40xi64>
  %v134 = remat.cast %x_bf16 : tensor<24x40xbf16> to tensor<24x40xi1>
  %v135 = remat.cast %x_f16 : tensor<24x40xf16> to tensor<24x40xf32>
  %v136 = remat.cast %x_f16 : tensor<24x40xf16> to tensor<24x40xbf16>
  %v137 = remat.cast %x_f16 : tensor<24x40xf16> to tensor<24x40xi32>
  %v138 = remat.cast %x_f16 : tensor<24x40xf16> to tensor<24x40xi64>
  %v139 = remat.cast %x_f16 : tensor<24x40xf16> to tensor<24x40xi1>
  %v140 = remat.cast %x_i32 : tensor<24x40xi32> to tensor<24x40xf32>
  %v141 = remat.cast %x_i32 : tensor<24x40xi32> to tensor<24x40xbf16>
  %v142 = remat.cast %x_i32 : tensor<24x40xi32> to tensor<24x40xf16>
  %v143 = remat.cast %x_i32 : tensor<24x40xi32> to tensor<24x40xi64>
  %v144 = remat.cast %x_i32 : tensor<24x40xi32> to tensor<24x40xi1>
  %v145 = remat.cast %x_i64 : tensor<24x40xi64> to tensor<24x40xf32>
  %v146 = remat.cast %x_i64 : tensor<24x40xi64> to tensor<24x40xbf16>
  %v147 = remat.cast %x_i64 : tensor<24x40xi64> to tensor<24x40xf16>
  %v148 = remat.cast %x_i64 : tensor<24x40xi64> to tensor<24x40xi32>
  %v149 = remat.cast %x_i64 : tensor<24x40xi64> to tensor<24x40xi1>
  %v150 = remat.cast %p : tensor<24x40xi1> to tensor<24x40xf32>
  %v151 = remat.cast %p : tensor<24x40xi1> to tensor<24x40xbf16>
  %v152 = remat.cast %p : tensor<24x40xi1> to tensor<24x40xf16>
  %v153 = remat.cast %p : tensor<24x40xi1> to tensor<24x40xi32>
  %v154 = remat.cast %p : tensor<24x40xi1> to tensor<24x40xi64>
  %v155 = remat.select %p, %p, %p : (tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>) -> tensor<24x40xi1>
  %v156 = remat.constant dense<1.5> : tensor<24x40xf32>
  %v157 = remat.constant dense<1.5> : tensor<24x40xbf16>
  %v158 = remat.constant dense<1.5> : tensor<24x40xf16>
  %v159 = remat.constant dense<1> : tensor<24x40xi32>
  %v160 = remat.constant dense<1> : tensor<24x40xi64>
  %v161 = remat.constant dense<true> : tensor<24x40xi1>
  return %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7, %v8, %v9, %v10, %v11, %v12, %v13, %v14, %v15, %v16, %v17, %v18, %v19, %v20, %v21, %v22, %v23, %v24, %v25, %v26, %v27, %v28, %v29, %v30, %v31, %v32, %v33, %v34, %v35, %v36, %v37, %v38, %v39, %v40, %v41, %v42, %v43, %v44, %v45, %v46, %v47, %v48, %v49, %v50, %v51, %v52, %v53, %v54, %v55, %v56, %v57, %v58, %v59, %v60, %v61, %v62, %v63, %v64, %v65, %v66, %v67, %v68, %v69, %v70, %v71, %v72, %v73, %v74, %v75, %v76, %v77, %v78, %v79, %v80, %v81, %v82, %v83, %v84, %v85, %v86, %v87, %v88, %v89, %v90, %v91, %v92, %v93, %v94, %v95, %v96, %v97, %v98, %v99, %v100, %v101, %v102, %v103, %v104, %v105, %v106, %v107, %v108, %v109, %v110, %v111, %v112, %v113, %v114, %v115, %v116, %v117, %v118, %v119, %v120, %v121, %v122, %v123, %v124, %v125, %v126, %v127, %v128, %v129, %v130, %v131, %v132, %v133, %v134, %v135, %v136, %v137, %v138, %v139, %v140, %v141, %v142, %v143, %v144, %v145, %v146, %v147, %v148, %v149, %v150, %v151, %v152, %v153, %v154, %v155, %v156, %v157, %v158, %v159, %v160, %v161
      : tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xf32>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xbf16>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xbf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xf16>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xf16>, tensor<24x40xi32>, tensor<24x40xi32>, tensor<24x40xi32>, tensor<24x40xi32>, tensor<24x40xi32>, tensor<24x40xi32>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi32>, tensor<24x40xi64>, tensor<24x40xi64>, tensor<24x40xi64>, tensor<24x40xi64>, tensor<24x40xi64>, tensor<24x40xi64>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi1>, tensor<24x40xi64>, tensor<24x40xbf16>, tensor<24x40xf16>, tensor<24x40xi32>, tensor<24x40xi64>, tensor<24x40xi1>, tensor<24x40xf32>, tensor<24x40xf16>, tensor<24x40xi32>, tensor<24x40xi64>, tensor<24x40xi1>, tensor<24x40xf32>, tensor<24x40xbf16>, tensor<24x40xi32>, tensor<24x40xi64>, tensor<24x40xi1>, tensor<24x40xf32>, tensor<24x40xbf16>, tensor<24x40xf16>, tensor<24x40xi64>, tensor<24x40xi1>, tensor<24x40xf32>, tensor<24x40xbf16>, tensor<24x40xf16>, tensor<24x40xi32>, tensor<24x40xi1>, tensor<24x40xf32>, tensor<24x40xbf16>, tensor<24x40xf16>, tensor<24x40xi32>, tensor<24x40xi64>, tensor<24x40xi1>, tensor<24x40xf32>, tensor<24x40xbf16>, tensor<24x40xf16>, tensor<24x40xi32>, tensor<24x40xi64>, tensor<24x40xi1>
}
