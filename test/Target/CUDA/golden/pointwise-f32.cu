
// step 0: kernel, <stdin>:3:10
// mul, add, gelu over 64x96.
extern "C" __global__ void __launch_bounds__(256) mul_add_gelu_64x96(
    const float *in0, const float *in1, float *out0) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 256u + threadIdx.x) * 4u;
  if (i >= 6144u)
    return;
  Run<float, 4> run0(in0 + i);
  Run<float, 4> run1(in1 + i);
  Run<float, 4> y0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const Exact x0 = toFloat(run0[k]);
    const Exact x1 = toFloat(run1[k]);
    const Exact v0 = x0 * x1; // mul
    const Exact v1 = 0.100000001f;
    const Exact v2 = v0 + v1; // add
    const Exact v3 = 0.5f * v2 * (1.0f + erff(v2 * 0.70710678118654752f)); // gelu
    y0[k] = stored<float>(v3);
  }
  y0.store(out0 + i);
}

// Launches
// step 0: kernel, <stdin>:3:10
//   mul_add_gelu_64x96<<<6, 256>>>
