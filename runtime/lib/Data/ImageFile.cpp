//===- ImageFile.cpp - pictures in files ----------------------------------===//

#include "lib/Data/ImageFile.h"
#include "lib/File.h"
#include "ops/Op.h"
#include "remat/Support/Library.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#ifdef REMAT_PNG
#include <png.h>
#endif
#ifdef REMAT_JPEG
#include <turbojpeg.h>
#endif

using namespace remat::runtime;

static constexpr uint64_t MaxFileBytes = uint64_t(1) << 30;

static Error invalid(const std::string &Why) {
  return Error(ErrorCode::InvalidFile, Why);
}

static Status checkSize(uint64_t Height, uint64_t Width) {
  if (Height > 0 && Width > 0 && Height <= MaxPixels / Width)
    return {};
  return invalid("a picture of " + std::to_string(Height) + " by " +
                 std::to_string(Width) + " pixels is empty or too large");
}

#if defined(REMAT_PNG) || defined(REMAT_JPEG)
namespace {

/// Functions of a library that may not be there, each null where it is not.
struct PictureLibrary {
  explicit PictureLibrary(const char *File)
      : Found(remat::openLibrary({File})) {}
  template <typename Function> void find(const char *Name, Function &To) {
    if (Found.Handle)
      To = reinterpret_cast<Function>(Found.find(Name));
  }

  remat::SharedLibrary Found;
};

} // namespace
#endif

//===----------------------------------------------------------------------===//
// PNG
//===----------------------------------------------------------------------===//

#ifdef REMAT_PNG
namespace {

struct PngLibrary : PictureLibrary {
  PngLibrary() : PictureLibrary("libpng16.so.16") {
    find("png_image_begin_read_from_memory", Begin);
    find("png_image_finish_read", Finish);
    find("png_image_free", Free);
  }
  bool isThere() const { return Begin && Finish && Free; }

  decltype(&png_image_begin_read_from_memory) Begin = nullptr;
  decltype(&png_image_finish_read) Finish = nullptr;
  decltype(&png_image_free) Free = nullptr;
};

} // namespace

/// Four channels, the last one opacity: without it the library would mix the
/// colours with those behind them.
static Result<Pixels> decodePng(std::span<const uint8_t> Data) {
  static const PngLibrary Library;
  if (!Library.isThere())
    return Error(ErrorCode::Unavailable,
                 "PNG needs libpng16.so.16 (Debian's libpng16-16): " +
                     Library.Found.Why);
  png_image Image = {};
  Image.version = PNG_IMAGE_VERSION;
  std::unique_ptr<png_image, decltype(Library.Free)> Held(&Image, Library.Free);
  if (!Library.Begin(&Image, Data.data(), Data.size()))
    return invalid(std::string("libpng: ") + Image.message);
  REMAT_TRY(checkSize(Image.height, Image.width));
  Image.format = PNG_FORMAT_RGBA;
  // 16 bits a channel are as bright as 8 are, unless the file says otherwise.
  Image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  Pixels P{Image.height, Image.width, 4, {}};
  P.Bytes.resize(P.Height * P.Width * P.Channels);
  if (!Library.Finish(&Image, /*background=*/nullptr, P.Bytes.data(),
                      /*row_stride=*/0, /*colormap=*/nullptr))
    return invalid(std::string("libpng: ") + Image.message);
  return P;
}
#else
static Result<Pixels> decodePng(std::span<const uint8_t>) {
  return Error(ErrorCode::Unavailable,
               "this build reads no PNG; its headers are in libpng-dev");
}
#endif

//===----------------------------------------------------------------------===//
// JPEG
//===----------------------------------------------------------------------===//

#ifdef REMAT_JPEG
namespace {

struct JpegLibrary : PictureLibrary {
  JpegLibrary() : PictureLibrary("libturbojpeg.so.0") {
    find("tjInitDecompress", Create);
    find("tjDecompressHeader3", ReadHeader);
    find("tjDecompress2", Decompress);
    find("tjGetErrorStr2", GetError);
    find("tjGetErrorCode", GetCode);
    find("tjDestroy", Destroy);
  }
  bool isThere() const {
    return Create && ReadHeader && Decompress && GetError && GetCode && Destroy;
  }

  decltype(&tjInitDecompress) Create = nullptr;
  decltype(&tjDecompressHeader3) ReadHeader = nullptr;
  decltype(&tjDecompress2) Decompress = nullptr;
  decltype(&tjGetErrorStr2) GetError = nullptr;
  decltype(&tjGetErrorCode) GetCode = nullptr;
  decltype(&tjDestroy) Destroy = nullptr;
};

} // namespace

static Result<Pixels> decodeJpeg(std::span<const uint8_t> Data) {
  static const JpegLibrary Library;
  if (!Library.isThere())
    return Error(ErrorCode::Unavailable,
                 "JPEG needs libturbojpeg.so.0 (Debian's libturbojpeg0): " +
                     Library.Found.Why);
  std::unique_ptr<void, decltype(Library.Destroy)> Held(Library.Create(),
                                                        Library.Destroy);
  if (!Held)
    return Error(ErrorCode::OutOfMemory, "TurboJPEG does not start");
  auto Fail = [&] {
    return invalid(std::string("libjpeg-turbo: ") +
                   Library.GetError(Held.get()));
  };
  int Width = 0, Height = 0, Sampling = 0, Colours = 0;
  if (Library.ReadHeader(Held.get(), Data.data(), Data.size(), &Width, &Height,
                         &Sampling, &Colours) != 0)
    return Fail();
  REMAT_TRY(checkSize(std::max(Height, 0), std::max(Width, 0)));
  Pixels P{uint64_t(Height), uint64_t(Width), 3, {}};
  P.Bytes.resize(P.Height * P.Width * P.Channels);
  int Done = Library.Decompress(Held.get(), Data.data(), Data.size(),
                                P.Bytes.data(), Width, /*pitch=*/0, Height,
                                TJPF_RGB, TJFLAG_ACCURATEDCT);
  // A warning is of bytes that are not used; only where some lack, a part of
  // the picture is made up.
  if (Done != 0 && (Library.GetCode(Held.get()) != TJERR_WARNING ||
                    std::strstr(Library.GetError(Held.get()), "Premature end")))
    return Fail();
  return P;
}
#else
static Result<Pixels> decodeJpeg(std::span<const uint8_t>) {
  return Error(
      ErrorCode::Unavailable,
      "this build reads no JPEG; its headers are in libturbojpeg0-dev");
}
#endif

//===----------------------------------------------------------------------===//
// Either
//===----------------------------------------------------------------------===//

static Pixels convert(const Pixels &From, uint64_t Channels) {
  Pixels To{From.Height, From.Width, Channels, {}};
  uint64_t Count = From.Height * From.Width;
  To.Bytes.resize(Count * Channels);
  for (uint64_t I = 0; I < Count; ++I) {
    const uint8_t *Colour = &From.Bytes[I * From.Channels];
    if (Channels == 3)
      std::copy_n(Colour, 3, &To.Bytes[I * 3]);
    else
      To.Bytes[I] =
          static_cast<uint8_t>((19595u * Colour[0] + 38470u * Colour[1] +
                                7471u * Colour[2] + 0x8000u) >>
                               16);
  }
  return To;
}

static Result<Pixels> decode(std::span<const uint8_t> Data) {
  std::string_view Start(reinterpret_cast<const char *>(Data.data()),
                         std::min<size_t>(Data.size(), 4));
  if (Start == "\x89PNG")
    return decodePng(Data);
  if (Start.starts_with("\xff\xd8\xff"))
    return decodeJpeg(Data);
  return invalid("it is neither PNG nor JPEG");
}

Result<Pixels> remat::runtime::readImage(const std::string &Path,
                                         uint64_t Channels) {
  InputFile File;
  REMAT_TRY(toStatus(File.open(Path)));
  if (File.getSize() > MaxFileBytes)
    return invalid(Path + ": a picture of " + std::to_string(File.getSize()) +
                   " bytes; at most " + std::to_string(MaxFileBytes) +
                   " are read");
  std::vector<uint8_t> Data(File.getSize());
  REMAT_TRY(toStatus(File.read(0, Data.data(), Data.size())));
  Result<Pixels> Read = decode(Data);
  if (!Read)
    return Read.getError().within(Path);
  return Read->Channels == Channels ? std::move(*Read)
                                    : convert(*Read, Channels);
}

bool remat::runtime::isImageName(const std::string &Path) {
  std::string End = std::filesystem::path(Path).extension().string();
  std::transform(End.begin(), End.end(), End.begin(),
                 [](char C) { return C >= 'A' && C <= 'Z' ? C + 32 : C; });
  return End == ".png" || End == ".jpg" || End == ".jpeg";
}
