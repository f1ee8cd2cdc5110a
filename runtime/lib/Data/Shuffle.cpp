//===- Shuffle.cpp - seeded orders of records -----------------------------===//

#include "lib/Data/Shuffle.h"
#include "remat/runtime/Philox.h"
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

using namespace remat::runtime;

static std::vector<uint64_t> shuffle(uint64_t Count,
                                     const PhiloxStream &Stream) {
  std::vector<uint64_t> Order(Count);
  std::iota(Order.begin(), Order.end(), 0);
  for (uint64_t I = Count - 1; I > 0; --I) {
    auto Words = Stream.getBlock(I);
    uint64_t Draw = uint64_t(Words[0]) << 32 | Words[1];
    std::swap(Order[I], Order[Draw % (I + 1)]);
  }
  return Order;
}

std::shared_ptr<const Shuffle::List> Shuffle::getList(uint64_t Epoch) const {
  std::lock_guard Held(Lock);
  Known &Slot = Lists[Epoch % Lists.size()];
  if (!Slot.Order || Slot.Epoch != Epoch) {
    Slot.Order.reset();
    Slot.Order = std::make_shared<const List>(
        shuffle(Count, PhiloxStream(Seed, Id, Epoch)));
    Slot.Epoch = Epoch;
  }
  return Slot.Order;
}

uint64_t Shuffle::permute(uint64_t Epoch, uint64_t Position) const {
  constexpr int Rounds = 6; // even, so that the parts have their sizes again
  PhiloxStream Stream(Seed, Id, Epoch);
  int Bits = std::bit_width(Count - 1), RightBits = Bits / 2;
  do {
    uint64_t RightMask = (uint64_t(1) << RightBits) - 1;
    uint64_t LeftMask = (uint64_t(1) << (Bits - RightBits)) - 1;
    uint64_t Left = Position >> RightBits, Right = Position & RightMask;
    for (uint64_t Round = 1; Round <= Rounds; ++Round) {
      auto Words = Stream.getBlock(Round << 32 | Right);
      Left = std::exchange(Right, (Left ^ Words[0]) & LeftMask);
      std::swap(LeftMask, RightMask);
    }
    Position = Left << RightBits | Right;
  } while (Position >= Count);
  return Position;
}

void Shuffle::get(uint64_t Epoch, uint64_t First,
                  std::span<uint64_t> Numbers) const {
  if (Count <= MaxListed) {
    std::shared_ptr<const List> Order = getList(Epoch);
    std::copy_n(Order->begin() + static_cast<ptrdiff_t>(First), Numbers.size(),
                Numbers.begin());
    return;
  }
  for (size_t I = 0; I < Numbers.size(); ++I)
    Numbers[I] = permute(Epoch, First + I);
}
