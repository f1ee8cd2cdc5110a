//===- TensorCopy.cpp - tensors between host and device -------------------===//

#include "lib/TensorCopy.h"
#include "ops/Halves.h"
#include "ops/Op.h"
#include <vector>

using namespace remat::runtime;

namespace {

/// A run of elements of a tensor in halves, on both sides.
struct HalvedRun {
  static constexpr uint64_t MaxElements = 1 << 16;

  uint64_t UpperOffset, LowerOffset; ///< bytes
  std::vector<BFloat16> Upper;
  std::vector<int16_t> Lower;

  HalvedRun(const Tensor &T, uint64_t First, uint64_t Count)
      : UpperOffset(First * 2),
        LowerOffset((static_cast<uint64_t>(T.NumElements) + First) * 2),
        Upper(Count), Lower(Count) {}

  uint64_t getBytes() const { return Upper.size() * 2; }
};

} // namespace

/// Calls Do(run, its first element in `Data`) for runs of the elements.
template <typename Function>
static Status forRuns(const Tensor &T, uint64_t Offset, uint64_t Bytes,
                      Function Do) {
  uint64_t First = Offset / sizeof(float), Count = Bytes / sizeof(float);
  for (uint64_t At = 0; At < Count; At += HalvedRun::MaxElements) {
    HalvedRun Run(T, First + At, std::min(HalvedRun::MaxElements, Count - At));
    REMAT_TRY(Do(Run, At));
  }
  return {};
}

Status remat::runtime::copyTensorIn(Device &To, const Tensor &T, char *Address,
                                    uint64_t Offset, const void *Data,
                                    uint64_t Bytes) {
  if (!T.InHalves)
    return To.copyIn(Address + Offset, Data, Bytes);
  return forRuns(T, Offset, Bytes, [&](HalvedRun &Run, uint64_t At) -> Status {
    const float *From = static_cast<const float *>(Data) + At;
    for (size_t I = 0; I < Run.Upper.size(); ++I) {
      Run.Upper[I] = narrow<BFloat16>(From[I]);
      Run.Lower[I] = getLowerHalf(From[I], Run.Upper[I]);
    }
    REMAT_TRY(
        To.copyIn(Address + Run.UpperOffset, Run.Upper.data(), Run.getBytes()));
    return To.copyIn(Address + Run.LowerOffset, Run.Lower.data(),
                     Run.getBytes());
  });
}

Status remat::runtime::copyTensorOut(Device &From, const Tensor &T,
                                     const char *Address, uint64_t Offset,
                                     void *Data, uint64_t Bytes) {
  if (!T.InHalves)
    return From.copyOut(Data, Address + Offset, Bytes);
  return forRuns(T, Offset, Bytes, [&](HalvedRun &Run, uint64_t At) -> Status {
    REMAT_TRY(From.copyOut(Run.Upper.data(), Address + Run.UpperOffset,
                           Run.getBytes()));
    REMAT_TRY(From.copyOut(Run.Lower.data(), Address + Run.LowerOffset,
                           Run.getBytes()));
    float *To = static_cast<float *>(Data) + At;
    for (size_t I = 0; I < Run.Upper.size(); ++I)
      To[I] = joinHalves(Run.Upper[I], Run.Lower[I]);
    return {};
  });
}
