//===- Blas.cpp - the BLAS, one thread a call -----------------------------===//

#include "host/Blas.h"
#include "remat/Support/Library.h"
#include <cblas-openblas.h>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <sys/mman.h>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

namespace {

struct Library {
  decltype(&cblas_sgemm) Multiply = nullptr;
  std::string Missing; ///< why it could not be loaded
};

} // namespace

#ifdef REMAT_STATIC_BLAS
static Library load() {
  openblas_set_num_threads(1);
  return {cblas_sgemm, ""};
}
#else
/// As it is loaded OpenBLAS starts its threads, each with a buffer, and retries
/// for ever where there is no memory for one. So it is loaded from here, told
/// to start none.
static Library load() {
  constexpr const char *Variable = "OPENBLAS_NUM_THREADS";
  const char *Old = std::getenv(Variable);
  std::string Saved = Old ? Old : "";
  ::setenv(Variable, "1", /*overwrite=*/1);
  remat::SharedLibrary Found = remat::openLibrary({"libopenblas.so.0"});
  if (Old)
    ::setenv(Variable, Saved.c_str(), /*overwrite=*/1);
  else
    ::unsetenv(Variable);
  Library L;
  if (!Found.Handle) {
    L.Missing = Found.Why;
    return L;
  }
  // Somebody else may have loaded it with threads before.
  auto SetThreads = reinterpret_cast<decltype(&openblas_set_num_threads)>(
      Found.find("openblas_set_num_threads"));
  L.Multiply =
      reinterpret_cast<decltype(&cblas_sgemm)>(Found.find("cblas_sgemm"));
  if (SetThreads && L.Multiply) {
    SetThreads(1);
    return L;
  }
  L.Multiply = nullptr;
  L.Missing = "libopenblas.so.0 is no OpenBLAS";
  return L;
}
#endif

static const Library &getLibrary() {
  static const Library TheLibrary = load();
  return TheLibrary;
}

Status remat::runtime::loadBlas() {
  const Library &L = getLibrary();
  return L.Multiply ? Status()
                    : Status(Error(ErrorCode::Unavailable, L.Missing));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

namespace {

/// OpenBLAS keeps a buffer for each call that ran at the same time, takes a new
/// one when all are in use, and never returns from a call for which it finds
/// none. So the calls are counted, and a call that needs a new buffer is made
/// only if the system has room for it.
class Buffers {
public:
  void take() {
    std::unique_lock<std::mutex> Lock(Mutex);
    while (InUse == Known) {
      if (isThereRoom()) {
        ++Known;
        break;
      }
      if (InUse == 0)
        throw std::bad_alloc();
      Returned.wait(Lock);
    }
    ++InUse;
  }

  void giveBack() {
    std::lock_guard<std::mutex> Lock(Mutex);
    --InUse;
    Returned.notify_one();
  }

private:
  /// Whether twice the largest buffer of any build for this processor can be
  /// mapped: another thread may take memory before the library does.
  static bool isThereRoom() {
    constexpr size_t Bytes = size_t(256) << 20;
    void *At = ::mmap(nullptr, Bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (At == MAP_FAILED)
      return false;
    ::munmap(At, Bytes);
    return true;
  }

  std::mutex Mutex;
  std::condition_variable Returned;
  unsigned Known = 0, InUse = 0;
};

} // namespace

static Buffers TheBuffers;

void remat::runtime::multiply(bool TransposeA, bool TransposeB, int64_t M,
                              int64_t N, int64_t K, float Alpha, const float *A,
                              int64_t StrideA, const float *B, int64_t StrideB,
                              float Beta, float *C, int64_t StrideC) {
  auto Transpose = [](bool T) { return T ? CblasTrans : CblasNoTrans; };
  TheBuffers.take();
  getLibrary().Multiply(
      CblasRowMajor, Transpose(TransposeA), Transpose(TransposeB),
      static_cast<blasint>(M), static_cast<blasint>(N), static_cast<blasint>(K),
      Alpha, A, static_cast<blasint>(StrideA), B, static_cast<blasint>(StrideB),
      Beta, C, static_cast<blasint>(StrideC));
  TheBuffers.giveBack();
}
