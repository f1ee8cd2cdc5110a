//===- Safetensors.cpp - weight files -------------------------------------===//

#include "remat/runtime/Safetensors.h"
#include "lib/File.h"
#include "lib/Guard.h"
#include "lib/SafetensorsHeader.h"
#include "ops/Op.h"
#include <algorithm>

using namespace remat::runtime;

static constexpr uint64_t SizeBytes = sizeof(uint64_t);

const StoredTensor *TensorFile::find(std::string_view Name) const {
  for (auto &[Known, T] : Tensors)
    if (Known == Name)
      return &T;
  return nullptr;
}

static SafetensorsHeader getHeader(const TensorFile &File) {
  SafetensorsHeader Header;
  Header.Metadata = File.Metadata;
  for (auto &[Name, T] : File.Tensors)
    Header.Tensors.push_back({Name, T.Type, T.Shape, 0, T.Data.size()});
  return Header;
}

//===----------------------------------------------------------------------===//
// Whole files in memory
//===----------------------------------------------------------------------===//

Result<TensorFile>
remat::runtime::parseSafetensors(std::span<const uint8_t> Bytes) {
  return guard([&]() -> Result<TensorFile> {
    Result<uint64_t> Size = readSafetensorsHeaderSize(Bytes, Bytes.size());
    if (!Size)
      return Size.getError();
    std::span<const uint8_t> Data = Bytes.subspan(SizeBytes + *Size);
    Result<SafetensorsHeader> Header =
        parseSafetensorsHeader(Bytes.subspan(SizeBytes, *Size), Data.size());
    if (!Header)
      return Header.getError();
    TensorFile File;
    File.Metadata = std::move(Header->Metadata);
    for (TensorEntry &E : Header->Tensors) {
      auto Begin = Data.begin() + static_cast<ptrdiff_t>(E.Offset);
      File.Tensors.emplace_back(
          std::move(E.Name),
          StoredTensor{E.Type,
                       std::move(E.Shape),
                       {Begin, Begin + static_cast<ptrdiff_t>(E.Bytes)}});
    }
    return File;
  });
}

Result<TensorFile> remat::runtime::readSafetensors(const std::string &Path) {
  return guard([&]() -> Result<TensorFile> {
    Result<TensorReader> Reader = TensorReader::open(Path);
    if (!Reader)
      return Reader.getError();
    TensorFile File;
    File.Metadata = Reader->getHeader().Metadata;
    for (const TensorEntry &E : Reader->getHeader().Tensors) {
      StoredTensor T{E.Type, E.Shape, std::vector<uint8_t>(E.Bytes)};
      REMAT_TRY(Reader->read(E, 0, T.Data.data(), E.Bytes));
      File.Tensors.emplace_back(E.Name, std::move(T));
    }
    return File;
  });
}

Result<std::vector<uint8_t>>
remat::runtime::formatSafetensors(const TensorFile &File) {
  return guard([&]() -> Result<std::vector<uint8_t>> {
    Result<std::string> Header = formatSafetensorsHeader(getHeader(File));
    if (!Header)
      return Header.getError();
    std::vector<uint8_t> Bytes(Header->begin(), Header->end());
    for (auto &[Name, T] : File.Tensors)
      Bytes.insert(Bytes.end(), T.Data.begin(), T.Data.end());
    return Bytes;
  });
}

Status remat::runtime::writeSafetensors(const std::string &Path,
                                        const TensorFile &File) {
  return guard([&]() -> Status {
    Result<TensorWriter> Writer = TensorWriter::create(Path, getHeader(File));
    if (!Writer)
      return Writer.getError();
    for (auto &[Name, T] : File.Tensors)
      REMAT_TRY(Writer->write(T.Data.data(), T.Data.size()));
    return Writer->finish();
  });
}

//===----------------------------------------------------------------------===//
// Piece by piece
//===----------------------------------------------------------------------===//

const TensorEntry *SafetensorsHeader::find(std::string_view Name) const {
  for (const TensorEntry &T : Tensors)
    if (T.Name == Name)
      return &T;
  return nullptr;
}

Result<TensorReader> TensorReader::open(const std::string &Path) {
  return guard([&]() -> Result<TensorReader> {
    TensorReader Reader;
    Reader.File = std::make_unique<InputFile>();
    REMAT_TRY(toStatus(Reader.File->open(Path)));
    uint64_t FileBytes = Reader.File->getSize();
    std::vector<uint8_t> Start(std::min(FileBytes, SizeBytes));
    REMAT_TRY(toStatus(Reader.File->read(0, Start.data(), Start.size())));
    Result<uint64_t> Size = readSafetensorsHeaderSize(Start, FileBytes);
    if (!Size)
      return Size.getError().within(Path);
    std::vector<uint8_t> Text(*Size);
    REMAT_TRY(toStatus(Reader.File->read(SizeBytes, Text.data(), Text.size())));
    Reader.DataBegin = SizeBytes + *Size;
    Result<SafetensorsHeader> Header =
        parseSafetensorsHeader(Text, FileBytes - Reader.DataBegin);
    if (!Header)
      return Header.getError().within(Path);
    Reader.Header = std::move(*Header);
    return Reader;
  });
}

Status TensorReader::read(const TensorEntry &Tensor, uint64_t Offset,
                          void *Data, uint64_t Bytes) const {
  return guard([&]() -> Status {
    return toStatus(
        File->read(DataBegin + Tensor.Offset + Offset, Data, Bytes));
  });
}

Result<TensorWriter> TensorWriter::create(const std::string &Path,
                                          const SafetensorsHeader &Header) {
  return guard([&]() -> Result<TensorWriter> {
    Result<std::string> Text = formatSafetensorsHeader(Header);
    if (!Text)
      return Text.getError();
    TensorWriter Writer;
    for (const TensorEntry &T : Header.Tensors)
      Writer.Missing += T.Bytes;
    Writer.File = std::make_unique<OutputFile>();
    REMAT_TRY(toStatus(Writer.File->open(Path)));
    REMAT_TRY(toStatus(Writer.File->write(Text->data(), Text->size())));
    return Writer;
  });
}

Status TensorWriter::write(const void *Data, uint64_t Bytes) {
  return guard([&]() -> Status {
    if (Bytes > Missing)
      return Error(ErrorCode::InvalidArgument,
                   std::to_string(Bytes) +
                       " bytes are written of tensors that " + "lack " +
                       std::to_string(Missing));
    Missing -= Bytes;
    return toStatus(File->write(Data, Bytes));
  });
}

Status TensorWriter::finish() {
  return guard([&]() -> Status {
    if (Missing != 0)
      return Error(ErrorCode::InvalidArgument,
                   "the tensors lack " + std::to_string(Missing) + " bytes");
    return toStatus(File->commit());
  });
}
