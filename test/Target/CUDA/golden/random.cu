
// step 0: kernel, <stdin>:3:10, and 1 more
// dropout, add over 32x64.
extern "C" __global__ void __launch_bounds__(256) dropout_add_32x64(
    const float *in0, const int64 *in1, const int64 *in2, const float *in3, int64 id0, float *out0) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 256u + threadIdx.x) * 4u;
  if (i >= 2048u)
    return;
  Run<float, 4> run0(in0 + i);
  int64 x1 = in1[0];
  int64 x2 = in2[0];
  Run<float, 4> run3(in3 + i);
  uint4 words0[1];
  words0[0] = philox(x1, id0, x2, (int64)(i / 4));
  Run<float, 4> y0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const Exact x0 = toFloat(run0[k]);
    const Exact x3 = toFloat(run3[k]);
    const Exact v1 = uniformOf(wordOf(words0[k / 4], k % 4)) >= 0.100000001f ? x0 * 1.11111116f : Exact(0.0f); // dropout
    const Exact v2 = v1 + x3; // add
    y0[k] = stored<float>(v2);
  }
  y0.store(out0 + i);
}

// step 2: dropout, <stdin>:13:10
// dropout over 9.
extern "C" __global__ void __launch_bounds__(32) dropout_9(
    const float *in0, const int64 *in1, const int64 *in2, int64 id0, float *out0) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 32u + threadIdx.x);
  if (i >= 9u)
    return;
  Exact x0 = toFloat(in0[i]);
  int64 x1 = in1[0];
  int64 x2 = in2[0];
  int64 words0Seed = x1, words0Id = id0, words0Step = x2;
  Run<float, 1> y0;
  const Exact v1 = randomUniform(words0Seed, words0Id, words0Step, i + 0) >= 0.5f ? x0 * 2.0f : Exact(0.0f); // dropout
  y0[0] = stored<float>(v1);
  y0.store(out0 + i);
}

// step 3: random, <stdin>:14:10
// random over 16.
extern "C" __global__ void __launch_bounds__(32) random_16(
    const int64 *in0, const int64 *in1, int64 id0, float *out0) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 32u + threadIdx.x) * 4u;
  if (i >= 16u)
    return;
  int64 x0 = in0[0];
  int64 x1 = in1[0];
  int64 words0Seed = x0, words0Id = id0, words0Step = x1;
  Run<float, 4> y0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const Exact v1 = randomNormal(words0Seed, words0Id, words0Step, i + k); // random
    y0[k] = stored<float>(v1);
  }
  y0.store(out0 + i);
}

// step 4: random, <stdin>:15:10
// random over 16.
extern "C" __global__ void __launch_bounds__(32) random_16_2(
    const int64 *in0, const int64 *in1, int64 id0, bf16 *out0) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 32u + threadIdx.x) * 8u;
  if (i >= 16u)
    return;
  int64 x0 = in0[0];
  int64 x1 = in1[0];
  uint4 words0[2];
  words0[0] = philox(x0, id0, x1, (int64)(i / 4));
  words0[1] = philox(x0, id0, x1, (int64)(i / 4) + 1);
  Run<bf16, 8> y0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const Exact v1 = rounded<bf16>(uniformOf(wordOf(words0[k / 4], k % 4))); // random
    y0[k] = stored<bf16>(v1);
  }
  y0.store(out0 + i);
}

// Launches
// step 0: kernel, <stdin>:3:10
//   dropout_add_32x64<<<2, 256>>>
// step 1: kernel, <stdin>:8:10
//   dropout_add_32x64<<<2, 256>>>
// step 2: dropout, <stdin>:13:10
//   dropout_9<<<1, 32>>>
// step 3: random, <stdin>:14:10
//   random_16<<<1, 32>>>
// step 4: random, <stdin>:15:10
//   random_16_2<<<1, 32>>>
