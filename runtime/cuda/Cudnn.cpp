//===- Cudnn.cpp - cuDNN and its handle -----------------------------------===//

#include "cuda/Cudnn.h"
#include "cuda/CudnnGraph.h"
#include "cuda/Library.h"

namespace cudnn_frontend {
void *cudnn_dlhandle = nullptr;
} // namespace cudnn_frontend

using namespace remat::runtime;
using namespace remat::runtime::cuda;

namespace {

class LoadedCudnn : public CudnnLibrary {
public:
  explicit LoadedCudnn(cudnnHandle_t Handle) : Handle(Handle) {}
  ~LoadedCudnn() override {
    try {
      fe::detail::destroy_handle(Handle);
    } catch (const std::exception &) { // NOLINT(bugprone-empty-catch)
      // Thrown where the library is not found, which made the handle.
    }
  }

  Result<std::unique_ptr<Attention>>
  prepare(const AttentionProblem &P) override {
    return makeAttention(Handle, P);
  }
  Result<std::unique_ptr<Convolution>>
  prepare(const ConvolutionProblem &P) override {
    return makeConvolution(Handle, P);
  }

private:
  cudnnHandle_t Handle;
};

} // namespace

fe::DataType_t remat::runtime::cuda::getCudnnType(DType Type) {
  switch (Type) {
  case DType::F32:
    return fe::DataType_t::FLOAT;
  case DType::BF16:
    return fe::DataType_t::BFLOAT16;
  case DType::F16:
    return fe::DataType_t::HALF;
  case DType::I32:
  case DType::I64:
  case DType::I1:
  case DType::F8E4M3FN:
    break;
  }
  return fe::DataType_t::NOT_SET;
}

Result<std::unique_ptr<CudnnLibrary>> CudnnLibrary::load(Stream S) {
  // cuDNN looks these up by name; loaded here, they are found wherever they
  // lie. The last two are needed by some of its engines only.
  Result<Library> Runtime = Library::open("libcudart.so.13");
  if (!Runtime)
    return Runtime.getError();
  (void)Library::open("libnvrtc.so.13");
  (void)Library::open("libcublasLt.so.13");
  Result<Library> Cudnn = Library::open("libcudnn.so.9");
  if (!Cudnn)
    return Cudnn.getError();
  fe::cudnn_dlhandle = Cudnn->getHandle();
  try {
    cudnnHandle_t Handle = nullptr;
    if (fe::detail::create_handle(&Handle) != CUDNN_STATUS_SUCCESS)
      return Error(ErrorCode::Unavailable, "cuDNN does not start");
    auto Made = std::make_unique<LoadedCudnn>(Handle);
    if (fe::detail::set_stream(Handle, reinterpret_cast<cudaStream_t>(S)) !=
        CUDNN_STATUS_SUCCESS)
      return Error(ErrorCode::Unavailable, "cuDNN does not take a stream");
    return std::unique_ptr<CudnnLibrary>(std::move(Made));
  } catch (const std::exception &E) {
    return Error(ErrorCode::Unavailable, std::string("cuDNN: ") + E.what());
  }
}
