//===- TestProgram.cpp - programs made by hand ----------------------------===//

#include "TestProgram.h"
#include "ops/Numeric.h"
#include <random>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

uint64_t Array::getNumElements() const {
  uint64_t Count = 1;
  for (int64_t Dim : Shape)
    Count *= Dim;
  return Count;
}

std::vector<uint8_t> Array::encode() const {
  uint64_t Width = getByteWidth(Type);
  std::vector<uint8_t> Bytes(getNumElements() * Width);
  auto *Out = reinterpret_cast<char *>(Bytes.data());
  for (size_t I = 0; I < Data.size(); ++I) {
    if (holdsFloats(Type)) {
      auto X = static_cast<float>(Data[I]);
      storeFloats(Type, Out, I, 1, &X);
      continue;
    }
    // Little-endian: the low bytes come first.
    auto Integer = static_cast<int64_t>(Data[I]);
    std::memcpy(Out + I * Width, &Integer, Width);
  }
  return Bytes;
}

void Array::decode(const std::vector<uint8_t> &Bytes) {
  auto *In = reinterpret_cast<const char *>(Bytes.data());
  Data.resize(getNumElements());
  for (size_t I = 0; I < Data.size(); ++I)
    Data[I] = holdsFloats(Type)   ? loadFloat(Type, In, I)
              : Type == DType::I1 ? In[I]
                                  : double(loadInteger(Type, In, I));
}

#define REMAT_ARRAY(Name, TYPE)                                                \
  Array test::Name(std::vector<int64_t> Shape, std::vector<double> Data) {     \
    return {DType::TYPE, std::move(Shape), std::move(Data)};                   \
  }
REMAT_ARRAY(f32, F32)
REMAT_ARRAY(bf16, BF16)
REMAT_ARRAY(f16, F16)
REMAT_ARRAY(i32, I32)
REMAT_ARRAY(i64, I64)
REMAT_ARRAY(i1, I1)

Array test::halves(std::vector<int64_t> Shape, std::vector<double> Data) {
  Array A = f32(std::move(Shape), std::move(Data));
  A.InHalves = true;
  return A;
}

Array test::randomArray(DType Type, std::vector<int64_t> Shape, unsigned Seed) {
  Array A = {Type, std::move(Shape), {}};
  std::mt19937 Generator(Seed);
  std::uniform_real_distribution<double> Draw(-2, 2);
  for (uint64_t I = 0; I < A.getNumElements(); ++I)
    A.Data.push_back(Draw(Generator));
  A.decode(A.encode()); // what the type can hold
  return A;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Attr test::flag(std::string Name) { return {std::move(Name), {1}, {}, ""}; }
Attr test::ints(std::string Name, std::vector<int64_t> Ints) {
  return {std::move(Name), std::move(Ints), {}, ""};
}
Attr test::number(std::string Name, double Float) {
  return {std::move(Name), {}, {Float}, ""};
}
Attr test::text(std::string Name, std::string Text) {
  return {std::move(Name), {}, {}, std::move(Text)};
}

static std::vector<std::unique_ptr<program::AttributeT>>
convert(const Attrs &List) {
  std::vector<std::unique_ptr<program::AttributeT>> Out;
  for (const Attr &A : List) {
    Out.push_back(std::make_unique<program::AttributeT>());
    Out.back()->name = A.Name;
    Out.back()->ints = A.Ints;
    Out.back()->floats = A.Floats;
    Out.back()->text = A.Text;
  }
  return Out;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

uint32_t ProgramMaker::tensor(const Array &Type, int64_t Offset) {
  auto T = std::make_unique<program::TensorT>();
  T->dtype = static_cast<program::DType>(Type.Type);
  T->shape = Type.Shape;
  uint64_t Bytes = Type.getNumElements() * getByteWidth(Type.Type);
  T->offset = Offset >= 0 ? Offset : (Program.arena_bytes + 255) / 256 * 256;
  Program.arena_bytes = std::max(Program.arena_bytes, T->offset + Bytes);
  T->in_halves = Type.InHalves;
  T->name = "t" + std::to_string(Program.tensors.size());
  Program.tensors.push_back(std::move(T));
  return static_cast<uint32_t>(Program.tensors.size() - 1);
}

uint32_t ProgramMaker::argument(const std::string &Name, const Array &Type,
                                program::Role Role, int32_t Donated) {
  auto A = std::make_unique<program::ArgumentT>();
  A->name = Name;
  A->role = Role;
  A->tensor = tensor(Type);
  A->donated_result = Donated;
  Program.arguments.push_back(std::move(A));
  return Program.arguments.back()->tensor;
}

void ProgramMaker::result(const std::string &Name, uint32_t Tensor,
                          program::Role Role) {
  auto R = std::make_unique<program::ResultT>();
  R->name = Name;
  R->role = Role;
  R->tensor = Tensor;
  Program.results.push_back(std::move(R));
}

program::StepT &ProgramMaker::step(const std::string &Op,
                                   std::vector<uint32_t> Operands,
                                   std::vector<uint32_t> Results,
                                   const Attrs &List) {
  auto S = std::make_unique<program::StepT>();
  S->op = Op;
  S->operands = std::move(Operands);
  S->results = std::move(Results);
  S->attributes = convert(List);
  Program.steps.push_back(std::move(S));
  return *Program.steps.back();
}

program::StepT &ProgramMaker::kernel(std::vector<uint32_t> Operands,
                                     std::vector<uint32_t> Results,
                                     const std::vector<Inner> &Body,
                                     std::vector<uint32_t> Yields) {
  program::StepT &S = step("kernel", std::move(Operands), std::move(Results));
  for (const Inner &I : Body) {
    auto B = std::make_unique<program::BodyOpT>();
    B->name = I.Op;
    B->operands = I.Operands;
    B->attributes = convert(I.Attributes);
    B->dtype = static_cast<program::DType>(I.Type.Type);
    B->shape = I.Type.Shape;
    S.body.push_back(std::move(B));
  }
  S.yields = std::move(Yields);
  return S;
}

std::vector<uint8_t> ProgramMaker::finish() const {
  flatbuffers::FlatBufferBuilder Builder;
  program::FinishProgramBuffer(Builder,
                               program::Program::Pack(Builder, &Program));
  return {Builder.GetBufferPointer(),
          Builder.GetBufferPointer() + Builder.GetSize()};
}

uint64_t test::offsetOf(const ProgramMaker &P, uint32_t Tensor) {
  return P.Program.tensors[Tensor]->offset;
}

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

namespace {
/// A program of one op: arguments "0", "1", ...; results "r0", "r1", ...
struct OneOp {
  ProgramMaker Maker;
  std::vector<uint32_t> Operands, Results;

  OneOp(const std::vector<std::optional<Array>> &Inputs,
        const std::vector<Array> &Outputs, const RunSetup &Setup) {
    for (size_t I = 0; I < Inputs.size(); ++I)
      Operands.push_back(
          Inputs[I] ? Maker.argument(std::to_string(I), *Inputs[I]) : NoTensor);
    for (size_t I = 0; I < Outputs.size(); ++I) {
      bool Over = Setup.InPlace && Setup.InPlace->first == I;
      int64_t Offset =
          Over ? int64_t(offsetOf(Maker, Operands[Setup.InPlace->second])) : -1;
      Results.push_back(Maker.tensor(Outputs[I], Offset));
      Maker.result("r" + std::to_string(I), Results.back());
    }
  }
};
} // namespace

static std::vector<Array> run(const ProgramMaker &Maker,
                              const std::vector<std::optional<Array>> &Operands,
                              std::vector<Array> Results,
                              const RunSetup &Setup) {
  DeviceOptions Options;
  Options.Threads = Setup.Threads;
  auto Device = createDevice(Setup.Device, Options);
  if (!Device) {
    ADD_FAILURE() << messageOf(Device);
    return {};
  }
  SessionOptions WithPoison;
  WithPoison.Poison = true;
  auto S = Session::create(Maker.finish(), **Device, WithPoison);
  if (!S) {
    ADD_FAILURE() << messageOf(S);
    return {};
  }
  for (size_t I = 0; I < Operands.size(); ++I)
    if (Operands[I]) {
      std::vector<uint8_t> Bytes = Operands[I]->encode();
      EXPECT_EQ(messageOf((*S)->writeArgument(std::to_string(I), Bytes.data(),
                                              Bytes.size())),
                "");
    }
  if (Status Ran = (*S)->runStep(); !Ran) {
    ADD_FAILURE() << messageOf(Ran);
    return {};
  }
  for (size_t I = 0; I < Results.size(); ++I) {
    std::vector<uint8_t> Bytes(Results[I].getNumElements() *
                               getByteWidth(Results[I].Type));
    EXPECT_EQ(messageOf((*S)->readResult("r" + std::to_string(I), Bytes.data(),
                                         Bytes.size())),
              "");
    Results[I].decode(Bytes);
  }
  return Results;
}

std::vector<Array> test::runOp(
    const std::string &Op, const std::vector<std::optional<Array>> &Operands,
    std::vector<Array> Results, const Attrs &List, const RunSetup &Setup) {
  OneOp One(Operands, Results, Setup);
  One.Maker.step(Op, One.Operands, One.Results, List);
  return run(One.Maker, Operands, std::move(Results), Setup);
}

std::vector<Array> test::runKernel(const std::vector<Array> &Operands,
                                   std::vector<Array> Results,
                                   const std::vector<Inner> &Body,
                                   const std::vector<uint32_t> &Yields,
                                   const RunSetup &Setup) {
  std::vector<std::optional<Array>> Inputs(Operands.begin(), Operands.end());
  OneOp One(Inputs, Results, Setup);
  One.Maker.kernel(One.Operands, One.Results, Body, Yields);
  return run(One.Maker, Inputs, std::move(Results), Setup);
}

std::string test::checkOp(const std::string &Op,
                          const std::vector<std::optional<Array>> &Operands,
                          const std::vector<Array> &Results, const Attrs &List,
                          const RunSetup &Setup) {
  OneOp One(Operands, Results, Setup);
  One.Maker.step(Op, One.Operands, One.Results, List);
  return messageOf(Program::load(One.Maker.finish()));
}

void test::expectNear(const Array &Actual, const std::vector<double> &Expected,
                      double Tolerance) {
  ASSERT_EQ(Actual.Data.size(), Expected.size());
  for (size_t I = 0; I < Expected.size(); ++I) {
    if (std::isnan(Expected[I])) {
      EXPECT_TRUE(std::isnan(Actual.Data[I])) << "element " << I;
      continue;
    }
    if (std::isinf(Expected[I])) {
      EXPECT_EQ(Actual.Data[I], Expected[I]) << "element " << I;
      continue;
    }
    EXPECT_NEAR(Actual.Data[I], Expected[I],
                Tolerance * std::max(1.0, std::fabs(Expected[I])))
        << "element " << I;
  }
}
