//===- RankSessions.h - sessions of several ranks ---------------*- C++ -*-===//

#ifndef REMAT_TEST_RUNTIME_COMM_RANKSESSIONS_H
#define REMAT_TEST_RUNTIME_COMM_RANKSESSIONS_H

#include "RankPrograms.h"
#include "remat/runtime/Parts.h"

namespace remat::runtime::test {

/// A tensor, cut along axes of a mesh of its own.
struct Sharded {
  Mesh Sizes;
  std::vector<int64_t> Whole;
  std::vector<Cut> Cuts;

  uint32_t countRanks() const {
    uint32_t Count = 1;
    for (uint32_t Size : Sizes)
      Count *= Size;
    return Count;
  }
  int64_t countElements() const {
    int64_t Count = 1;
    for (int64_t Size : Whole)
      Count *= Size;
    return Count;
  }
  std::vector<int64_t> getPartShape() const {
    std::vector<int64_t> Shape = Whole;
    for (const Cut &C : Cuts) {
      int64_t Count = 1, Ranks = 1;
      for (int64_t Size : Shape)
        Count *= Size;
      for (size_t I = 1; I < C.Group.size(); I += 2)
        Ranks *= C.Group[I];
      if (C.Dim == -1)
        Shape = {(Count + Ranks - 1) / Ranks};
      else
        Shape[C.Dim] /= Ranks;
    }
    return Shape;
  }
};

/// Up to three axes, each of which may cut: along a dimension, whose size is
/// then a multiple, in up to three blocks, or all of it, flat.
Sharded makeSharded(unsigned Seed);

/// The parts of 0, 1, 2, ..., cut one cut after the other by copying; -1 is
/// padding.
std::vector<int64_t> cutByCopies(const Sharded &S, uint32_t Rank);

/// A program with the parameter "w", drawn at random, of which each rank has
/// its part, and the input "x"; the step copies the input.
std::vector<uint8_t> makeProgram(const Sharded *S,
                                 const std::vector<int64_t> &Whole,
                                 const std::vector<int64_t> &Input,
                                 bool InHalves = false);

struct OneRank {
  std::unique_ptr<Device> TheDevice;
  std::unique_ptr<Session> TheSession;

  OneRank(const std::vector<uint8_t> &Program,
          std::shared_ptr<Ranks> Others = nullptr) {
    DeviceOptions Options;
    Options.Threads = 1;
    Options.TheRanks = std::move(Others);
    TheDevice = std::move(*createDevice("host", Options));
    auto Made = Session::create(Program, *TheDevice);
    EXPECT_EQ(messageOf(Made), "");
    TheSession = std::move(*Made);
    EXPECT_EQ(messageOf(TheSession->initialise(7)), "");
  }
  std::vector<float> read(const char *Name) {
    const Program &P = TheSession->getProgram();
    uint64_t Bytes = P.Tensors[P.Arguments[*P.findArgument(Name)].Tensor].Bytes;
    std::vector<float> Data(Bytes / sizeof(float));
    EXPECT_EQ(messageOf(TheSession->readArgument(Name, Data.data(), Bytes)),
              "");
    return Data;
  }
};

/// Calls F on all ranks, each with its session.
void onRanks(const Sharded &S, const std::function<void(OneRank &)> &F);

} // namespace remat::runtime::test

#endif // REMAT_TEST_RUNTIME_COMM_RANKSESSIONS_H
