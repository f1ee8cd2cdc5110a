//===- CheckpointParts.cpp - a checkpoint that several ranks wrote --------===//

#include "lib/CheckpointParts.h"
#include "lib/CheckpointFormat.h"
#include "lib/ProgramChecks.h"
#include "lib/StoredTensor.h"
#include "ops/Op.h"
#include "remat/Support/Numbers.h"

using namespace remat;
using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// How tensors are cut
//===----------------------------------------------------------------------===//

/// "2 4" has the sizes of the mesh's axes; "6 8;1 4 2;-1 1 4" a whole shape,
/// then dimension and group of each cut.
static constexpr char MeshKey[] = "mesh", CutBegin[] = "cut.";

static std::string formatIntegers(std::span<const int64_t> List) {
  std::string Text;
  for (int64_t Number : List)
    Text += (Text.empty() ? "" : " ") + std::to_string(Number);
  return Text;
}

/// Splits at each `Sign`; "" has no pieces.
static std::vector<std::string_view> split(std::string_view Text, char Sign) {
  std::vector<std::string_view> Pieces;
  while (!Text.empty()) {
    size_t At = std::min(Text.find(Sign), Text.size());
    Pieces.push_back(Text.substr(0, At));
    Text.remove_prefix(std::min(At + 1, Text.size()));
  }
  return Pieces;
}

static std::optional<std::vector<int64_t>>
parseIntegers(std::string_view Text) {
  std::vector<int64_t> List;
  for (std::string_view Piece : split(Text, ' ')) {
    auto Number = parseInteger<int64_t>(Piece, INT32_MIN, INT64_MAX);
    if (!Number)
      return std::nullopt;
    List.push_back(*Number);
  }
  return List;
}

void runtime::describeParts(const Program &P, SafetensorsHeader &Header) {
  std::vector<int64_t> Sizes;
  for (const MeshAxis &Axis : P.Mesh)
    Sizes.push_back(Axis.Size);
  Header.Metadata[MeshKey] = formatIntegers(Sizes);
  for (const TensorEntry &T : Header.Tensors) {
    std::optional<uint32_t> Number = P.findArgument(T.Name);
    if (!Number || P.Arguments[*Number].Cuts.empty())
      continue;
    const Argument &A = P.Arguments[*Number];
    std::string Text = formatIntegers(A.Whole);
    for (const Cut &C : A.Cuts)
      Text += ";" + std::to_string(C.Dim) + " " + std::to_string(C.Blocks) +
              " " + formatIntegers(C.Group);
    Header.Metadata[CutBegin + T.Name] = Text;
  }
}

static Error refuse(const std::string &Path, const std::string &Why) {
  return Error(ErrorCode::InvalidFile, "'" + Path + "' " + Why);
}

/// Reads the whole shape and the cuts of an argument; false if the text is of
/// another form.
static bool parseCuts(std::string_view Text, Argument &A) {
  std::vector<std::string_view> Pieces = split(Text, ';');
  if (Pieces.size() < 2)
    return false;
  auto Whole = parseIntegers(Pieces.front());
  if (!Whole)
    return false;
  A.Whole = std::move(*Whole);
  for (std::string_view Piece : std::span(Pieces).subspan(1)) {
    auto Numbers = parseIntegers(Piece);
    if (!Numbers || Numbers->size() < 2 || Numbers->front() < -1 ||
        Numbers->front() >= int64_t(MaxRank))
      return false;
    A.Cuts.push_back({static_cast<int32_t>(Numbers->front()),
                      {Numbers->begin() + 2, Numbers->end()},
                      (*Numbers)[1]});
  }
  return true;
}

Result<Program> runtime::readParts(const SafetensorsHeader &Header,
                                   const std::string &Path) {
  Program P;
  auto Find = [&](const std::string &Key) -> std::string_view {
    auto Known = Header.Metadata.find(Key);
    return Known == Header.Metadata.end() ? std::string_view() : Known->second;
  };
  auto Sizes = parseIntegers(Find(MeshKey));
  for (int64_t Size : Sizes.value_or(std::vector<int64_t>{-1})) {
    if (Size < 1 || Size > int64_t(MaxRanks))
      return refuse(Path, "does not say how many ranks wrote it");
    P.Mesh.push_back(
        {std::to_string(P.Mesh.size()), static_cast<uint32_t>(Size)});
  }
  for (const TensorEntry &T : Header.Tensors) {
    if (T.Name == ChecksumName)
      continue;
    Tensor Own;
    Own.Type = T.Type;
    Own.Shape = T.Shape;
    Own.Bytes = T.Bytes;
    Own.NumElements = static_cast<int64_t>(T.Bytes / getByteWidth(T.Type));
    Argument A;
    A.Name = T.Name;
    A.Tensor = static_cast<uint32_t>(P.Tensors.size());
    if (std::string_view Text = Find(CutBegin + T.Name);
        !Text.empty() && !parseCuts(Text, A))
      return refuse(Path, "does not say how '" + T.Name + "' is cut");
    P.Tensors.push_back(std::move(Own));
    P.Arguments.push_back(std::move(A));
  }
  if (Status Sound = verifyMesh(P); !Sound)
    return refuse(Path, "has parts that fit no ranks: " +
                            Sound.getError().getMessage());
  return P;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Result<StoredParts> StoredParts::open(const std::string &Path) {
  StoredParts Made;
  Made.Path = Path;
  Result<const TensorReader *> Main = Made.getFile(0);
  if (!Main)
    return Main.getError();
  Result<Program> Stored = readParts((*Main)->getHeader(), Path);
  if (!Stored)
    return Stored.getError();
  Made.Stored = std::move(*Stored);
  return Made;
}

Result<const TensorReader *> StoredParts::getFile(uint32_t Rank) {
  constexpr size_t MaxOpen = 64;
  auto Known = Files.find(Rank);
  if (Known == Files.end()) {
    if (Files.size() == MaxOpen)
      Files.clear();
    Result<TensorReader> File =
        TensorReader::open(getPartPath(Path, Rank, Stored.getNumRanks()));
    if (!File)
      return File.getError();
    Known = Files.emplace(Rank, std::move(*File)).first;
  }
  return &Known->second;
}

Status StoredParts::readPart(uint32_t Rank, const Argument &A, uint64_t Offset,
                             void *To, uint64_t Bytes) {
  Result<const TensorReader *> File = getFile(Rank);
  if (!File)
    return File.getError();
  const TensorEntry *Entry = (*File)->getHeader().find(A.Name);
  const Tensor &T = Stored.Tensors[A.Tensor];
  if (!Entry || Entry->Type != T.Type || Entry->Shape != T.Shape)
    return refuse(getPartPath(Path, Rank, Stored.getNumRanks()),
                  "has no part of '" + A.Name + "' as '" + Path + "' says");
  return (*File)->read(*Entry, Offset, To, Bytes);
}

/// Reads bytes of the whole from all files that have some of them.
Status StoredParts::readWhole(const AllParts &Parts, const Argument &A,
                              uint64_t Offset, void *To, uint64_t Bytes) {
  uint64_t Width = getByteWidth(Stored.Tensors[A.Tensor].Type);
  auto At = static_cast<int64_t>(Offset / Width);
  auto End = static_cast<int64_t>((Offset + Bytes) / Width);
  Buffer.resize(Bytes);
  uint64_t Behind = 0;
  for (const auto &[Rank, Of] : Parts) {
    int64_t First = Of.countBefore(At);
    uint64_t Count = (Of.countBefore(End) - First) * Width;
    if (Count)
      REMAT_TRY(
          readPart(Rank, A, First * Width, Buffer.data() + Behind, Count));
    Behind += Count;
  }
  joinElements(Parts, At, End, Width, Buffer.data(), static_cast<char *>(To));
  return {};
}

Status StoredParts::load(Session &S, const Argument &A) {
  const Argument &From = Stored.Arguments[*Stored.findArgument(A.Name)];
  AllParts Parts = listParts(Stored, From);
  Part Own = Part::of(S.getProgram(), A, S.getRank());
  for (const auto &Known : Parts)
    if (Known.second == Own) {
      uint32_t Rank = Known.first;
      return S.loadArgument(A.Name,
                            [&](uint64_t Offset, void *To, uint64_t Bytes) {
                              return readPart(Rank, From, Offset, To, Bytes);
                            });
    }
  return S.loadWhole(A.Name, [&](uint64_t Offset, void *To, uint64_t Bytes) {
    return readWhole(Parts, From, Offset, To, Bytes);
  });
}
