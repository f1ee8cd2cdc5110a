//===- File.cpp - whole files ---------------------------------------------===//

#include "lib/File.h"
#include <filesystem>
#include <fstream>

using namespace remat::runtime;
namespace fs = std::filesystem;

static Error fail(const std::string &What, const std::string &Path,
                  const std::error_code &Code) {
  return Error(ErrorCode::IO, "cannot " + What + " '" + Path + "'" +
                                  (Code ? ": " + Code.message() : ""));
}

Result<std::vector<uint8_t>> remat::runtime::readFile(const std::string &Path) {
  std::error_code Code;
  if (!fs::is_regular_file(Path, Code))
    return fail("read", Path,
                Code ? Code
                     : std::make_error_code(std::errc::invalid_argument));
  uint64_t Size = fs::file_size(Path, Code);
  if (Code)
    return fail("read", Path, Code);
  std::ifstream Stream(Path, std::ios::binary);
  std::vector<uint8_t> Bytes;
  try {
    Bytes.resize(Size);
  } catch (const std::exception &) {
    return Error(ErrorCode::OutOfMemory, "no host memory for the " +
                                             std::to_string(Size) +
                                             " bytes of '" + Path + "'");
  }
  if (!Stream.read(reinterpret_cast<char *>(Bytes.data()),
                   static_cast<std::streamsize>(Size)))
    return fail("read", Path, {});
  return Bytes;
}

Status remat::runtime::writeFile(const std::string &Path,
                                 std::span<const uint8_t> Bytes) {
  std::string Beside = Path + ".partial";
  std::error_code Code;
  {
    std::ofstream Stream(Beside, std::ios::binary | std::ios::trunc);
    Stream.write(reinterpret_cast<const char *>(Bytes.data()),
                 static_cast<std::streamsize>(Bytes.size()));
    Stream.flush();
    if (!Stream) {
      fs::remove(Beside, Code);
      return fail("write", Path, {});
    }
  }
  fs::rename(Beside, Path, Code);
  return Code ? Status(fail("write", Path, Code)) : Status();
}
