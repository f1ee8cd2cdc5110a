//===- PointwiseIndex.cpp - where a broadcast operand's element is --------===//

#include "PointwiseIndex.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace remat::cuda;

BroadcastIndex::BroadcastIndex(llvm::ArrayRef<int64_t> From,
                               llvm::ArrayRef<int64_t> To) {
  // Blocks of neighbouring dimensions, innermost first, which the operand has
  // or repeats; dimensions of size 1 belong to any block.
  struct Block {
    int64_t Size;
    bool Repeats;
  };
  llvm::SmallVector<Block, 4> Blocks;
  for (size_t Back = 1; Back <= To.size(); ++Back) {
    int64_t Size = To[To.size() - Back];
    if (Size == 1)
      continue;
    bool Repeats = Back > From.size() || From[From.size() - Back] == 1;
    if (!Blocks.empty() && Blocks.back().Repeats == Repeats)
      Blocks.back().Size *= Size;
    else
      Blocks.push_back({Size, Repeats});
  }
  Full = llvm::all_of(Blocks, [](const Block &B) { return !B.Repeats; });
  if (Full)
    return;
  Run = Blocks.front().Size;
  Contiguous = !Blocks.front().Repeats;
  int64_t Divide = 1, Scale = 1;
  for (auto [Number, B] : llvm::enumerate(Blocks)) {
    bool IsOutermost = Number + 1 == Blocks.size();
    if (!B.Repeats) {
      Terms.insert(Terms.begin(), {Divide, IsOutermost ? 0 : B.Size, Scale});
      Scale *= B.Size;
    }
    Divide *= B.Size;
  }
}

std::string BroadcastIndex::print(llvm::StringRef Index,
                                  llvm::StringRef Suffix) const {
  if (Full)
    return Index.str();
  auto Literal = [&](int64_t Number) {
    return std::to_string(Number) + Suffix.str();
  };
  std::string Text;
  for (const Term &T : Terms) {
    if (!Text.empty())
      Text += " + ";
    Text += Index;
    if (T.Divide != 1)
      Text += " / " + Literal(T.Divide);
    if (T.Modulo != 0)
      Text += " % " + Literal(T.Modulo);
    if (T.Scale != 1)
      Text += " * " + Literal(T.Scale);
  }
  return Text.empty() ? "0" : Text;
}

RollIndex::RollIndex(llvm::ArrayRef<int64_t> Shape, int64_t Dim,
                     int64_t Shift) {
  for (int64_t Size : Shape.drop_front(Dim + 1))
    Period *= Size;
  Moved = Shift * Period;
  Period *= Shape[Dim];
}

int64_t RollIndex::getRun() const { return std::gcd(Period, Moved); }

std::string RollIndex::print(llvm::StringRef Index,
                             llvm::StringRef Suffix) const {
  auto Literal = [&](int64_t Number) {
    return std::to_string(Number) + Suffix.str();
  };
  if (Moved == 0)
    return Index.str();
  return (Index + " % " + Literal(Period) + " < " + Literal(Moved) + " ? " +
          Index + " + " + Literal(Period - Moved) + " : " + Index + " - " +
          Literal(Moved))
      .str();
}
