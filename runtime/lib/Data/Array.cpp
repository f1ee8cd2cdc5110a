//===- Array.cpp - arrays in files ----------------------------------------===//

#include "lib/Data/Array.h"
#include "lib/File.h"
#include "lib/Guard.h"
#include "ops/Op.h"
#include "remat/runtime/Safetensors.h"
#include <algorithm>
#include <filesystem>

using namespace remat;
using namespace remat::runtime;

uint64_t Array::getRecordElements() const {
  uint64_t Count = 1;
  for (size_t I = 1; I < Shape.size(); ++I)
    Count *= static_cast<uint64_t>(Shape[I]);
  return Count;
}

std::string Array::describe() const {
  return describeTensor(getInfo(Type).Text, Shape);
}

std::string remat::runtime::printable(std::string Text) {
  std::replace_if(
      Text.begin(), Text.end(), [](char C) { return C < ' ' || C > '~'; }, '?');
  return Text;
}

namespace {
enum class Format { None, Npy, Npz, Safetensors };
} // namespace

Status Array::read(uint64_t Record, std::span<char> Bytes) const {
  return toStatus(File->read(Offset + Record * getRecordBytes(), Bytes.data(),
                             Bytes.size()));
}

/// By the first bytes of a file; of one that begins otherwise, by its name, so
/// that what is wrong with it is said of the right format.
static Format findFormat(const InputFile &File, const std::string &Path) {
  char Start[6] = {};
  (void)File.read(0, Start, std::min<uint64_t>(File.getSize(), sizeof Start));
  std::string_view Text(Start, sizeof Start);
  std::string End = std::filesystem::path(Path).extension().string();
  if (Text == "\x93NUMPY" || End == ".npy")
    return Format::Npy;
  if (Text.starts_with("PK") || End == ".npz")
    return Format::Npz;
  return End == ".safetensors" ? Format::Safetensors : Format::None;
}

bool remat::runtime::isArrayFile(const std::string &Path) {
  InputFile File;
  return !File.open(Path) && findFormat(File, Path) != Format::None;
}

static Result<std::vector<Array>> listSafetensors(const std::string &Path) {
  Result<TensorReader> Reader = TensorReader::open(Path);
  if (!Reader)
    return Reader.getError(); // it names the file
  std::vector<Array> Arrays;
  for (const TensorEntry &E : Reader->getHeader().Tensors) {
    Array &A = Arrays.emplace_back();
    A.Name = E.Name;
    A.Type = toArrayType(E.Type);
    A.Shape = E.Shape;
    A.Offset = Reader->getDataBegin() + E.Offset;
  }
  return Arrays;
}

/// The arrays, without path and file.
static Result<std::vector<Array>> parse(const InputFile &File,
                                        const std::string &Path) {
  switch (findFormat(File, Path)) {
  case Format::Safetensors:
    return listSafetensors(Path);
  case Format::Npz:
    if (Result<std::vector<Array>> Arrays = parseNpz(File))
      return Arrays;
    else
      return Arrays.getError().within(Path);
  case Format::Npy:
    break;
  case Format::None:
    return Error(ErrorCode::InvalidFile,
                 Path + ": it is neither .npy, .npz nor .safetensors");
  }
  Result<Array> One = parseNpy(File, 0, File.getSize());
  if (!One)
    return One.getError().within(Path);
  One->Name = std::filesystem::path(Path).stem().string();
  std::vector<Array> Arrays;
  Arrays.push_back(std::move(*One));
  return Arrays;
}

Result<std::vector<Array>> remat::runtime::openArrays(const std::string &Path) {
  return guard([&]() -> Result<std::vector<Array>> {
    auto File = std::make_shared<InputFile>();
    REMAT_TRY(toStatus(File->open(Path)));
    Result<std::vector<Array>> Arrays = parse(*File, Path);
    if (!Arrays)
      return Arrays.getError();
    for (Array &A : *Arrays) {
      A.Path = Path;
      A.File = File;
    }
    return Arrays;
  });
}
