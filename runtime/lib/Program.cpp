//===- Program.cpp - a verified program -----------------------------------===//

#include "remat/runtime/Program.h"
#include "lib/Guard.h"
#include "lib/ProgramChecks.h"
#include "ops/Op.h"
#include <algorithm>
#include <numeric>

using namespace remat::runtime;

std::string remat::runtime::describeTensor(std::string_view Element,
                                           std::span<const int64_t> Shape) {
  std::string Text = "tensor<";
  for (int64_t Size : Shape)
    Text += std::to_string(Size) + "x";
  return Text + std::string(Element) + ">";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const Attribute *AttributeList::find(std::string_view Name) const {
  for (const Attribute &A : List)
    if (A.Name == Name)
      return &A;
  return nullptr;
}

bool AttributeList::getFlag(std::string_view Name) const {
  const Attribute *A = find(Name);
  return A && !A->Ints.empty() && A->Ints[0] != 0;
}

int64_t AttributeList::getInt(std::string_view Name, int64_t Default) const {
  const Attribute *A = find(Name);
  return A && !A->Ints.empty() ? A->Ints[0] : Default;
}

double AttributeList::getFloat(std::string_view Name, double Default) const {
  const Attribute *A = find(Name);
  return A && !A->Floats.empty() ? A->Floats[0] : Default;
}

std::string_view AttributeList::getText(std::string_view Name) const {
  const Attribute *A = find(Name);
  return A ? std::string_view(A->Text) : std::string_view();
}

std::span<const int64_t> AttributeList::getInts(std::string_view Name) const {
  const Attribute *A = find(Name);
  return A ? std::span<const int64_t>(A->Ints) : std::span<const int64_t>();
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

Status remat::runtime::verifyProgram(Program &P, unsigned Depth) {
  REMAT_TRY(verifyStructure(P));
  REMAT_TRY(verifyLoops(P, Depth));
  REMAT_TRY(verifyOps(P));
  return verifyMemory(P);
}

static Result<std::shared_ptr<const Program>>
loadVerified(std::span<const uint8_t> Bytes) {
  Result<DecodedProgram> Decoded = decodeProgram(Bytes);
  if (!Decoded)
    return Decoded.getError();
  Program &P = Decoded->Main;
  if (Status S = verifyProgram(P); !S)
    return S.getError();
  for (auto &[Name, Body] : Decoded->Functions) {
    Status S = verifyProgram(Body);
    if (S)
      S = verifyFunction(P, Name, Body);
    if (!S)
      return S.getError().within("function " + quoteText(Name));
    P.Functions.push_back({Name, std::make_shared<Program>(std::move(Body))});
  }
  return std::shared_ptr<const Program>(
      std::make_shared<Program>(std::move(P)));
}

Result<std::shared_ptr<const Program>>
Program::load(std::span<const uint8_t> Bytes) {
  return guard([&] { return loadVerified(Bytes); });
}

template <typename List>
static std::optional<uint32_t> findByName(const List &All,
                                          std::string_view Name) {
  for (size_t I = 0; I < All.size(); ++I)
    if (All[I].Name == Name)
      return static_cast<uint32_t>(I);
  return std::nullopt;
}

std::optional<uint32_t> Program::findArgument(std::string_view Name) const {
  return findByName(Arguments, Name);
}

std::optional<uint32_t> Program::findResult(std::string_view Name) const {
  return findByName(Results, Name);
}

std::optional<uint32_t> Program::findFunction(std::string_view Name) const {
  return findByName(Functions, Name);
}

bool Program::isDeterministic() const {
  return std::ranges::all_of(Steps, [](const Step &S) {
    return S.IsDeterministic &&
           (!S.TheLoop || S.TheLoop->Body->isDeterministic());
  });
}

bool remat::runtime::readsArgument(const Program &P, uint32_t Argument) {
  const Tensor &Of = P.Tensors[P.Arguments[Argument].Tensor];
  auto IsOf = [&](uint32_t Number) {
    if (Number == NoTensor)
      return false;
    const Tensor &T = P.Tensors[Number];
    return T.FirstStep == -1 && T.Offset - Of.Offset < Of.Bytes;
  };
  return std::any_of(P.Steps.begin(), P.Steps.end(), [&](const Step &S) {
    return std::any_of(S.Operands.begin(), S.Operands.end(), IsOf);
  });
}

//===----------------------------------------------------------------------===//
// The peak
//===----------------------------------------------------------------------===//

std::vector<Program::ClassBytes> Program::getLiveBytes() const {
  // Bytes that begin and end to live, by step; step -1 is at 0.
  using Bytes = std::array<int64_t, NumMemoryClasses>;
  std::vector<Bytes> Change(Steps.size() + 3, Bytes{});
  auto Add = [&](int64_t First, int64_t Last, MemoryClass Class,
                 uint64_t Size) {
    auto Signed = static_cast<int64_t>(Size);
    Change[First + 1][static_cast<unsigned>(Class)] += Signed;
    Change[Last + 2][static_cast<unsigned>(Class)] -= Signed;
  };
  // A tensor that takes over another one's bytes lives in the same step: those
  // bytes count once, for the one that is written.
  for (const Tensor &T : Tensors)
    if (!T.IsView)
      Add(T.FirstStep, T.LastStep, T.Class, T.Bytes);
  for (size_t I = 0; I < Steps.size(); ++I) {
    Add(I, I, MemoryClass::Workspaces, Steps[I].Workspace.Bytes);
    for (uint32_t R : Steps[I].Results)
      for (uint32_t O : Steps[I].Operands) {
        if (O == NoTensor)
          continue;
        const Tensor &From = Tensors[O];
        if (From.Offset == Tensors[R].Offset &&
            From.Bytes == Tensors[R].Bytes) {
          Add(I, I, From.Class, uint64_t(0) - From.Bytes);
          break;
        }
      }
  }
  std::vector<ClassBytes> Live(Steps.size() + 2, ClassBytes{});
  Bytes Now = {};
  for (size_t At = 0; At < Live.size(); ++At)
    for (unsigned C = 0; C < NumMemoryClasses; ++C)
      Live[At][C] = static_cast<uint64_t>(Now[C] += Change[At][C]);
  return Live;
}

Program::PeakProfile Program::getPeakProfile() const {
  PeakProfile Peak;
  std::vector<ClassBytes> Live = getLiveBytes();
  for (size_t At = 0; At < Live.size(); ++At) {
    uint64_t Total =
        std::accumulate(Live[At].begin(), Live[At].end(), uint64_t(0));
    if (Total <= Peak.LiveBytes)
      continue;
    Peak.Step = static_cast<int64_t>(At) - 1;
    Peak.LiveBytes = Total;
    Peak.BytesByClass = Live[At];
  }
  return Peak;
}
