//===- TestProgram.h - programs made by hand --------------------*- C++ -*-===//
//
// Builds the bytes of programs for tests, and runs single ops on a device.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_RUNTIME_TESTPROGRAM_H
#define REMAT_TEST_RUNTIME_TESTPROGRAM_H

#include "remat/program/Program_generated.h"
#include "remat/runtime/Device.h"
#include "remat/runtime/Session.h"
#include <gtest/gtest.h>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace remat::runtime::test {

/// A tensor's type and, for an operand, its elements.
struct Array {
  DType Type = DType::F32;
  std::vector<int64_t> Shape;
  std::vector<double> Data;
  bool InHalves = false;

  uint64_t getNumElements() const;
  std::vector<uint8_t> encode() const;
  void decode(const std::vector<uint8_t> &Bytes);
};

Array f32(std::vector<int64_t> Shape, std::vector<double> Data = {});
/// An f32 that lies in halves.
Array halves(std::vector<int64_t> Shape, std::vector<double> Data = {});
Array bf16(std::vector<int64_t> Shape, std::vector<double> Data = {});
Array f16(std::vector<int64_t> Shape, std::vector<double> Data = {});
Array i32(std::vector<int64_t> Shape, std::vector<double> Data = {});
Array i64(std::vector<int64_t> Shape, std::vector<double> Data = {});
Array i1(std::vector<int64_t> Shape, std::vector<double> Data = {});
/// Numbers that differ, in [-2, 2), made from `Seed`.
Array randomArray(DType Type, std::vector<int64_t> Shape, unsigned Seed);

/// A named attribute.
struct Attr {
  std::string Name;
  std::vector<int64_t> Ints;
  std::vector<double> Floats;
  std::string Text;
};
using Attrs = std::vector<Attr>;
Attr flag(std::string Name);
Attr ints(std::string Name, std::vector<int64_t> Ints);
Attr number(std::string Name, double Float);
Attr text(std::string Name, std::string Text);

/// An op of a kernel group.
struct Inner {
  std::string Op;
  std::vector<uint32_t> Operands;
  Array Type;
  Attrs Attributes = {};
};

/// A program under construction. Tensors are laid out one behind the other
/// unless an offset is given.
class ProgramMaker {
public:
  program::ProgramT Program;

  ProgramMaker() { Program.device = "host"; }

  uint32_t tensor(const Array &Type, int64_t Offset = -1);
  uint32_t argument(const std::string &Name, const Array &Type,
                    program::Role Role = program::Role::Input,
                    int32_t Donated = -1);
  void result(const std::string &Name, uint32_t Tensor,
              program::Role Role = program::Role::Output);
  program::StepT &step(const std::string &Op, std::vector<uint32_t> Operands,
                       std::vector<uint32_t> Results, const Attrs &List = {});
  program::StepT &kernel(std::vector<uint32_t> Operands,
                         std::vector<uint32_t> Results,
                         const std::vector<Inner> &Body,
                         std::vector<uint32_t> Yields);
  std::vector<uint8_t> finish() const;
};

/// The offset of tensor `Tensor`.
uint64_t offsetOf(const ProgramMaker &P, uint32_t Tensor);

/// How an op is run.
struct RunSetup {
  std::string Device = "host";
  unsigned Threads = 2;
  /// Result number that lies over operand number, or none.
  std::optional<std::pair<unsigned, unsigned>> InPlace;
};

inline RunSetup over(unsigned Result, unsigned Operand) {
  RunSetup Setup;
  Setup.InPlace = {Result, Operand};
  return Setup;
}

/// Runs one op; a missing optional operand is nullopt. Fails the test, and
/// gives nothing, if it does not run.
std::vector<Array> runOp(const std::string &Op,
                         const std::vector<std::optional<Array>> &Operands,
                         std::vector<Array> Results, const Attrs &List = {},
                         const RunSetup &Setup = {});
/// The same for a kernel group.
std::vector<Array> runKernel(const std::vector<Array> &Operands,
                             std::vector<Array> Results,
                             const std::vector<Inner> &Body,
                             const std::vector<uint32_t> &Yields,
                             const RunSetup &Setup = {});
/// The error that a program with this one op loads with; "" if it loads.
std::string checkOp(const std::string &Op,
                    const std::vector<std::optional<Array>> &Operands,
                    const std::vector<Array> &Results, const Attrs &List = {},
                    const RunSetup &Setup = {});

/// The message of a failed result; "" on success.
template <typename T> std::string messageOf(const Result<T> &R) {
  return R ? std::string() : R.getError().getMessage();
}

/// Compares all elements to within `Tolerance` relative to max(1, |expected|).
void expectNear(const Array &Actual, const std::vector<double> &Expected,
                double Tolerance = 1e-6);

} // namespace remat::runtime::test

#endif // REMAT_TEST_RUNTIME_TESTPROGRAM_H
