//===- Pictures.cpp - columns of pictures and of their classes ------------===//

#include "lib/Data/Augmentation.h"
#include "lib/Data/Paths.h"
#include "lib/Data/RecordSource.h"
#include "ops/Numeric.h"
#include "ops/Op.h"
#include <algorithm>
#include <filesystem>

using namespace remat::runtime;
namespace fs = std::filesystem;

static constexpr uint64_t AugmentId = 0x6175676d656e74; // "augment"

static Error invalid(const std::string &Why) {
  return Error(ErrorCode::InvalidArgument, Why);
}

//===----------------------------------------------------------------------===//
// The order of dimensions
//===----------------------------------------------------------------------===//

namespace {

/// How the numbers of one picture lie.
struct Layout {
  uint64_t Height = 0, Width = 0, Channels = 1;
  bool ChannelsFirst = true;

  uint64_t getNumElements() const { return Height * Width * Channels; }
};

} // namespace

/// Two dimensions are a grey picture. Of three, the first or the last one is
/// the channels: the one that is 1 or 3, the first where both are.
static std::optional<Layout> findLayout(std::span<const int64_t> Shape) {
  std::vector<uint64_t> S(Shape.begin(), Shape.end());
  auto IsChannels = [](uint64_t Size) { return Size == 1 || Size == 3; };
  if (S.size() == 2)
    return Layout{S[0], S[1], 1, true};
  if (S.size() == 3 && IsChannels(S[0]))
    return Layout{S[1], S[2], S[0], true};
  if (S.size() == 3 && IsChannels(S[2]))
    return Layout{S[0], S[1], S[2], false};
  return std::nullopt;
}

/// That of an input that may take pictures.
static std::optional<Layout> findLayout(const Program &P, uint32_t Number) {
  const Argument &A = P.Arguments[Number];
  const Tensor &T = P.Tensors[A.Tensor];
  if (A.Role != Role::Input || !remat::isFloat(T.Type) || T.Shape.size() < 3)
    return std::nullopt;
  return findLayout(std::span(T.Shape).subspan(1));
}

/// Moves the channels behind, or to the front.
template <typename Element>
static void move(const Layout &L, bool ToFront, const Element *From,
                 Element *To) {
  uint64_t Count = L.Height * L.Width;
  for (uint64_t I = 0; I < Count; ++I)
    for (uint64_t C = 0; C < L.Channels; ++C) {
      uint64_t Front = C * Count + I, Behind = I * L.Channels + C;
      To[ToFront ? Front : Behind] = From[ToFront ? Behind : Front];
    }
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

namespace {

/// Where pictures come from.
class PixelReader {
public:
  virtual ~PixelReader() = default;
  virtual uint64_t getNumRecords() const = 0;
  virtual Result<Pixels> read(uint64_t Record) const = 0;
  virtual std::string describe(uint64_t Record) const = 0;
};

class PictureColumn final : public Column {
public:
  PictureColumn(std::unique_ptr<PixelReader> From, Augmentation How,
                const Layout &To, DType Type, uint64_t Seed)
      : From(std::move(From)), How(std::move(How)), Shape(To), Type(Type),
        Seed(Seed) {}

  uint64_t getNumRecords() const override { return From->getNumRecords(); }
  Status read(uint64_t Record, uint64_t Step, uint64_t Row,
              char *To) const override;

private:
  std::unique_ptr<PixelReader> From;
  Augmentation How;
  Layout Shape;
  DType Type;
  uint64_t Seed;
};

class ArrayPixels final : public PixelReader {
public:
  ArrayPixels(Array TheFrom, const Layout &Shape)
      : From(std::move(TheFrom)), Shape(Shape) {}

  uint64_t getNumRecords() const override { return From.getNumRecords(); }
  Result<Pixels> read(uint64_t Record) const override;
  std::string describe(uint64_t Record) const override {
    return From.Path + ": record " + std::to_string(Record) + " of '" +
           From.Name + "'";
  }

private:
  Array From;
  Layout Shape;
};

/// The pictures of a folder, class by class.
struct PictureList {
  std::vector<std::string> Paths;
  std::vector<uint32_t> Classes; ///< of each path
  uint32_t NumClasses = 0;
};

class FolderPixels final : public PixelReader {
public:
  FolderPixels(std::shared_ptr<const PictureList> List, uint64_t Channels)
      : List(std::move(List)), Channels(Channels) {}

  uint64_t getNumRecords() const override { return List->Paths.size(); }
  Result<Pixels> read(uint64_t Record) const override {
    return readImage(List->Paths[Record], Channels);
  }
  std::string describe(uint64_t Record) const override {
    return List->Paths[Record];
  }

private:
  std::shared_ptr<const PictureList> List;
  uint64_t Channels;
};

class ClassColumn final : public Column {
public:
  ClassColumn(std::shared_ptr<const PictureList> List, DType Type)
      : List(std::move(List)), Type(Type) {}

  uint64_t getNumRecords() const override { return List->Paths.size(); }
  Status read(uint64_t Record, uint64_t, uint64_t, char *To) const override {
    uint32_t Class = List->Classes[Record];
    return convertElements(ArrayType::U32, reinterpret_cast<char *>(&Class),
                           Type, To, 1, /*Bound=*/0);
  }

private:
  std::shared_ptr<const PictureList> List;
  DType Type;
};

} // namespace

Status PictureColumn::read(uint64_t Record, uint64_t Step, uint64_t Row,
                           char *To) const {
  Result<Pixels> Read = From->read(Record);
  if (!Read)
    return Read.getError();
  Augmentation::Draws Draws(PhiloxStream(Seed, AugmentId, Step), Row);
  std::vector<float> Made;
  if (Status Done = How.apply(*Read, Draws, Shape.Height, Shape.Width, Made);
      !Done)
    return Done.getError().within(From->describe(Record));
  if (Shape.ChannelsFirst && Shape.Channels > 1) {
    std::vector<float> Moved(Made.size());
    move(Shape, /*ToFront=*/true, Made.data(), Moved.data());
    Made = std::move(Moved);
  }
  storeFloats(Type, To, 0, static_cast<int64_t>(Made.size()), Made.data());
  return {};
}

Result<Pixels> ArrayPixels::read(uint64_t Record) const {
  std::vector<uint8_t> Bytes(From.getRecordBytes());
  REMAT_TRY(From.read(Record,
                      {reinterpret_cast<char *>(Bytes.data()), Bytes.size()}));
  Pixels P{Shape.Height, Shape.Width, Shape.Channels, std::move(Bytes)};
  if (Shape.ChannelsFirst && Shape.Channels > 1) {
    std::vector<uint8_t> Moved(P.Bytes.size());
    move(Shape, /*ToFront=*/false, P.Bytes.data(), Moved.data());
    P.Bytes = std::move(Moved);
  }
  return P;
}

//===----------------------------------------------------------------------===//
// Making them
//===----------------------------------------------------------------------===//

static Result<FilledInput> makePictures(const Program &P, uint32_t Number,
                                        std::unique_ptr<PixelReader> From,
                                        const PictureOptions &O) {
  const Argument &A = P.Arguments[Number];
  Layout To = *findLayout(P, Number);
  Result<Augmentation> How = Augmentation::parse(O.Augment);
  if (!How)
    return How.getError();
  if (!O.ByChance)
    *How = How->withoutChance();
  if (How->Of != Augmentation::Part::Whole &&
      (How->Side != To.Height || How->Side != To.Width))
    return invalid("--augment makes pictures of " + std::to_string(How->Side) +
                   " by " + std::to_string(How->Side) + ", input '" + A.Name +
                   "' takes " + std::to_string(To.Height) + " by " +
                   std::to_string(To.Width));
  if (How->Mean.size() > 1 && How->Mean.size() != To.Channels)
    return invalid("--augment normalizes " + std::to_string(How->Mean.size()) +
                   " channels, input '" + A.Name + "' has " +
                   std::to_string(To.Channels));
  return FilledInput{Number, std::make_unique<PictureColumn>(
                                 std::move(From), std::move(*How), To,
                                 P.Tensors[A.Tensor].Type, O.Seed)};
}

bool remat::runtime::holdsPictures(const Program &P, uint32_t Number,
                                   const Array &From) {
  return From.Type == ArrayType::U8 && From.Shape.size() >= 3 &&
         findLayout(P, Number);
}

Result<FilledInput> remat::runtime::makePictureInput(const Program &P,
                                                     uint32_t Number,
                                                     Array From,
                                                     const PictureOptions &O) {
  std::optional<Layout> Here = findLayout(std::span(From.Shape).subspan(1));
  std::optional<Layout> There = findLayout(P, Number);
  if (!Here || Here->Channels != There->Channels || Here->getNumElements() == 0)
    return invalid(From.Path + ": '" + From.Name + "', " + From.describe() +
                   ", is no pictures of " + std::to_string(There->Channels) +
                   " channels for input '" + P.Arguments[Number].Name + "'");
  return makePictures(P, Number,
                      std::make_unique<ArrayPixels>(std::move(From), *Here), O);
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

bool remat::runtime::isPictureFolder(const std::string &Path) {
  std::error_code Ignored;
  if (!fs::is_directory(Path, Ignored))
    return false;
  Result<std::vector<std::string>> Folders = listFolder(Path, /*Folders=*/true);
  return Folders && !Folders->empty();
}

static Result<PictureList> listPictures(const std::string &Path) {
  PictureList List;
  Result<std::vector<std::string>> Folders = listFolder(Path, /*Folders=*/true);
  if (!Folders)
    return Folders.getError();
  for (const std::string &Folder : *Folders) {
    Result<std::vector<std::string>> Files =
        listFolder(Folder, /*Folders=*/false);
    if (!Files)
      return Files.getError();
    if (Files->empty())
      return invalid("'" + Folder +
                     "': the folder of a class holds no picture");
    for (std::string &File : *Files) {
      if (!isImageName(File))
        return invalid(File + ": neither .png nor .jpg");
      List.Paths.push_back(std::move(File));
      List.Classes.push_back(List.NumClasses);
    }
    ++List.NumClasses;
  }
  return List;
}

/// The one input of these that `Fits`, if there is one.
template <typename Function>
static Result<std::optional<uint32_t>>
findOne(const Program &P, const char *What, Function Fits) {
  std::optional<uint32_t> Found;
  for (uint32_t I = 0; I < P.Arguments.size(); ++I) {
    if (P.Arguments[I].Role != Role::Input || !Fits(I))
      continue;
    if (Found)
      return invalid("inputs '" + P.Arguments[*Found].Name + "' and '" +
                     P.Arguments[I].Name + "' both may take " + What +
                     "; a folder is for graphs of one such input");
    Found = I;
  }
  return Found;
}

Result<std::vector<FilledInput>>
remat::runtime::openPictureFolder(const Program &P, const std::string &Path,
                                  const PictureOptions &O) {
  auto Pictures = findOne(
      P, "pictures", [&](uint32_t I) { return findLayout(P, I).has_value(); });
  if (!Pictures)
    return Pictures.getError();
  if (!*Pictures)
    return invalid("'" + Path +
                   "': no input of the graph takes pictures, "
                   "floats of two or three dimensions in each row");
  auto Classes = findOne(P, "classes", [&](uint32_t I) {
    const Tensor &T = P.Tensors[P.Arguments[I].Tensor];
    return remat::isInteger(T.Type) && T.Shape.size() == 1;
  });
  if (!Classes)
    return Classes.getError();
  Result<PictureList> Listed = listPictures(Path);
  if (!Listed)
    return Listed.getError();
  auto List = std::make_shared<const PictureList>(std::move(*Listed));
  std::vector<FilledInput> Inputs;
  Result<FilledInput> Made = makePictures(
      P, **Pictures,
      std::make_unique<FolderPixels>(List, findLayout(P, **Pictures)->Channels),
      O);
  if (!Made)
    return Made.getError();
  Inputs.push_back(std::move(*Made));
  if (!*Classes)
    return Inputs;
  const Argument &A = P.Arguments[**Classes];
  if (A.Bound > 0 && List->NumClasses > A.Bound)
    return invalid("'" + Path + "': " + std::to_string(List->NumClasses) +
                   " classes, input '" + A.Name + "' is below " +
                   std::to_string(A.Bound));
  Inputs.push_back({**Classes, std::make_unique<ClassColumn>(
                                   List, P.Tensors[A.Tensor].Type)});
  return Inputs;
}
