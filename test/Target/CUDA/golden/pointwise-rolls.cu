
// step 0: kernel, <stdin>:3:10
// mul, roll, mul, add over 4x6x32.
extern "C" __global__ void __launch_bounds__(96) mul_roll_mul_add_4x6x32(
    const bf16 *in0, const bf16 *in1, const bf16 *in2, const bf16 *in3, bf16 *out0) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 96u + threadIdx.x) * 8u;
  if (i >= 768u)
    return;
  Run<bf16, 8> run0(in0 + i);
  Run<bf16, 8> run1(in1 + (i % 32u < 16u ? i + 16u : i - 16u));
  Run<bf16, 8> run2(in2 + (i % 192u));
  Run<bf16, 8> run3(in3 + (i % 192u));
  Run<bf16, 8> y0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const Exact x0 = toFloat(run0[k]);
    const Exact x1 = toFloat(run1[k]);
    const Exact x2 = toFloat(run2[k]);
    const Exact x3 = toFloat(run3[k]);
    const Exact v0 = rounded<bf16>(x0 * x2); // mul
    const Exact v1 = rounded<bf16>(x1 * x3); // mul
    const Exact v2 = rounded<bf16>(v0 + v1); // add
    y0[k] = stored<bf16>(v2);
  }
  y0.store(out0 + i);
}

// step 1: kernel, <stdin>:10:10
// roll, roll, sub over 6x10.
extern "C" __global__ void __launch_bounds__(64) roll_roll_sub_6x10(
    const float *in0, const float *in1, float *out0) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 64u + threadIdx.x);
  if (i >= 60u)
    return;
  Exact x0 = toFloat(in0[i % 60u < 50u ? i + 10u : i - 50u]);
  Exact x1 = toFloat(in1[i % 10u < 3u ? i + 7u : i - 3u]);
  Run<float, 1> y0;
  const Exact v0 = x1 - x0; // sub
  y0[0] = stored<float>(v0);
  y0.store(out0 + i);
}

// step 2: roll, <stdin>:16:10
// roll over 6x12.
extern "C" __global__ void __launch_bounds__(32) roll_6x12(
    const int *in0, int *out0) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 32u + threadIdx.x) * 4u;
  if (i >= 72u)
    return;
  Run<int, 4> run0(in0 + (i % 72u < 12u ? i + 60u : i - 12u));
  Run<int, 4> y0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int x0 = run0[k];
    y0[k] = x0;
  }
  y0.store(out0 + i);
}

// Launches
// step 0: kernel, <stdin>:3:10
//   mul_roll_mul_add_4x6x32<<<1, 96>>>
// step 1: kernel, <stdin>:10:10
//   roll_roll_sub_6x10<<<1, 64>>>
// step 2: roll, <stdin>:16:10
//   roll_6x12<<<1, 32>>>
