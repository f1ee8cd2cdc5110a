//===- Files.cpp - weights, tokens, arrays -------------------------------===//

#include "Target.h"
#include "lib/Data/Array.h"
#include "lib/Data/TokenBatches.h"
#include "remat/runtime/Safetensors.h"
#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

using namespace remat::fuzz;
using namespace remat::runtime;

Outcome remat::fuzz::runSafetensors(Bytes Data) {
  auto Read = parseSafetensors(Data);
  if (!Read)
    return Outcome::Refused;
  for (const auto &[Name, Tensor] : Read->Tensors)
    if (!Read->find(Name))
      fail("tensor '" + Name + "' is not found");
  // What was read can be written, and is then read as the same.
  auto Written = formatSafetensors(*Read);
  if (!Written)
    fail("what was read is not written: " + Written.getError().getMessage());
  auto Again = parseSafetensors(*Written);
  if (!Again)
    fail("what was written is not read: " + Again.getError().getMessage());
  bool Same = Again->Metadata == Read->Metadata &&
              std::ranges::equal(Again->Tensors, Read->Tensors,
                                 [](const auto &L, const auto &R) {
                                   return L.first == R.first &&
                                          L.second.Type == R.second.Type &&
                                          L.second.Shape == R.second.Shape &&
                                          L.second.Data == R.second.Data;
                                 });
  if (!Same)
    fail("what was written is read as something else");
  return Outcome::Done;
}

namespace {

/// Bytes as a file of this process alone.
class MemoryFile {
public:
  explicit MemoryFile(Bytes Data)
      : Descriptor(::memfd_create("remat-fuzz", MFD_CLOEXEC)) {
    if (Descriptor < 0 || ::write(Descriptor, Data.data(), Data.size()) !=
                              static_cast<ssize_t>(Data.size()))
      fail("no file is made in memory");
  }
  ~MemoryFile() { ::close(Descriptor); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  std::string getPath() const {
    return "/proc/self/fd/" + std::to_string(Descriptor);
  }

private:
  int Descriptor;
};

/// What was read can be written, and is then read as the same.
template <typename Token>
void writeAgain(Bytes Data, std::span<const int64_t> Tokens) {
  std::vector<Token> Narrow(Tokens.begin(), Tokens.end());
  auto Written = formatTokens(std::span<const Token>(Narrow));
  // Words of the header that are not read are written as zeros.
  constexpr size_t Read = 12, Header = 1024;
  if (!Written || Written->size() != Data.size() ||
      !std::equal(Data.begin(), Data.begin() + Read, Written->begin()) ||
      !std::equal(Data.begin() + Header, Data.end(), Written->begin() + Header))
    fail("tokens change when they are read and written");
}

} // namespace

Outcome remat::fuzz::runTokens(Bytes Data) {
  auto Header = parseTokenHeader(Data, Data.size());
  MemoryFile Holder(Data);
  auto File = TokenFile::open(Holder.getPath());
  if (bool(File) != bool(Header))
    fail("the header is read in one way only");
  if (!File)
    return Outcome::Refused;
  std::vector<int64_t> Tokens(File->getCount());
  if (!File->read(0, Tokens))
    fail("tokens are not read");
  if (Header->Width == 2)
    writeAgain<uint16_t>(Data, Tokens);
  else
    writeAgain<uint32_t>(Data, Tokens);

  // The sizes of a batch are drawn from the tokens.
  Random R(hashOf(Data));
  uint64_t Batch = R.draw(5), Length = R.draw(9), Bound = R.draw(3) * 300;
  std::vector<TokenFile> Files;
  Files.push_back(std::move(*File));
  auto Batches = TokenBatches::create(
      std::move(Files), {.Batch = Batch, .Length = Length, .Bound = Bound},
      R.draw(9));
  if (!Batches)
    return Outcome::Read;
  std::vector<int64_t> Inputs(Batch * Length), Targets(Inputs.size());
  for (uint64_t Step : {R.draw(4), R.draw(100), R.draw(UINT64_MAX)})
    if (!(*Batches)->get(Step, Inputs, Targets))
      fail("a batch is not read");
  for (int64_t Token : Inputs)
    if (Token < 0 || (Bound && Token >= static_cast<int64_t>(Bound)))
      fail("a batch holds a token outside of the vocabulary");
  return Outcome::Done;
}

Outcome remat::fuzz::runArrays(Bytes Data) {
  MemoryFile Holder(Data);
  auto Arrays = openArrays(Holder.getPath());
  if (!Arrays)
    return Outcome::Refused;
  for (const Array &A : *Arrays) {
    std::vector<char> Record(A.getNumRecords() ? A.getRecordBytes() : 0);
    if (A.getNumRecords() &&
        (!A.read(0, Record) || !A.read(A.getNumRecords() - 1, Record)))
      fail("a record that the shape promises is not read");
    for (DType To : {DType::F32, DType::I32, DType::I64, DType::I1})
      if (!explainConversion(A.Type, To)) {
        // Aligned as the program's memory is.
        std::vector<uint64_t> Made(A.getRecordElements() + 1);
        (void)convertElements(A.Type, Record.data(), To,
                              reinterpret_cast<char *>(Made.data()),
                              Record.size() / getInfo(A.Type).Width, 5);
      }
  }
  return Arrays->empty() ? Outcome::Read : Outcome::Done;
}
