//===- OpenData.cpp - which data a command line means ---------------------===//

#include "lib/Data/Paths.h"
#include "lib/Data/RecordSource.h"
#include "lib/Data/TokenBatches.h"
#include "lib/Guard.h"
#include "ops/Op.h"
#include <algorithm>
#include <filesystem>

using namespace remat::runtime;

namespace {

/// INPUT=PATH:ARRAY, where input and array may be missing.
struct DataPath {
  std::string Input, Path, Array;
};

} // namespace

static bool exists(const std::string &Path) {
  std::error_code Ignored;
  return std::filesystem::exists(Path, Ignored);
}

/// A name of a file is taken as it is, whatever signs are in it.
static DataPath splitPath(const std::string &Text) {
  DataPath Made{"", Text, ""};
  if (exists(Made.Path))
    return Made;
  if (size_t At = Text.find('='); At != std::string::npos)
    Made = {Text.substr(0, At), Text.substr(At + 1), ""};
  if (exists(Made.Path))
    return Made;
  size_t Colon = Made.Path.rfind(':');
  if (Colon != std::string::npos && exists(Made.Path.substr(0, Colon))) {
    Made.Array = Made.Path.substr(Colon + 1);
    Made.Path.resize(Colon);
  }
  return Made;
}

namespace {

/// Collects what fills the inputs of a program.
class DataOpener {
public:
  DataOpener(const Program &P, const DataOptions &O)
      : P(P), O(O), Pictures{O.Augment, O.AugmentsByChance, O.Seed} {}
  Result<std::unique_ptr<BatchSource>> open();

private:
  Status add(const DataPath &Given);
  Status addArrays(const DataPath &From);
  Result<FilledInput> makeInput(uint32_t Number, Array From);

  const Program &P;
  const DataOptions &O;
  PictureOptions Pictures;
  bool HasPictures = false;
  std::vector<std::string> Tokens;
  std::vector<FilledInput> Inputs;
};

} // namespace

Result<FilledInput> DataOpener::makeInput(uint32_t Number, Array From) {
  if (O.Augment.empty() || !holdsPictures(P, Number, From))
    return makeArrayInput(P, Number, std::move(From));
  HasPictures = true;
  return makePictureInput(P, Number, std::move(From), Pictures);
}

static bool isInput(const Program &P, const std::string &Name) {
  std::optional<uint32_t> Number = P.findArgument(Name);
  return Number && P.Arguments[*Number].Role == Role::Input;
}

/// The inputs that the arrays of one file fill. Without names those whose names
/// are inputs' are taken, and others may be there.
Status DataOpener::addArrays(const DataPath &From) {
  Result<std::vector<Array>> Arrays = openArrays(From.Path);
  if (!Arrays)
    return Arrays.getError();
  constexpr size_t MaxNames = 8; // that are said
  std::string Names;
  size_t Before = Inputs.size(), Count = 0;
  bool IsAlone = Arrays->size() == 1 || !From.Array.empty();
  for (Array &A : *Arrays) {
    std::string Name = printable(A.Name);
    if (++Count <= MaxNames)
      Names += (Names.empty() ? "'" : ", '") + Name + "'";
    bool IsMeant = From.Array.empty() || A.Name == From.Array;
    std::string Input = From.Input.empty() ? A.Name : From.Input;
    if (!IsMeant || (!IsAlone && From.Input.empty() && !isInput(P, Input)))
      continue;
    if (!IsAlone && !From.Input.empty())
      return Error(ErrorCode::InvalidArgument,
                   From.Path + ": holds several arrays; name one of them as " +
                       From.Input + "=" + From.Path + ":" + Name);
    Result<uint32_t> Number = findInput(P, Input, From.Path);
    if (!Number)
      return Number.getError();
    Result<FilledInput> Made = makeInput(*Number, std::move(A));
    if (!Made)
      return Made.getError();
    Inputs.push_back(std::move(*Made));
  }
  if (Inputs.size() == Before)
    return Error(ErrorCode::InvalidArgument,
                 From.Path + ": none of its arrays is meant; they are " +
                     (Names.empty() ? "none" : Names) +
                     (Count > MaxNames ? ", ..." : ""));
  return {};
}

Status DataOpener::add(const DataPath &Given) {
  if (Given.Input.empty() && isPictureFolder(Given.Path)) {
    auto Made = openPictureFolder(P, Given.Path, Pictures);
    if (!Made)
      return Made.getError();
    HasPictures = true;
    for (FilledInput &I : *Made)
      Inputs.push_back(std::move(I));
    return {};
  }
  Result<std::vector<std::string>> Files = listFiles(Given.Path);
  if (!Files)
    return Files.getError();
  for (const std::string &Path : *Files) {
    if (Given.Input.empty() && !isArrayFile(Path)) {
      Tokens.push_back(Path);
      continue;
    }
    REMAT_TRY(addArrays({Given.Input, Path, Given.Array}));
  }
  return {};
}

Result<std::unique_ptr<BatchSource>> DataOpener::open() {
  auto Fail = [](const std::string &Why) {
    return Error(ErrorCode::InvalidArgument, Why);
  };
  for (const std::string &Text : O.Paths)
    REMAT_TRY(add(splitPath(Text)));
  if (!O.Augment.empty() && !HasPictures)
    return Fail("--augment: the data are no pictures: neither a folder with a "
                "folder for each class nor an array of uint8 for an input of "
                "floats");
  if (Inputs.empty())
    return openTokens(P, Tokens, O.Seed, O.Share);
  if (!Tokens.empty())
    return Fail(Tokens.front() + ": data are token files or arrays, and there "
                                 "are arrays too");
  REMAT_TRY(checkInputs(P, Inputs, O.OtherInputs));
  return RecordSource::create(P, std::move(Inputs), O.Seed, O.Share);
}

Result<std::unique_ptr<BatchSource>>
remat::runtime::openData(const Program &P, const DataOptions &O) {
  return guard([&] { return DataOpener(P, O).open(); });
}
