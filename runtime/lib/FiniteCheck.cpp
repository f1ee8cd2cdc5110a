//===- FiniteCheck.cpp - where NaN and infinity come from -----------------===//

#include "remat/runtime/FiniteCheck.h"
#include "lib/Guard.h"
#include "ops/Numeric.h"
#include "ops/Op.h"
#include "remat/runtime/Session.h"
#include <algorithm>
#include <cmath>

using namespace remat::runtime;

Result<NonfiniteCount> FiniteCheck::count(const Tensor &T) {
  constexpr int64_t Elements = 1 << 12;
  NonfiniteCount Count;
  if (!holdsFloats(T.Type))
    return Count;
  // Of two halves the upper one says it.
  DType Type = T.InHalves ? DType::BF16 : T.Type;
  uint64_t Width = getByteWidth(Type), All = Width * T.NumElements;
  Buffer.resize(StreamBytes);
  for (uint64_t At = 0; At < All; At += StreamBytes) {
    uint64_t Bytes = std::min(StreamBytes, All - At);
    REMAT_TRY(D.copyOut(Buffer.data(), Arena + T.Offset + At, Bytes));
    auto Read = static_cast<int64_t>(Bytes / Width);
    for (int64_t First = 0; First < Read; First += Elements) {
      float X[Elements];
      int64_t Some = std::min(Elements, Read - First);
      loadFloats(Type, Buffer.data(), First, Some, X);
      for (int64_t I = 0; I < Some; ++I) {
        Count.NaNs += std::isnan(X[I]);
        Count.Infinities += std::isinf(X[I]);
      }
    }
  }
  return Count;
}

std::string FiniteCheck::describe(const std::string &Where, const Tensor &T,
                                  const NonfiniteCount &Count) const {
  bool IsNaN = Count.NaNs != 0;
  uint64_t Bad = IsNaN ? Count.NaNs : Count.Infinities;
  return Where + ": " + std::to_string(Bad) + " of " +
         std::to_string(T.NumElements) + " elements " +
         (Bad == 1 ? "is " : "are ") + (IsNaN ? "NaN" : "infinite");
}

Status FiniteCheck::checkArguments() {
  for (const Argument &A : P.Arguments) {
    const Tensor &T = P.Tensors[A.Tensor];
    Result<NonfiniteCount> Count = count(T);
    if (!Count)
      return Count.getError();
    std::optional<std::string> &First =
        Count->NaNs != 0 ? FirstNaN : FirstInfinity;
    if (Count->any() && !First)
      First = describe("argument '" + A.Name + "', before the step", T, *Count);
  }
  return {};
}

Status FiniteCheck::checkStep(size_t Index) {
  const Step &S = P.Steps[Index];
  for (uint32_t Number : S.Results) {
    const Tensor &T = P.Tensors[Number];
    Result<NonfiniteCount> Count = count(T);
    if (!Count)
      return Count.getError();
    std::optional<std::string> &First =
        Count->NaNs != 0 ? FirstNaN : FirstInfinity;
    if (!Count->any() || First)
      continue;
    std::string Where = "operation " + std::to_string(Index) + " (" + S.Op;
    if (!S.Body.empty())
      Where += " of " + std::to_string(S.Body.size()) + " operations";
    Where += S.Location.empty() ? ")" : " at " + S.Location + ")";
    if (!T.Name.empty())
      Where += ", '" + T.Name + "'";
    First =
        describe(Where + ", in the " + std::string(S.getPhase()), T, *Count);
  }
  return {};
}

Status FiniteCheck::checkResults() {
  for (const ProgramResult &R : P.Results) {
    if (Left || R.Role == Role::Output)
      continue;
    const Tensor &T = P.Tensors[R.Tensor];
    Result<NonfiniteCount> Count = count(T);
    if (!Count)
      return Count.getError();
    if (Count->any())
      Left = describe("'" + R.Name + "', after the step", T, *Count);
  }
  return {};
}

std::optional<std::string> FiniteCheck::describe() const {
  if (!Left)
    return std::nullopt;
  std::string Text = *Left;
  if (FirstNaN)
    Text += "\n  the first NaN: " + *FirstNaN;
  if (FirstInfinity)
    Text += "\n  the first infinity: " + *FirstInfinity;
  return Text;
}
