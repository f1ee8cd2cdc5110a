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

static Status checkType(const Tensor &T, const std::string &Name, DType Type,
                        const std::vector<int64_t> &Shape,
                        const std::string &Path) {
  if (Type == T.Type && Shape == T.Shape)
    return {};
  return Error(ErrorCode::InvalidArgument,
               "'" + Name + "' is " + describe(T.Type, T.Shape) +
                   " in the program but " + describe(Type, Shape) + " in '" +
                   Path + "'");
}

Status run::loadParameters(Session &S, const std::string &Path) {
  Result<TensorReader> File = TensorReader::open(Path);
  if (!File)
    return File.getError();
  const Program &P = S.getProgram();
  for (const Argument &A : P.Arguments) {
    if (A.Role != Role::Parameter)
      continue;
    const TensorEntry *Stored = File->getHeader().find(A.Name);
    if (!Stored)
      return Error(ErrorCode::InvalidArgument,
                   "'" + Path + "' holds no parameter '" + A.Name + "'");
    if (Status Fits = checkType(P.Tensors[A.Tensor], A.Name, Stored->Type,
                                Stored->Shape, Path);
        !Fits)
      return Fits;
    auto Read = [&](uint64_t Offset, void *Data, uint64_t Bytes) {
      return File->read(*Stored, Offset, Data, Bytes);
    };
    if (Status Loaded = S.loadArgument(A.Name, Read); !Loaded)
      return Loaded;
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
    if (Status Fits = checkType(P.Tensors[P.Arguments[*Number].Tensor], Name,
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

/// A header in which `List`, arguments or results, are those that `IsWanted`.
template <typename Values, typename Function>
static SafetensorsHeader describeAll(const Program &P, const Values &List,
                                     Function IsWanted) {
  SafetensorsHeader Header;
  for (const auto &V : List)
    if (IsWanted(V.Role)) {
      const Tensor &T = P.Tensors[V.Tensor];
      Header.Tensors.push_back({V.Name, T.Type, T.Shape, 0, T.Bytes});
    }
  return Header;
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

Status run::saveParameters(Session &S, const std::string &Path) {
  const Program &P = S.getProgram();
  SafetensorsHeader Header = describeAll(
      P, P.Arguments, [](Role Kind) { return Kind == Role::Parameter; });
  return save(Path, Header,
              [&](const std::string &Name, const Session::Sink &To) {
                return S.storeArgument(Name, To);
              });
}

Status run::saveResults(Session &S, const std::string &Path,
                        std::initializer_list<Role> Roles) {
  const Program &P = S.getProgram();
  SafetensorsHeader Header = describeAll(P, P.Results, [&](Role Kind) {
    return std::find(Roles.begin(), Roles.end(), Kind) != Roles.end();
  });
  return save(Path, Header,
              [&](const std::string &Name, const Session::Sink &To) {
                return S.storeResult(Name, To);
              });
}
