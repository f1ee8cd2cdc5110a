//===- SessionFiles.cpp - tensors between sessions and files --------------===//

#include "remat/runtime/SessionFiles.h"
#include "lib/StoredTensor.h"
#include "ops/Numeric.h"
#include "ops/Op.h"
#include "remat/runtime/Together.h"
#include <algorithm>

using namespace remat;
using namespace remat::runtime;

TensorEntry runtime::describeStored(const Program &P, const Argument &A) {
  const Tensor &T = P.Tensors[A.Tensor];
  if (A.Cuts.empty())
    return {A.Name, T.Type, T.Shape, 0, T.Bytes};
  uint64_t Bytes = getByteWidth(T.Type);
  for (int64_t Size : A.Whole)
    Bytes *= static_cast<uint64_t>(Size);
  return {A.Name, T.Type, A.Whole, 0, Bytes};
}

TensorEntry runtime::describeStored(const Program &P, const ProgramResult &R) {
  const Tensor &T = P.Tensors[R.Tensor];
  return {R.Name, T.Type, T.Shape, 0, T.Bytes};
}

Status runtime::checkStored(const TensorEntry &Wanted, DType Type,
                            const std::vector<int64_t> &Shape,
                            const std::string &Path) {
  if (Type == Wanted.Type && Shape == Wanted.Shape)
    return {};
  return Error(ErrorCode::InvalidArgument,
               "'" + Wanted.Name + "' is " +
                   describeTensor(getName(Wanted.Type), Wanted.Shape) +
                   " in the program but " +
                   describeTensor(getName(Type), Shape) + " in '" + Path + "'");
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
      REMAT_TRY(
          checkStored(describeStored(P, A), Stored->Type, Stored->Shape, Path));
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
    REMAT_TRY(S.loadWhole(P.Arguments[I].Name, Read));
  }
  return {};
}

/// What a file has of an input for all shares of a batch: one behind the other,
/// along the first dimension or along one more before it.
static TensorEntry describeInput(const Program &P, const Argument &A,
                                 const DataShare &Share, bool HasRows) {
  TensorEntry Wanted = describeStored(P, A);
  auto Count = static_cast<int64_t>(Share.Count);
  if (Count == 1)
    return Wanted;
  if (HasRows && !Wanted.Shape.empty())
    Wanted.Shape.front() *= Count;
  else
    Wanted.Shape.insert(Wanted.Shape.begin(), Count);
  return Wanted;
}

Status runtime::writeInputs(Session &S, const TensorFile &File) {
  const Program &P = S.getProgram();
  DataShare Share = S.getDataShare();
  for (const auto &[Name, Stored] : File.Tensors) {
    std::optional<uint32_t> Number = P.findArgument(Name);
    if (!Number || P.Arguments[*Number].Role != Role::Input)
      return Error(ErrorCode::InvalidArgument,
                   "the graph has no input '" + Name + "'");
    const Argument &A = P.Arguments[*Number];
    bool HasRows = Stored.Shape.size() == P.Tensors[A.Tensor].Shape.size();
    REMAT_TRY(checkStored(describeInput(P, A, Share, HasRows), Stored.Type,
                          Stored.Shape, "--inputs"));
    uint64_t Bytes = P.Tensors[A.Tensor].Bytes;
    REMAT_TRY(S.writeArgument(Name, Stored.Data.data() + Share.Number * Bytes,
                              Bytes));
  }
  return {};
}

/// Writes the tensors of a header, which `Store` gives piece by piece. Of
/// several ranks all call it, and rank 0 writes; what it says all say.
template <typename Function>
static Status save(Session &S, const std::string &Path,
                   const SafetensorsHeader &Header, Function Store) {
  Ranks *Others = S.getDevice().getRanks();
  std::optional<TensorWriter> File;
  Status Done;
  if (S.getRank() == 0) {
    if (Result<TensorWriter> Made = TensorWriter::create(Path, Header))
      File = std::move(*Made);
    else
      Done = Made.getError();
  }
  REMAT_TRY(agree(Others, Done));
  auto Write = [&](const void *Data, uint64_t Bytes) {
    return File ? File->write(Data, Bytes) : Status();
  };
  // After an error the others still send what they hold.
  for (const TensorEntry &T : Header.Tensors)
    if (Status Stored = Store(T.Name, Write); Done)
      Done = Stored;
  if (Done && File)
    Done = File->finish();
  return agree(Others, Done);
}

/// A name that the graph has already gets a `+` behind; only states of the
/// optimizer are averages.
const Argument *runtime::findAverage(const Program &P, const Argument &Of) {
  if (Of.Role != Role::Parameter)
    return nullptr;
  for (std::string Name = Of.Name + ".ema";; Name += '+') {
    std::optional<uint32_t> Found = P.findArgument(Name);
    if (!Found)
      return nullptr;
    const Argument &A = P.Arguments[*Found];
    if (A.Role == Role::State && classify(P, A) == Kept::Optimizer)
      return &A;
  }
}

bool runtime::hasAverages(const Program &P) {
  return std::any_of(
      P.Arguments.begin(), P.Arguments.end(),
      [&](const Argument &A) { return findAverage(P, A) != nullptr; });
}

/// The optimizer counts the steps that were not skipped, where there may be
/// such; else all steps.
static const Argument *findCount(const Program &P) {
  const Argument *Count = nullptr;
  for (const Argument &A : P.Arguments) {
    if (classify(P, A) != Kept::Optimizer)
      continue;
    if (A.Role == Role::State &&
        A.Name.substr(0, A.Name.find('+')) == "updates")
      return &A;
    if (A.Role == Role::Step)
      Count = &A;
  }
  return Count;
}

Result<bool> runtime::haveAveragesBegun(Session &S) {
  const Argument *A = findCount(S.getProgram());
  int64_t Count = 0;
  if (A)
    REMAT_TRY(S.readArgument(A->Name, &Count, sizeof Count));
  return Count > 0;
}

/// Stores an average, which is f32, in the type of its parameter.
static Status storeAverage(Session &S, const Argument &Average, DType Type,
                           const Session::Sink &To) {
  if (Type == DType::F32)
    return S.storeWhole(Average.Name, To);
  std::vector<char> Narrow;
  auto Convert = [&](const void *Data, uint64_t Bytes) {
    auto Count = static_cast<int64_t>(Bytes / sizeof(float));
    Narrow.resize(static_cast<size_t>(Count) * getByteWidth(Type));
    storeFloats(Type, Narrow.data(), 0, Count,
                static_cast<const float *>(Data));
    return To(Narrow.data(), Narrow.size());
  };
  return S.storeWhole(Average.Name, Convert);
}

Status runtime::saveWeights(Session &S, const std::string &Path, Saved What) {
  const Program &P = S.getProgram();
  if (What == Saved::Averages) {
    Result<bool> Begun = haveAveragesBegun(S);
    if (!Begun)
      return Begun.getError();
    if (!*Begun)
      return Error(ErrorCode::InvalidArgument,
                   "'" + Path +
                       "' is not written: no step has changed the "
                       "parameters, so that there are no averages");
  }
  SafetensorsHeader Header =
      describeAll(P, P.Arguments, [&](const Argument &A) {
        Kept Class = classify(P, A);
        return Class == Kept::Model ||
               (Class == Kept::Optimizer && What == Saved::Training);
      });
  auto Store = [&](const std::string &Name, const Session::Sink &To) {
    const Argument &A = P.Arguments[*P.findArgument(Name)];
    const Argument *Average =
        What == Saved::Averages ? findAverage(P, A) : nullptr;
    return Average ? storeAverage(S, *Average, P.Tensors[A.Tensor].Type, To)
                   : S.storeWhole(Name, To);
  };
  return save(S, Path, Header, Store);
}

Status runtime::saveResults(Session &S, const std::string &Path,
                            std::initializer_list<Role> Roles) {
  const Program &P = S.getProgram();
  SafetensorsHeader Header =
      describeAll(P, P.Results, [&](const ProgramResult &R) {
        return std::find(Roles.begin(), Roles.end(), R.Role) != Roles.end();
      });
  return save(S, Path, Header,
              [&](const std::string &Name, const Session::Sink &To) {
                return S.storeResult(Name, To);
              });
}
