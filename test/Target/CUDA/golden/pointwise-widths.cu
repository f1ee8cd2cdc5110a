
// step 0: kernel, <stdin>:3:12
// silu, cast, add, cast, mul, cast over 256x64.
extern "C" __global__ void __launch_bounds__(256) silu_cast_add_cast_and_2_more_256x64(
    const bf16 *in0, const float *in1, const f16 *in2, float *out0, bf16 *out1) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 256u + threadIdx.x) * 8u;
  if (i >= 16384u)
    return;
  Run<bf16, 8> run0(in0 + i);
  Run<float, 8> run1(in1 + i);
  Run<f16, 8> run2(in2 + (i % 64u));
  Run<float, 8> y0;
  Run<bf16, 8> y1;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const Exact x0 = toFloat(run0[k]);
    const Exact x1 = toFloat(run1[k]);
    const Exact x2 = toFloat(run2[k]);
    const Exact v0 = rounded<bf16>(x0 * sigmoidOf(x0)); // silu
    const Exact v1 = (float)v0; // cast
    const Exact v2 = v1 + x1; // add
    const Exact v3 = (float)x2; // cast
    const Exact v4 = v2 * v3; // mul
    const Exact v5 = rounded<bf16>((float)v4); // cast
    y0[k] = stored<float>(v4);
    y1[k] = stored<bf16>(v5);
  }
  y0.store(out0 + i);
  y1.store(out1 + i);
}

// Launches
// step 0: kernel, <stdin>:3:12
//   silu_cast_add_cast_and_2_more_256x64<<<8, 256>>>
