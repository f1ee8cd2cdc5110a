//===- SessionParts.cpp - tensors that several ranks hold together --------===//

#include "lib/Guard.h"
#include "lib/TensorCopy.h"
#include "ops/Op.h"
#include "remat/runtime/Parts.h"
#include "remat/runtime/Session.h"
#include "remat/runtime/Sha256.h"
#include <cstring>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Cutting
//===----------------------------------------------------------------------===//

namespace {

/// Gives pieces of a whole tensor, in the order of their bytes. Small ones are
/// read together with what lies between them.
class WindowReader {
public:
  WindowReader(const Session::Source &From, uint64_t WholeBytes)
      : From(From), WholeBytes(WholeBytes) {}

  Status read(uint64_t Offset, char *To, uint64_t Bytes) {
    if (Bytes >= WindowBytes)
      return From(Offset, To, Bytes);
    if (Offset < Begin || Offset + Bytes > Begin + Window.size()) {
      Window.resize(std::min(WindowBytes, WholeBytes - Offset));
      Begin = Offset;
      REMAT_TRY(From(Begin, Window.data(), Window.size()));
    }
    std::memcpy(To, Window.data() + (Offset - Begin), Bytes);
    return {};
  }

private:
  static constexpr uint64_t WindowBytes = uint64_t(1) << 16;

  const Session::Source &From;
  uint64_t WholeBytes;
  uint64_t Begin = 0;
  std::vector<char> Window;
};

} // namespace

Status Session::loadWhole(std::string_view Name, const Source &From) {
  std::optional<uint32_t> Index = TheProgram->findArgument(Name);
  if (!Index || TheProgram->Arguments[*Index].Cuts.empty())
    return loadArgument(Name, From);
  const Argument &A = TheProgram->Arguments[*Index];
  Part Own = Part::of(*TheProgram, A, getRank());
  uint64_t Width = getByteWidth(TheProgram->Tensors[A.Tensor].Type);
  WindowReader Whole(From, Own.getNumWhole() * Width);
  auto Cut = [&](uint64_t Offset, void *Data, uint64_t Bytes) {
    auto *To = static_cast<char *>(Data);
    std::memset(To, 0, Bytes);
    Status Read;
    Own.forRuns(static_cast<int64_t>(Offset / Width),
                static_cast<int64_t>(Bytes / Width), [&](const Part::Run &R) {
                  if (Read)
                    Read = Whole.read(R.Whole * Width,
                                      To + (R.Own * Width - Offset),
                                      R.Count * Width);
                });
    return Read;
  };
  return loadArgument(Name, Cut);
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

/// Elements that are joined at once.
static int64_t getPieceElements(uint64_t Width) {
  return static_cast<int64_t>(StreamBytes / Width);
}

/// Sends what this rank has of each piece to rank 0.
Status Session::sendPart(const Argument &A) {
  Part Own = Part::of(*TheProgram, A, getRank());
  if (!Own.isFirst())
    return {};
  uint64_t Width = getByteWidth(TheProgram->Tensors[A.Tensor].Type);
  int64_t Piece = getPieceElements(Width);
  std::vector<char> Buffer;
  for (int64_t At = 0; At < Own.getNumWhole(); At += Piece) {
    int64_t First = Own.countBefore(At);
    int64_t End = Own.countBefore(std::min(At + Piece, Own.getNumWhole()));
    if (First == End)
      continue;
    Buffer.resize((End - First) * Width);
    REMAT_TRY(copyTensorOut(TheDevice, TheProgram->Tensors[A.Tensor],
                            getAddress(A.Tensor), First * Width, Buffer.data(),
                            Buffer.size()));
    Send Sent{0, Buffer.data(), Buffer.size()};
    REMAT_TRY(TheDevice.getRanks()->exchange({&Sent, 1}, {}));
  }
  return {};
}

/// Rank 0's side of `sendPart`. All pieces are taken, whatever `To` says.
Status Session::join(const Argument &A, const Sink &To) {
  Ranks &Others = *TheDevice.getRanks();
  uint64_t Width = getByteWidth(TheProgram->Tensors[A.Tensor].Type);
  int64_t Piece = getPieceElements(Width);
  AllParts Parts = listParts(*TheProgram, A);
  int64_t NumWhole = Parts.front().second.getNumWhole();
  std::vector<char> Joined(std::min(NumWhole, Piece) * Width), Came;
  Status Taken;
  for (int64_t At = 0; At < NumWhole; At += Piece) {
    int64_t End = std::min(At + Piece, NumWhole);
    Came.resize((End - At) * Width);
    std::vector<Receive> Receives;
    uint64_t Behind = 0;
    for (auto &[Rank, Of] : Parts) {
      int64_t First = Of.countBefore(At);
      uint64_t Bytes = (Of.countBefore(End) - First) * Width;
      char *Here = Came.data() + Behind;
      if (Rank == 0 && Bytes)
        REMAT_TRY(copyTensorOut(TheDevice, TheProgram->Tensors[A.Tensor],
                                getAddress(A.Tensor), First * Width, Here,
                                Bytes));
      if (Rank != 0 && Bytes)
        Receives.push_back({Rank, Here, Bytes});
      Behind += Bytes;
    }
    if (!Receives.empty())
      REMAT_TRY(Others.exchange({}, Receives));
    joinElements(Parts, At, End, Width, Came.data(), Joined.data());
    if (Taken)
      Taken = To(Joined.data(), (End - At) * Width);
  }
  return Taken;
}

Status Session::storeWhole(std::string_view Name, const Sink &To) {
  std::optional<uint32_t> Index = TheProgram->findArgument(Name);
  if (!Index || TheProgram->Arguments[*Index].Cuts.empty())
    return getRank() == 0 ? storeArgument(Name, To) : Status();
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    Result<uint32_t> Tensor = findValue(Name, /*IsArgument=*/true);
    if (!Tensor)
      return Tensor.getError();
    const Argument &A = TheProgram->Arguments[*Index];
    return getRank() == 0 ? join(A, To) : sendPart(A);
  });
}

Result<std::string> Session::computeParametersDigest() {
  return guard([&]() -> Result<std::string> {
    Sha256 Digest;
    for (const Argument &A : TheProgram->Arguments)
      if (A.Role == Role::Parameter)
        REMAT_TRY(storeWhole(A.Name, [&](const void *Data, uint64_t Bytes) {
          Digest.update(Data, Bytes);
          return Status();
        }));
    std::string Text = Digest.finish();
    if (Text.empty())
      return Error(ErrorCode::DeviceFailure, "libcrypto computes no SHA-256");
    if (Ranks *Others = TheDevice.getRanks())
      return broadcast(*Others, 0, std::move(Text));
    return Text;
  });
}
