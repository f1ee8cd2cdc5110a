//===- PrintProgramTest.cpp - programs as text ----------------------------===//

#include "remat/Target/Program.h"
#include "remat/program/Program_generated.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace remat;
namespace fb = flatbuffers;

namespace {

/// The format's check lets a vector of 8-byte numbers begin at any multiple of
/// four: that is where its size is aligned. Here one of four numbers is written
/// as eight halves; of two programs, one with four bytes more behind it, one
/// has them where no 8-byte number may be read.
std::vector<uint8_t> makeProgram(bool Shift, bool &Misaligned) {
  fb::FlatBufferBuilder Builder;
  fb::Offset<fb::String> Device = Builder.CreateString("host");
  if (Shift)
    Builder.PushElement<uint32_t>(0);
  Builder.StartVector(8, sizeof(uint32_t));
  for (uint32_t Number = 4; Number >= 1; --Number) {
    Builder.PushElement<uint32_t>(0);
    Builder.PushElement<uint32_t>(Number);
  }
  fb::Offset<fb::Vector<int64_t>> Shape(Builder.EndVector(4));
  auto Tensor = program::CreateTensor(Builder, program::DType::F32, Shape);
  auto Tensors = Builder.CreateVector(&Tensor, 1);
  program::ProgramBuilder Root(Builder);
  Root.add_arena_bytes(1); // aligns the whole buffer to eight
  Root.add_device(Device);
  Root.add_tensors(Tensors);
  program::FinishProgramBuffer(Builder, Root.Finish());
  const uint8_t *Begin = Builder.GetBufferPointer();
  auto *Read = program::GetProgram(Begin)->tensors()->Get(0)->shape();
  Misaligned = (Read->Data() - Begin) % 8 != 0;
  return {Begin, Begin + Builder.GetSize()};
}

TEST(PrintProgram, NumbersAtAnyAddress) {
  unsigned NumMisaligned = 0;
  for (bool Shift : {false, true}) {
    bool Misaligned = false;
    std::vector<uint8_t> Bytes = makeProgram(Shift, Misaligned);
    NumMisaligned += Misaligned;
    std::string Text, Error;
    llvm::raw_string_ostream OS(Text);
    ASSERT_TRUE(printProgram(Bytes, OS, Error)) << Error;
    EXPECT_NE(Text.find("tensor %0 f32[1x2x3x4]"), std::string::npos) << Text;
  }
  EXPECT_EQ(NumMisaligned, 1u);
}

} // namespace
