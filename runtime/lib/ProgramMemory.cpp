//===- ProgramMemory.cpp - what the arena holds, step by step -------------===//
//
// The steps are followed over a map from bytes to the tensor that they hold.
// Nothing is taken from the lifetimes that the file states.
//
//===----------------------------------------------------------------------===//

#include "lib/ProgramChecks.h"
#include "ops/Op.h"
#include <map>

using namespace remat::runtime;

namespace {

/// Which tensor each byte holds.
class ByteMap {
public:
  explicit ByteMap(uint64_t Bytes) { Begins[0] = {Bytes, NoTensor}; }

  /// From now on these bytes hold `Owner`.
  void assign(ByteRange R, uint32_t Owner) {
    if (R.Bytes == 0)
      return;
    uint64_t End = R.Offset + R.Bytes;
    cut(R.Offset);
    cut(End);
    Begins.erase(Begins.lower_bound(R.Offset), Begins.lower_bound(End));
    Begins[R.Offset] = {End, Owner};
  }

  /// Calls F(range, owner) for the parts of `R`, in order.
  template <typename Function> void forParts(ByteRange R, Function F) const {
    uint64_t End = R.Offset + R.Bytes;
    if (R.Bytes == 0)
      return;
    for (auto It = std::prev(Begins.upper_bound(R.Offset));
         It != Begins.end() && It->first < End; ++It) {
      uint64_t From = std::max(It->first, R.Offset);
      uint64_t To = std::min(It->second.End, End);
      F(ByteRange{From, To - From}, It->second.Owner);
    }
  }

  /// The tensor that holds all of `R`, or NoTensor.
  uint32_t getOwner(ByteRange R) const {
    uint32_t Owner = NoTensor;
    bool First = true, Same = true;
    forParts(R, [&](ByteRange, uint32_t O) {
      Same = Same && (First || O == Owner);
      Owner = O;
      First = false;
    });
    return Same ? Owner : NoTensor;
  }

private:
  struct Part {
    uint64_t End;
    uint32_t Owner;
  };

  void cut(uint64_t At) {
    auto It = Begins.upper_bound(At);
    if (It == Begins.begin())
      return;
    auto &[Begin, P] = *std::prev(It);
    if (Begin == At || P.End <= At)
      return;
    Part Rest = {P.End, P.Owner};
    P.End = At;
    Begins[At] = Rest;
  }

  std::map<uint64_t, Part> Begins; ///< parts by their begin
};

class MemoryVerifier {
public:
  explicit MemoryVerifier(Program &P)
      : P(P), Map(P.ArenaBytes), Root(P.Tensors.size(), NoTensor) {}

  Status run();

private:
  ByteRange rangeOf(uint32_t Tensor) const {
    return {P.Tensors[Tensor].Offset, P.Tensors[Tensor].Bytes};
  }
  Status place(uint32_t Tensor, const char *What);
  Status read(uint32_t Tensor, int64_t At);
  Status finish();
  Status finishArguments();
  void findFreed();

  Program &P;
  ByteMap Map;
  /// The tensor whose bytes a tensor shows: itself for what is written, the
  /// base for a view. NoTensor: not yet known.
  std::vector<uint32_t> Root;
};

} // namespace

/// Whether a view of bytes of `Owner` has elements of it: of its type, or the
/// bf16 of the upper half.
static bool showsElements(const Tensor &Owner, const Tensor &View) {
  if (!Owner.InHalves)
    return Owner.Type == View.Type && !View.InHalves;
  return View.Type == DType::BF16 &&
         View.Offset + View.Bytes <= Owner.Offset + Owner.Bytes / 2;
}

/// A tensor that is there before the first step.
Status MemoryVerifier::place(uint32_t Tensor, const char *What) {
  Map.forParts(rangeOf(Tensor), [&](ByteRange, uint32_t Owner) {
    if (Owner != NoTensor)
      Root[Tensor] = Owner;
  });
  REMAT_REQUIRE(Root[Tensor] == NoTensor,
                std::string(What) + " " + describeTensor(P, Tensor) +
                    " lies over " + describeTensor(P, Root[Tensor]));
  Root[Tensor] = Tensor;
  P.Tensors[Tensor].FirstStep = P.Tensors[Tensor].LastStep = -1;
  Map.assign(rangeOf(Tensor), Tensor);
  return {};
}

/// `At` is a step, or the number of steps for the end of the program.
Status MemoryVerifier::read(uint32_t Tensor, int64_t At) {
  struct Tensor &T = P.Tensors[Tensor];
  uint32_t Owner = Map.getOwner(rangeOf(Tensor));
  if (Root[Tensor] == NoTensor) {
    // The first read of a view binds it to what its bytes hold.
    REMAT_REQUIRE(Owner != NoTensor, "reads " + describeTensor(P, Tensor) +
                                         ", which was not written");
    REMAT_REQUIRE(showsElements(P.Tensors[Owner], T),
                  "reads " + describeTensor(P, Tensor) + " of " +
                      std::string(getName(T.Type)) + " from " +
                      describeTensor(P, Owner) + " of " +
                      std::string(getName(P.Tensors[Owner].Type)));
    Root[Tensor] = Owner;
    T.IsView = true;
  }
  REMAT_REQUIRE(Owner == Root[Tensor],
                "reads " + describeTensor(P, Tensor) +
                    (Owner == NoTensor ? std::string(", which was overwritten")
                                       : ", which was overwritten by " +
                                             describeTensor(P, Owner)));
  int64_t &Last = P.Tensors[Owner].LastStep;
  Last = std::max(Last, At);
  return {};
}

Status MemoryVerifier::run() {
  for (const Argument &A : P.Arguments)
    REMAT_TRY(place(A.Tensor, "argument"));
  for (const Constant &C : P.Constants)
    REMAT_TRY(place(C.Tensor, "constant"));
  Map.forParts({0, P.ArenaBytes}, [&](ByteRange R, uint32_t Owner) {
    if (Owner == NoTensor)
      P.UnusedAtStart.push_back(R);
  });
  for (size_t I = 0; I < P.Steps.size(); ++I) {
    const Step &S = P.Steps[I];
    for (uint32_t Operand : S.Operands)
      if (Operand != NoTensor)
        if (Status Read = read(Operand, I); !Read)
          return Read.getError().within(describeStep(P, I));
    Map.assign(S.Workspace, NoTensor);
    for (uint32_t Result : S.Results) {
      REMAT_REQUIRE(Root[Result] == NoTensor, describeStep(P, I) + " writes " +
                                                  describeTensor(P, Result) +
                                                  " a second time");
      Root[Result] = Result;
      P.Tensors[Result].FirstStep = P.Tensors[Result].LastStep = I;
      Map.assign(rangeOf(Result), Result);
    }
  }
  REMAT_TRY(finish());
  findFreed();
  return {};
}

/// What must be there when the last step is done.
Status MemoryVerifier::finish() {
  auto End = static_cast<int64_t>(P.Steps.size());
  for (const ProgramResult &R : P.Results)
    if (Status Read = read(R.Tensor, End); !Read)
      return Read.getError().within("the end of the program");
  for (const Constant &C : P.Constants)
    if (Status Read = read(C.Tensor, End); !Read)
      return Read.getError().within("the end of the program");
  REMAT_TRY(finishArguments());
  for (uint32_t I = 0; I < P.Tensors.size(); ++I) {
    Tensor &T = P.Tensors[I];
    if (Root[I] == NoTensor) {
      // Nobody writes or reads it.
      T.IsView = true;
      T.FirstStep = T.LastStep = -1;
    } else if (T.IsView) {
      T.FirstStep = P.Tensors[Root[I]].FirstStep;
      T.LastStep = P.Tensors[Root[I]].LastStep;
    }
  }
  return {};
}

Status MemoryVerifier::finishArguments() {
  auto End = static_cast<int64_t>(P.Steps.size());
  for (Argument &A : P.Arguments) {
    if (A.DonatedResult != -1)
      continue; // the result's bytes were read above
    bool Intact = Map.getOwner(rangeOf(A.Tensor)) == A.Tensor;
    REMAT_REQUIRE(Intact || A.Role == Role::Input,
                  "the end of the program: argument " +
                      describeTensor(P, A.Tensor) +
                      " was overwritten but is not donated");
    A.Survives = Intact;
    if (Intact)
      P.Tensors[A.Tensor].LastStep = End;
  }
  return {};
}

/// Follows the steps once more, now that lifetimes are known.
void MemoryVerifier::findFreed() {
  Map = ByteMap(P.ArenaBytes);
  std::vector<std::vector<uint32_t>> Ending(P.Steps.size());
  for (uint32_t I = 0; I < P.Tensors.size(); ++I) {
    const Tensor &T = P.Tensors[I];
    if (T.IsView)
      continue;
    if (T.FirstStep == -1)
      Map.assign(rangeOf(I), I);
    if (T.LastStep >= 0 && T.LastStep < static_cast<int64_t>(P.Steps.size()))
      Ending[T.LastStep].push_back(I);
  }
  for (size_t I = 0; I < P.Steps.size(); ++I) {
    Step &S = P.Steps[I];
    Map.assign(S.Workspace, NoTensor);
    if (S.Workspace.Bytes)
      S.Freed.push_back(S.Workspace);
    for (uint32_t Result : S.Results)
      Map.assign(rangeOf(Result), Result);
    for (uint32_t Tensor : Ending[I])
      Map.forParts(rangeOf(Tensor), [&](ByteRange R, uint32_t Owner) {
        if (Owner == Tensor)
          S.Freed.push_back(R);
      });
  }
}

Status remat::runtime::verifyMemory(Program &P) {
  return MemoryVerifier(P).run();
}
