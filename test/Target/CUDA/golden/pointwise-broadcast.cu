
// step 0: kernel, <stdin>:3:10
// mul, add, mul, add, mul over 4x6x32.
extern "C" __global__ void __launch_bounds__(192) mul_add_mul_add_and_1_more_4x6x32(
    const float *in0, const float *in1, const float *in2, const float *in3, const float *in4, const float *in5, float *out0) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 192u + threadIdx.x) * 4u;
  if (i >= 768u)
    return;
  Run<float, 4> run0(in0 + i);
  Run<float, 4> run1(in1 + (i % 32u));
  Exact x2 = toFloat(in2[i / 192u]);
  Exact x3 = toFloat(in3[i / 32u % 6u]);
  Run<float, 4> run4(in4 + (i / 192u * 32u + i % 32u));
  Exact x5 = toFloat(in5[0]);
  Run<float, 4> y0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const Exact x0 = toFloat(run0[k]);
    const Exact x1 = toFloat(run1[k]);
    const Exact x4 = toFloat(run4[k]);
    const Exact v0 = x0 * x1; // mul
    const Exact v1 = v0 + x2; // add
    const Exact v2 = v1 * x3; // mul
    const Exact v3 = v2 + x4; // add
    const Exact v4 = v3 * x5; // mul
    y0[k] = stored<float>(v4);
  }
  y0.store(out0 + i);
}

// step 1: add, <stdin>:11:10
// add over 5x6.
extern "C" __global__ void __launch_bounds__(32) add_5x6(
    const float *in0, const float *in1, float *out0) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 32u + threadIdx.x) * 2u;
  if (i >= 30u)
    return;
  Run<float, 2> run0(in0 + i);
  Run<float, 2> run1(in1 + (i % 6u));
  Run<float, 2> y0;
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const Exact x0 = toFloat(run0[k]);
    const Exact x1 = toFloat(run1[k]);
    const Exact v0 = x0 + x1; // add
    y0[k] = stored<float>(v0);
  }
  y0.store(out0 + i);
}

// Launches
// step 0: kernel, <stdin>:3:10
//   mul_add_mul_add_and_1_more_4x6x32<<<1, 192>>>
// step 1: add, <stdin>:11:10
//   add_5x6<<<1, 32>>>
