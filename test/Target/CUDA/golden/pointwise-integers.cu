
// step 0: kernel, <stdin>:3:12
// div, cast, max, add, compare, select, max over 1024.
extern "C" __global__ void __launch_bounds__(128) div_cast_max_add_and_3_more_1024(
    const int64 *in0, const int *in1, const float *in2, int64 *out0, bool *out1, float *out2) {
  beginKernel();
  uint32 i = ((uint32)blockIdx.x * 128u + threadIdx.x) * 8u;
  if (i >= 1024u)
    return;
  Run<int64, 8> run0(in0 + i);
  Run<int, 8> run1(in1 + i);
  Run<float, 8> run2(in2 + i);
  Run<int64, 8> y0;
  Run<bool, 8> y1;
  Run<float, 8> y2;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int64 x0 = run0[k];
    const int x1 = run1[k];
    const Exact x2 = toFloat(run2[k]);
    const int v0 = (int)18446744073709551613ull;
    const int v1 = v0 == 0 ? 0 : x1 / v0; // div
    const int64 v2 = (int64)v1; // cast
    const int64 v3 = (int64)9223372036854775808ull;
    const int64 v4 = v2 > v3 || v2 != v2 ? v2 : v3; // max
    const int64 v5 = x0 + v4; // add
    const bool v6 = v5 < x0; // compare
    const Exact v7 = __int_as_float(0x7fc00000);
    const Exact v8 = v6 ? x2 : v7; // select
    const Exact v9 = __int_as_float(0xff800000);
    const Exact v10 = v8 > v9 || v8 != v8 ? v8 : v9; // max
    y0[k] = v5;
    y1[k] = v6;
    y2[k] = stored<float>(v10);
  }
  y0.store(out0 + i);
  y1.store(out1 + i);
  y2.store(out2 + i);
}

// Launches
// step 0: kernel, <stdin>:3:12
//   div_cast_max_add_and_3_more_1024<<<1, 128>>>
