//===- Weights.cpp - tensors between sessions and files -------------------===//

#include "Weights.h"
#include <algorithm>

using namespace remat;
using namespace remat::runtime;

static std::string describe(DType Type, const std::vector<int64_t> &Shape) {
  std::string Text = "tensor<";
  for (int64_t Size : Shape)
    Text += std::to_string(Size) + "x";
  return Text + std::string(getName(Type)) + ">";
}

static Status write(Session &S, const Argument &A, const StoredTensor &Stored,
                    const std::string &Path) {
  const Tensor &T = S.getProgram().Tensors[A.Tensor];
  if (Stored.Type != T.Type || Stored.Shape != T.Shape)
    return Error(ErrorCode::InvalidArgument,
                 "'" + A.Name + "' is " + describe(T.Type, T.Shape) +
                     " in the program but " +
                     describe(Stored.Type, Stored.Shape) + " in '" + Path +
                     "'");
  return S.writeArgument(A.Name, Stored.Data.data(), Stored.Data.size());
}

Status run::loadParameters(Session &S, const std::string &Path) {
  Result<TensorFile> File = readSafetensors(Path);
  if (!File)
    return File.getError();
  for (const Argument &A : S.getProgram().Arguments) {
    if (A.Role != Role::Parameter)
      continue;
    const StoredTensor *Stored = File->find(A.Name);
    if (!Stored)
      return Error(ErrorCode::InvalidArgument,
                   "'" + Path + "' holds no parameter '" + A.Name + "'");
    if (Status Written = write(S, A, *Stored, Path); !Written)
      return Written;
  }
  return {};
}

Status run::writeInputs(Session &S, const TensorFile &File) {
  const Program &P = S.getProgram();
  for (const auto &[Name, Stored] : File.Tensors) {
    std::optional<uint32_t> Number = P.findArgument(Name);
    if (!Number || P.Arguments[*Number].Role != Role::Input)
      return Error(ErrorCode::InvalidArgument,
                   "the graph has no input '" + Name + "'");
    Status Written = write(S, P.Arguments[*Number], Stored, "--inputs");
    if (!Written)
      return Written;
  }
  return {};
}

Status run::saveParameters(Session &S, const std::string &Path) {
  TensorFile File;
  for (const Argument &A : S.getProgram().Arguments) {
    if (A.Role != Role::Parameter)
      continue;
    const Tensor &T = S.getProgram().Tensors[A.Tensor];
    StoredTensor Stored{T.Type, T.Shape, std::vector<uint8_t>(T.Bytes)};
    Status Read = S.readArgument(A.Name, Stored.Data.data(), T.Bytes);
    if (!Read)
      return Read;
    File.Tensors.emplace_back(A.Name, std::move(Stored));
  }
  return writeSafetensors(Path, File);
}

Status run::saveResults(Session &S, const std::string &Path,
                        std::initializer_list<Role> Roles) {
  TensorFile File;
  for (const ProgramResult &R : S.getProgram().Results) {
    if (std::find(Roles.begin(), Roles.end(), R.Role) == Roles.end())
      continue;
    const Tensor &T = S.getProgram().Tensors[R.Tensor];
    StoredTensor Stored{T.Type, T.Shape, std::vector<uint8_t>(T.Bytes)};
    if (Status Read = S.readResult(R.Name, Stored.Data.data(), T.Bytes); !Read)
      return Read;
    File.Tensors.emplace_back(R.Name, std::move(Stored));
  }
  return writeSafetensors(Path, File);
}
