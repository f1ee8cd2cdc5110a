//===- SessionFiles.cpp - tensors between sessions and files --------------===//

#include "remat/runtime/SessionFiles.h"
#include "lib/StoredTensor.h"
#include "ops/Op.h"
#include <algorithm>

using namespace remat;
using namespace remat::runtime;

static std::string describe(DType Type, const std::vector<int64_t> &Shape) {
  std::string Text = "tensor<";
  for (int64_t Size : Shape)
    Text += std::to_string(Size) + "x";
  return Text + std::string(getName(Type)) + ">";
}

Status runtime::checkStored(const Tensor &T, const std::string &Name,
                            DType Type, const std::vector<int64_t> &Shape,
                            const std::string &Path) {
  if (Type == T.Type && Shape == T.Shape)
    return {};
  return Error(ErrorCode::InvalidArgument,
               "'" + Name + "' is " + describe(T.Type, T.Shape) +
                   " in the program but " + describe(Type, Shape) + " in '" +
                   Path + "'");
}

/// Arguments that a session keeps from step to step, or is given once.
enum class Kept { No, Model, Optimizer };

/// The optimizer's states are those that its steps write. A step argument is
/// its count where the program counts itself.
static Kept classify(const Program &P, const Argument &A) {
  bool IsUpdated = A.DonatedResult >= 0;
  switch (A.Role) {
  case Role::Parameter:
    return Kept::Model;
  case Role::Step:
    return IsUpdated ? Kept::Optimizer : Kept::No;
  case Role::State: {
    if (!IsUpdated)
      return Kept::Model;
    auto GetWriter = [&](uint32_t Number) {
      return P.Tensors[Number].FirstStep;
    };
    int64_t Writer = GetWriter(P.Results[A.DonatedResult].Tensor);
    while (Writer >= 0 && P.Steps[Writer].Op == "copy")
      Writer = GetWriter(P.Steps[Writer].Operands.front());
    return Writer >= 0 && P.Steps[Writer].Phase == "optimizer" ? Kept::Optimizer
                                                               : Kept::Model;
  }
  default:
    return Kept::No;
  }
}

/// The tensor of the file for each argument, null for what is not read.
static Result<std::vector<const TensorEntry *>>
findStored(const Program &P, const SafetensorsHeader &Header,
           const std::string &Path) {
  std::vector<const TensorEntry *> Entries(P.Arguments.size());
  const Argument *Missing = nullptr, *Found = nullptr;
  for (size_t I = 0; I < Entries.size(); ++I) {
    const Argument &A = P.Arguments[I];
    Kept Class = classify(P, A);
    if (Class == Kept::No)
      continue;
    const TensorEntry *Stored = Entries[I] = Header.find(A.Name);
    if (!Stored && Class == Kept::Model)
      return Error(ErrorCode::InvalidArgument,
                   "'" + Path + "' holds no " +
                       (A.Role == Role::State ? "state '" : "parameter '") +
                       A.Name + "'");
    if (Class == Kept::Optimizer)
      (Stored ? Found : Missing) = &A;
    if (Stored)
      REMAT_TRY(checkStored(P.Tensors[A.Tensor], A.Name, Stored->Type,
                            Stored->Shape, Path));
  }
  if (Missing && Found)
    return Error(ErrorCode::InvalidArgument,
                 "'" + Path + "' holds '" + Found->Name + "' but no '" +
                     Missing->Name +
                     "': what the optimizer remembers must be there whole or "
                     "not at all");
  return Entries;
}

Status runtime::loadWeights(Session &S, const std::string &Path) {
  Result<TensorReader> File = TensorReader::open(Path);
  if (!File)
    return File.getError();
  const Program &P = S.getProgram();
  auto Entries = findStored(P, File->getHeader(), Path);
  if (!Entries)
    return Entries.getError();
  for (size_t I = 0; I < Entries->size(); ++I) {
    const TensorEntry *Stored = (*Entries)[I];
    if (!Stored)
      continue;
    auto Read = [&](uint64_t Offset, void *Data, uint64_t Bytes) {
      return File->read(*Stored, Offset, Data, Bytes);
    };
    REMAT_TRY(S.loadArgument(P.Arguments[I].Name, Read));
  }
  return {};
}

Status runtime::writeInputs(Session &S, const TensorFile &File) {
  const Program &P = S.getProgram();
  for (const auto &[Name, Stored] : File.Tensors) {
    std::optional<uint32_t> Number = P.findArgument(Name);
    if (!Number || P.Arguments[*Number].Role != Role::Input)
      return Error(ErrorCode::InvalidArgument,
                   "the graph has no input '" + Name + "'");
    if (Status Fits = checkStored(P.Tensors[P.Arguments[*Number].Tensor], Name,
                                  Stored.Type, Stored.Shape, "--inputs");
        !Fits)
      return Fits;
    Status Written =
        S.writeArgument(Name, Stored.Data.data(), Stored.Data.size());
    if (!Written)
      return Written;
  }
  return {};
}

/// Writes the tensors of a header, which `Store` gives piece by piece.
template <typename Function>
static Status save(const std::string &Path, const SafetensorsHeader &Header,
                   Function Store) {
  Result<TensorWriter> File = TensorWriter::create(Path, Header);
  if (!File)
    return File.getError();
  auto Write = [&](const void *Data, uint64_t Bytes) {
    return File->write(Data, Bytes);
  };
  for (const TensorEntry &T : Header.Tensors)
    if (Status Stored = Store(T.Name, Write); !Stored)
      return Stored;
  return File->finish();
}

Status runtime::saveWeights(Session &S, const std::string &Path, Saved What) {
  const Program &P = S.getProgram();
  SafetensorsHeader Header =
      describeAll(P, P.Arguments, [&](const Argument &A) {
        Kept Class = classify(P, A);
        return Class == Kept::Model ||
               (Class == Kept::Optimizer && What == Saved::Training);
      });
  return save(Path, Header,
              [&](const std::string &Name, const Session::Sink &To) {
                return S.storeArgument(Name, To);
              });
}

Status runtime::saveResults(Session &S, const std::string &Path,
                            std::initializer_list<Role> Roles) {
  const Program &P = S.getProgram();
  SafetensorsHeader Header =
      describeAll(P, P.Results, [&](const ProgramResult &R) {
        return std::find(Roles.begin(), Roles.end(), R.Role) != Roles.end();
      });
  return save(Path, Header,
              [&](const std::string &Name, const Session::Sink &To) {
                return S.storeResult(Name, To);
              });
}
