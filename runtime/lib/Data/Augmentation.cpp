//===- Augmentation.cpp - pictures changed by chance ----------------------===//

#include "lib/Data/Augmentation.h"
#include "ops/Op.h"
#include "remat/Support/Numbers.h"
#include <algorithm>
#include <cmath>

using namespace remat;
using namespace remat::runtime;

static constexpr uint64_t MaxSide = 1 << 14;

//===----------------------------------------------------------------------===//
// The text
//===----------------------------------------------------------------------===//

static std::vector<std::string_view> split(std::string_view Text, char Sign) {
  std::vector<std::string_view> Parts;
  for (size_t At = 0; At <= Text.size();) {
    size_t End = std::min(Text.find(Sign, At), Text.size());
    Parts.push_back(Text.substr(At, End - At));
    At = End + 1;
  }
  return Parts;
}

static std::optional<std::vector<float>> parseFloats(std::string_view Text,
                                                     bool Positive) {
  std::vector<float> Numbers;
  for (std::string_view One : split(Text, ':')) {
    std::optional<double> Number = parseReal(One, -1e6, 1e6);
    if (!Number || (Positive && *Number < 1e-6))
      return std::nullopt;
    Numbers.push_back(static_cast<float>(*Number));
  }
  return Numbers;
}

/// One "name=value"; whether it is understood.
static bool parsePart(std::string_view Name, std::string_view Value,
                      Augmentation &A) {
  auto Side = [](std::string_view Text, uint64_t Min) {
    return parseInteger<uint64_t>(Text, Min, MaxSide);
  };
  std::vector<std::string_view> Values = split(Value, ':');
  std::optional<uint64_t> First = Side(Values.front(), 1);
  A.Side = First.value_or(0);
  if (Name == "resize") {
    A.ShorterSide = First;
    return First && Values.size() == 1;
  }
  if (Name == "crop") {
    A.Of = Augmentation::Part::Random;
    std::optional<uint64_t> Padding =
        Values.size() == 1 ? 0 : Side(Values[1], 0);
    A.Padding = Padding.value_or(0);
    return First && Padding && Values.size() <= 2;
  }
  if (Name == "center") {
    A.Of = Augmentation::Part::Center;
    return First && Values.size() == 1;
  }
  if (Name == "resized-crop") {
    A.Of = Augmentation::Part::Resized;
    std::optional<double> Area =
        Values.size() == 1 ? 0.08 : parseReal(Values[1], 0.001, 1.001);
    A.LeastArea = std::min(Area.value_or(1), 1.0);
    return First && Area && Values.size() <= 2;
  }
  if (Name != "normalize")
    return false;
  std::vector<std::string_view> Halves = split(Value, '/');
  if (Halves.size() != 2)
    return false;
  auto Mean = parseFloats(Halves[0], /*Positive=*/false);
  auto Deviation = parseFloats(Halves[1], /*Positive=*/true);
  if (!Mean || !Deviation || Mean->size() != Deviation->size())
    return false;
  A.Mean = std::move(*Mean);
  A.Deviation = std::move(*Deviation);
  return true;
}

Result<Augmentation> Augmentation::parse(std::string_view Text) {
  Augmentation Made;
  if (Text.empty())
    return Made;
  for (std::string_view Part : split(Text, ',')) {
    size_t End = std::min(Part.find('='), Part.size());
    std::string_view Name = Part.substr(0, End);
    std::string_view Value = Part.substr(std::min(End + 1, Part.size()));
    Augmentation One;
    bool Good = Part == "flip" || parsePart(Name, Value, One);
    bool IsPart = One.Of != Augmentation::Part::Whole;
    bool Twice = (Part == "flip" && Made.Flip) ||
                 (One.ShorterSide && Made.ShorterSide) ||
                 (IsPart && Made.Of != Augmentation::Part::Whole) ||
                 (!One.Mean.empty() && !Made.Mean.empty());
    if (!Good || Twice)
      return Error(
          ErrorCode::InvalidArgument,
          "augmentation '" + std::string(Part) +
              (Good ? "' comes on top of another of its kind"
                    : "' is none of resize=N, crop=N:PADDING, center=N, "
                      "resized-crop=N:AREA, flip and normalize=MEAN/DEVIATION, "
                      "with numbers for each channel separated by ':'"));
    Made.Flip |= Part == "flip";
    if (One.ShorterSide)
      Made.ShorterSide = One.ShorterSide;
    if (IsPart) {
      Made.Of = One.Of;
      Made.Side = One.Side;
      Made.Padding = One.Padding;
      Made.LeastArea = One.LeastArea;
    }
    if (!One.Mean.empty()) {
      Made.Mean = std::move(One.Mean);
      Made.Deviation = std::move(One.Deviation);
    }
  }
  return Made;
}

Augmentation Augmentation::withoutChance() const {
  Augmentation Made = *this;
  Made.Flip = false;
  if (Of == Part::Resized && !ShorterSide)
    Made.ShorterSide = Side;
  if (Of != Part::Whole)
    Made.Of = Part::Center;
  return Made;
}

//===----------------------------------------------------------------------===//
// The size
//===----------------------------------------------------------------------===//

namespace {

/// A picture of floats, [Height, Width, Channels].
struct Picture {
  uint64_t Height = 0, Width = 0, Channels = 0;
  std::vector<float> Data;

  const float *at(uint64_t Row, uint64_t Column) const {
    return &Data[(Row * Width + Column) * Channels];
  }
};

/// Which pixels one new pixel is made of.
struct Taps {
  uint64_t First = 0;
  std::vector<float> Weights;
};

} // namespace

static uint64_t roundDown(double X) {
  return static_cast<uint64_t>(std::floor(X));
}

/// A triangle over each new pixel, as wide as two old or two new pixels,
/// whichever is more: as Pillow's bilinear filter.
static std::vector<Taps> makeTaps(uint64_t From, uint64_t To) {
  double Scale = static_cast<double>(From) / static_cast<double>(To);
  double Support = std::max(Scale, 1.0);
  std::vector<Taps> Made(To);
  for (uint64_t I = 0; I < To; ++I) {
    double Center = (static_cast<double>(I) + 0.5) * Scale;
    uint64_t First = roundDown(std::max(Center - Support + 0.5, 0.0));
    uint64_t End = std::min(roundDown(Center + Support + 0.5), From);
    std::vector<double> Weights;
    double Sum = 0;
    for (uint64_t J = First; J < End; ++J) {
      double Distance = (static_cast<double>(J) + 0.5 - Center) / Support;
      Weights.push_back(std::max(1 - std::abs(Distance), 0.0));
      Sum += Weights.back();
    }
    Made[I].First = First;
    for (double Weight : Weights)
      Made[I].Weights.push_back(static_cast<float>(Weight / Sum));
  }
  return Made;
}

static Picture resize(const Picture &From, uint64_t Height, uint64_t Width) {
  uint64_t C = From.Channels;
  Picture Wide{From.Height, Width, C,
               std::vector<float>(From.Height * Width * C)};
  std::vector<Taps> Columns = makeTaps(From.Width, Width);
  for (uint64_t Row = 0; Row < From.Height; ++Row)
    for (uint64_t Column = 0; Column < Width; ++Column) {
      float *To = &Wide.Data[(Row * Width + Column) * C];
      const Taps &T = Columns[Column];
      for (size_t J = 0; J < T.Weights.size(); ++J)
        for (uint64_t K = 0; K < C; ++K)
          To[K] += T.Weights[J] * From.at(Row, T.First + J)[K];
    }
  Picture Made{Height, Width, C, std::vector<float>(Height * Width * C)};
  std::vector<Taps> Rows = makeTaps(From.Height, Height);
  for (uint64_t Row = 0; Row < Height; ++Row) {
    float *To = &Made.Data[Row * Width * C];
    const Taps &T = Rows[Row];
    for (size_t J = 0; J < T.Weights.size(); ++J)
      for (uint64_t K = 0; K < Width * C; ++K)
        To[K] += T.Weights[J] * Wide.at(T.First + J, 0)[K];
  }
  return Made;
}

//===----------------------------------------------------------------------===//
// The part
//===----------------------------------------------------------------------===//

/// A number of [0, Bound).
static uint64_t draw(uint32_t Word, uint64_t Bound) {
  return uint64_t(Word) * Bound >> 32;
}

/// The part that begins at (Top, Left), which may lie outside: black there.
static Picture cut(const Picture &From, int64_t Top, int64_t Left,
                   uint64_t Height, uint64_t Width) {
  Picture Made{Height, Width, From.Channels,
               std::vector<float>(Height * Width * From.Channels)};
  for (uint64_t Row = 0; Row < Height; ++Row)
    for (uint64_t Column = 0; Column < Width; ++Column) {
      // What is negative wraps to what is far beyond the end.
      uint64_t Y = Row + static_cast<uint64_t>(Top);
      uint64_t X = Column + static_cast<uint64_t>(Left);
      if (Y < From.Height && X < From.Width)
        std::copy_n(From.at(Y, X), From.Channels,
                    &Made.Data[(Row * Width + Column) * From.Channels]);
    }
  return Made;
}

/// A part of random area and shape, brought to a square.
static Picture cutAndResize(const Picture &From, uint64_t Side,
                            double LeastArea, const Augmentation::Draws &D) {
  auto Uniform = [](uint32_t Word) { return double(Word) * 0x1p-32; };
  double Area = LeastArea + (1 - LeastArea) * Uniform(D.First[3]);
  Area *= static_cast<double>(From.Height * From.Width);
  double Ratio = 1 + Uniform(D.Second[0]) / 3; // to 4 : 3
  if (D.Second[1] & 1)
    Ratio = 1 / Ratio;
  auto Limit = [](double Size, uint64_t Max) {
    return std::clamp<uint64_t>(roundDown(Size + 0.5), 1, Max);
  };
  uint64_t Height = Limit(std::sqrt(Area / Ratio), From.Height);
  uint64_t Width = Limit(std::sqrt(Area * Ratio), From.Width);
  auto Top = static_cast<int64_t>(draw(D.First[0], From.Height - Height + 1));
  auto Left = static_cast<int64_t>(draw(D.First[1], From.Width - Width + 1));
  return resize(cut(From, Top, Left, Height, Width), Side, Side);
}

static Status takePart(const Augmentation &A, const Augmentation::Draws &D,
                       Picture &P) {
  if (A.Of == Augmentation::Part::Whole)
    return {};
  if (A.Of == Augmentation::Part::Resized) {
    P = cutAndResize(P, A.Side, A.LeastArea, D);
    return {};
  }
  uint64_t Height = P.Height + 2 * A.Padding, Width = P.Width + 2 * A.Padding;
  if (Height < A.Side || Width < A.Side)
    return Error(ErrorCode::InvalidData,
                 "a picture of " + std::to_string(P.Height) + " by " +
                     std::to_string(P.Width) + " has no part of " +
                     std::to_string(A.Side) + " by " + std::to_string(A.Side) +
                     "; resize=N makes it larger");
  uint64_t Top = (Height - A.Side) / 2, Left = (Width - A.Side) / 2;
  if (A.Of == Augmentation::Part::Random) {
    Top = draw(D.First[0], Height - A.Side + 1);
    Left = draw(D.First[1], Width - A.Side + 1);
  }
  auto Padding = static_cast<int64_t>(A.Padding);
  P = cut(P, static_cast<int64_t>(Top) - Padding,
          static_cast<int64_t>(Left) - Padding, A.Side, A.Side);
  return {};
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

static Status resizeShorter(uint64_t Side, Picture &P) {
  uint64_t Shorter = std::min(P.Height, P.Width);
  if (Shorter == Side)
    return {};
  uint64_t Height = P.Height * Side / Shorter, Width = P.Width * Side / Shorter;
  if (Height > MaxPixels / Width)
    return Error(ErrorCode::InvalidData,
                 "a picture of " + std::to_string(P.Height) + " by " +
                     std::to_string(P.Width) + " is too large with a side of " +
                     std::to_string(Side));
  P = resize(P, Height, Width);
  return {};
}

static void flip(Picture &P) {
  for (uint64_t Row = 0; Row < P.Height; ++Row)
    for (uint64_t Column = 0; Column < P.Width / 2; ++Column) {
      float *Line = &P.Data[Row * P.Width * P.Channels];
      std::swap_ranges(Line + Column * P.Channels,
                       Line + (Column + 1) * P.Channels,
                       Line + (P.Width - 1 - Column) * P.Channels);
    }
}

Status Augmentation::apply(const Pixels &From, const Draws &D, uint64_t Height,
                           uint64_t Width, std::vector<float> &To) const {
  Picture P{From.Height,
            From.Width,
            From.Channels,
            {From.Bytes.begin(), From.Bytes.end()}};
  if (ShorterSide)
    REMAT_TRY(resizeShorter(*ShorterSide, P));
  REMAT_TRY(takePart(*this, D, P));
  if (P.Height != Height || P.Width != Width)
    return Error(ErrorCode::InvalidData,
                 "a picture of " + std::to_string(P.Height) + " by " +
                     std::to_string(P.Width) + " is for an input of " +
                     std::to_string(Height) + " by " + std::to_string(Width) +
                     "; --augment resize=N, crop=N, center=N and "
                     "resized-crop=N change its size");
  if (Flip && D.First[2] & 1)
    flip(P);
  for (size_t I = 0; !Mean.empty() && I < P.Data.size(); ++I) {
    size_t Channel = Mean.size() == 1 ? 0 : I % P.Channels;
    P.Data[I] = (P.Data[I] / 255.0f - Mean[Channel]) / Deviation[Channel];
  }
  To = std::move(P.Data);
  return {};
}
