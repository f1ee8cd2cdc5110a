//===- epilogues.cu - what cuBLASLt's epilogues cost ----------------------===//
//
// Times the matrix products of a GPT-2 step in bf16, each plain and with what
// could be computed in the same call: a bias, a tensor that is added, the
// gradient of GELU, sums over rows. For each it tries the library's first
// suggestions without workspace and with 32 MiB; prints the first suggestion's
// time and the least, in microseconds, and the same as a line of JSON.
//
// usage: nvcc -O2 -std=c++17 -arch=sm_90 epilogues.cu -lcublasLt -o epilogues
//        epilogues [TOKENS [WIDTH [VOCABULARY]]]     (32768, 768, 50304)
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <string>
#include <vector>

#define CHECK(Call)                                                            \
  if (int Failed = int(Call)) {                                                \
    std::fprintf(stderr, "%s: %d\n", #Call, Failed);                           \
    std::exit(1);                                                              \
  }

/// Numbers below 1 of either sign.
__global__ void fill(__nv_bfloat16 *To, size_t Count, unsigned Seed) {
  for (size_t I = blockIdx.x * size_t(blockDim.x) + threadIdx.x; I < Count;
       I += size_t(gridDim.x) * blockDim.x) {
    unsigned X = unsigned(I) * 2654435761u + Seed;
    X ^= X >> 16;
    X *= 2246822519u;
    X ^= X >> 13;
    To[I] = __float2bfloat16(float(int(X)) / 2147483648.0f);
  }
}

static __nv_bfloat16 *makeTensor(size_t Count, unsigned Seed) {
  __nv_bfloat16 *At = nullptr;
  CHECK(cudaMalloc(&At, Count * 2));
  fill<<<1024, 256>>>(At, Count, Seed);
  return At;
}

struct Product {
  const char *Name;
  int64_t M, N, K; ///< row-major result [M, N]
  bool TransposeLhs, TransposeRhs;
};

struct Variant {
  const char *Name;
  cublasLtEpilogue_t Epilogue;
  bool Adds; ///< beta 1, a tensor C
  bool FloatResult;
};

/// Whether `Epilogue` reads or writes a vector of biases.
static bool hasBias(cublasLtEpilogue_t Epilogue) {
  return Epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
         Epilogue != CUBLASLT_EPILOGUE_DGELU;
}

/// Prints the row and gives it as JSON.
static std::string run(cublasLtHandle_t Handle, const Product &P,
                       const Variant &V, void *A, void *B, void *C, void *D,
                       void *Aux, void *Bias, void *Workspace) {
  cublasLtMatmulDesc_t Desc;
  CHECK(cublasLtMatmulDescCreate(&Desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  auto Set = [&](cublasLtMatmulDescAttributes_t What, auto Value) {
    CHECK(cublasLtMatmulDescSetAttribute(Desc, What, &Value, sizeof Value));
  };
  // Column-major: result^T = rhs^T lhs^T.
  Set(CUBLASLT_MATMUL_DESC_TRANSA, P.TransposeRhs ? CUBLAS_OP_T : CUBLAS_OP_N);
  Set(CUBLASLT_MATMUL_DESC_TRANSB, P.TransposeLhs ? CUBLAS_OP_T : CUBLAS_OP_N);
  Set(CUBLASLT_MATMUL_DESC_EPILOGUE, V.Epilogue);
  if (hasBias(V.Epilogue)) {
    Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, Bias);
    Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16BF);
  }
  if (V.Epilogue & 128) {
    Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, Aux);
    Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, P.N);
  }
  auto Layout = [](cudaDataType_t Type, int64_t Rows, int64_t Columns) {
    cublasLtMatrixLayout_t L;
    CHECK(cublasLtMatrixLayoutCreate(&L, Type, Columns, Rows, Columns));
    return L;
  };
  auto Pick = [](bool Swap, int64_t X, int64_t Y) { return Swap ? Y : X; };
  cudaDataType_t Out = V.FloatResult ? CUDA_R_32F : CUDA_R_16BF;
  cublasLtMatrixLayout_t Rhs =
      Layout(CUDA_R_16BF, Pick(P.TransposeRhs, P.K, P.N),
             Pick(P.TransposeRhs, P.N, P.K));
  cublasLtMatrixLayout_t Lhs =
      Layout(CUDA_R_16BF, Pick(P.TransposeLhs, P.M, P.K),
             Pick(P.TransposeLhs, P.K, P.M));
  cublasLtMatrixLayout_t Result = Layout(Out, P.M, P.N);
  std::string Line, Json = std::string("{\"product\": \"") + P.Name +
                           "\", \"with\": \"" + V.Name + "\"";
  for (size_t Bytes : {size_t(0), size_t(32) << 20}) {
    cublasLtMatmulPreference_t Preference;
    CHECK(cublasLtMatmulPreferenceCreate(&Preference));
    CHECK(cublasLtMatmulPreferenceSetAttribute(
        Preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &Bytes,
        sizeof Bytes));
    cublasLtMatmulHeuristicResult_t Found[24];
    int Count = 0;
    if (cublasLtMatmulAlgoGetHeuristic(Handle, Desc, Rhs, Lhs, Result, Result,
                                       Preference, 24, Found, &Count) ||
        Count == 0) {
      Line += "  none            ";
      continue;
    }
    float One = 1, Beta = V.Adds ? 1 : 0, First = 0, Least = 1e30f;
    cudaEvent_t Begin, End;
    CHECK(cudaEventCreate(&Begin));
    CHECK(cudaEventCreate(&End));
    auto Time = [&](const cublasLtMatmulAlgo_t &Algorithm) {
      auto Go = [&] {
        return cublasLtMatmul(Handle, Desc, &One, B, Rhs, A, Lhs, &Beta, C,
                              Result, D, Result, &Algorithm, Workspace, Bytes,
                              nullptr);
      };
      float Best = 1e30f;
      if (Go() || Go())
        return Best;
      for (int Try = 0; Try < 3; ++Try) {
        CHECK(cudaEventRecord(Begin));
        for (int I = 0; I < 4; ++I)
          Go();
        CHECK(cudaEventRecord(End));
        CHECK(cudaEventSynchronize(End));
        float Ms = 0;
        CHECK(cudaEventElapsedTime(&Ms, Begin, End));
        Best = std::min(Best, Ms * 250);
      }
      return Best;
    };
    for (int I = 0; I < Count; ++I) {
      float Us = Time(Found[I].algo);
      First = I == 0 ? Us : First;
      Least = std::min(Least, Us);
    }
    char Text[64];
    std::snprintf(Text, sizeof Text, " %8.1f %8.1f", First, Least);
    Line += Text;
    std::snprintf(Text, sizeof Text, ", \"first_us_%zu\": %.1f", Bytes, First);
    Json += Text;
    std::snprintf(Text, sizeof Text, ", \"least_us_%zu\": %.1f", Bytes, Least);
    Json += Text;
  }
  std::printf("%-14s %-18s%s\n", P.Name, V.Name, Line.c_str());
  std::fflush(stdout);
  return Json + "}";
}

int main(int Argc, char **Argv) {
  auto Number = [&](int At, int64_t Default) {
    return Argc > At ? std::atoll(Argv[At]) : Default;
  };
  int64_t T = Number(1, 32768), W = Number(2, 768), V = Number(3, 50304);
  cublasLtHandle_t Handle;
  CHECK(cublasLtCreate(&Handle));
  std::printf("cuBLASLt %zu, %lld tokens, width %lld\n", cublasLtGetVersion(),
              (long long)T, (long long)W);
  std::printf("%-14s %-18s %8s %8s %8s %8s   (microseconds: first, least; no "
              "workspace, 32 MiB)\n",
              "", "", "first", "least", "first", "least");
  size_t Largest = size_t(T) * std::max(V, 4 * W);
  void *A = makeTensor(Largest, 1), *B = makeTensor(Largest, 2),
       *D = makeTensor(Largest, 3);
  void *C = makeTensor(size_t(T) * 4 * W, 4),
       *Aux = makeTensor(size_t(T) * 4 * W, 5), *Bias = makeTensor(V * 2, 6);
  void *Workspace = nullptr;
  CHECK(cudaMalloc(&Workspace, 32 << 20));
  const Variant Plain = {"plain", CUBLASLT_EPILOGUE_DEFAULT, false, false};
  const Variant WithBias = {"bias", CUBLASLT_EPILOGUE_BIAS, false, false};
  const Variant Add = {"add", CUBLASLT_EPILOGUE_DEFAULT, true, false};
  const Variant BiasAdd = {"bias, add", CUBLASLT_EPILOGUE_BIAS, true, false};
  const Variant Gelu = {"bias, gelu, aux", CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
                        false, false};
  const Variant GeluGrad = {"dgelu", CUBLASLT_EPILOGUE_DGELU, false, false};
  const Variant GeluGradSum = {"dgelu, sums", CUBLASLT_EPILOGUE_DGELU_BGRAD,
                               false, false};
  const Variant Sums = {"sums of rhs", CUBLASLT_EPILOGUE_BGRADA, false, false};
  const Variant Float = {"f32 result", CUBLASLT_EPILOGUE_DEFAULT, false, true};
  const Variant FloatSums = {"f32, sums of rhs", CUBLASLT_EPILOGUE_BGRADA,
                             false, true};
  struct {
    Product P;
    std::vector<Variant> Variants;
  } Cases[] = {
      {{"qkv", T, 3 * W, W, false, false}, {Plain, WithBias}},
      {{"proj", T, W, W, false, false}, {Plain, WithBias, Add, BiasAdd}},
      {{"fc", T, 4 * W, W, false, false}, {Plain, WithBias, Gelu}},
      {{"out", T, W, 4 * W, false, false}, {Plain, WithBias, Add, BiasAdd}},
      {{"head", T, V, W, false, true}, {Plain}},
      {{"qkv dgrad", T, W, 3 * W, false, true}, {Plain, Add}},
      {{"proj dgrad", T, W, W, false, true}, {Plain}},
      {{"fc dgrad", T, W, 4 * W, false, true}, {Plain}},
      {{"out dgrad", T, 4 * W, W, false, true}, {Plain, GeluGrad, GeluGradSum}},
      {{"head dgrad", T, W, V, false, false}, {Plain}},
      {{"qkv wgrad", W, 3 * W, T, true, false},
       {Plain, Sums, Float, FloatSums}},
      {{"proj wgrad", W, W, T, true, false}, {Plain, Sums, Float, FloatSums}},
      {{"fc wgrad", W, 4 * W, T, true, false}, {Plain, Sums, Float, FloatSums}},
      {{"out wgrad", 4 * W, W, T, true, false},
       {Plain, Sums, Float, FloatSums}},
      {{"head wgrad", V, W, T, true, false}, {Plain, Float}},
  };
  std::string Json;
  for (const auto &Case : Cases)
    for (const Variant &How : Case.Variants)
      Json += (Json.empty() ? "" : ", ") +
              run(Handle, Case.P, How, A, B, C, D, Aux, Bias, Workspace);
  CHECK(cudaDeviceSynchronize());
  std::printf("[%s]\n", Json.c_str());
  return 0;
}
