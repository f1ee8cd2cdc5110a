//===- Lt.cpp - the interface of cuBLASLt ---------------------------------===//

#include "cuda/Lt.h"
#include "cuda/Library.h"

using namespace remat::runtime;
using namespace remat::runtime::cuda;

Result<Lt> Lt::load() {
  Result<Library> From = Library::open("libcublasLt.so.13");
  if (!From)
    return From.getError();
  Lt L;
  Status Bound;
  auto Bind = [&](const char *Symbol, auto *&Function) {
    if (Bound)
      Bound = bind(*From, Symbol, Function);
  };
  Bind("cublasLtCreate", L.Create);
  Bind("cublasLtDestroy", L.Destroy);
  Bind("cublasLtGetVersion", L.GetVersion);
  Bind("cublasLtGetStatusString", L.GetStatusString);
  Bind("cublasLtMatmulDescCreate", L.DescCreate);
  Bind("cublasLtMatmulDescDestroy", L.DescDestroy);
  Bind("cublasLtMatmulDescSetAttribute", L.DescSet);
  Bind("cublasLtMatrixLayoutCreate", L.LayoutCreate);
  Bind("cublasLtMatrixLayoutDestroy", L.LayoutDestroy);
  Bind("cublasLtMatrixLayoutSetAttribute", L.LayoutSet);
  Bind("cublasLtMatmulPreferenceCreate", L.PreferenceCreate);
  Bind("cublasLtMatmulPreferenceDestroy", L.PreferenceDestroy);
  Bind("cublasLtMatmulPreferenceSetAttribute", L.PreferenceSet);
  Bind("cublasLtMatmulAlgoGetHeuristic", L.GetHeuristic);
  Bind("cublasLtMatmulAlgoCheck", L.Check);
  Bind("cublasLtMatmulAlgoCapGetAttribute", L.CapGet);
  Bind("cublasLtMatmulAlgoConfigGetAttribute", L.ConfigGet);
  Bind("cublasLtMatmulAlgoConfigSetAttribute", L.ConfigSet);
  Bind("cublasLtMatmul", L.Run);
  if (!Bound)
    return Bound.getError();
  return L;
}

namespace {
/// cudaDataType_t of the float types. Another one does not compile until it is
/// here.
template <DType> struct LtType;
template <> struct LtType<DType::F32> {
  static constexpr int Value = 0;
};
template <> struct LtType<DType::F16> {
  static constexpr int Value = 2;
};
template <> struct LtType<DType::BF16> {
  static constexpr int Value = 14;
};
} // namespace

int remat::runtime::cuda::getLtType(DType Type) {
  return dispatchElement(Type, [](auto Row) -> int {
    if constexpr (Row.IsFloat)
      return LtType<Row.Type>::Value;
    else
      __builtin_unreachable(); // products are checked to be of floats
  });
}
