//===- Metrics.cpp - the numbers of each step -----------------------------===//

#include "Metrics.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cerrno>
#include <chrono>
#include <cmath>
#include <unistd.h>

using namespace remat;
using namespace remat::run;
using namespace remat::runtime;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// What a step gave
//===----------------------------------------------------------------------===//

std::optional<float> StepNumbers::find(llvm::StringRef Name) const {
  for (const auto &[Its, Value] : Metrics)
    if (Its == Name)
      return Value;
  return std::nullopt;
}

/// What the optimizer reports are outputs, numbers that its operations write.
static bool isMetric(const Program &P, const ProgramResult &R) {
  const Tensor &T = P.Tensors[R.Tensor];
  return R.Role == Role::Output && T.Type == DType::F32 && T.Shape.empty() &&
         T.FirstStep >= 0 && P.Steps[T.FirstStep].Phase == "optimizer";
}

Result<StepNumbers> run::readNumbers(Session &S) {
  StepNumbers Numbers;
  for (const ProgramResult &R : S.getProgram().Results) {
    bool IsLoss = R.Role == Role::Loss && !Numbers.Loss;
    if (!IsLoss && !isMetric(S.getProgram(), R))
      continue;
    float Value = 0;
    if (Status Read = S.readResult(R.Name, &Value, sizeof Value); !Read)
      return Read.getError();
    if (IsLoss)
      Numbers.Loss = Value;
    else
      Numbers.Metrics.push_back({R.Name, Value});
  }
  return Numbers;
}

std::pair<uint64_t, const char *> run::countPerStep(const Program &P) {
  uint64_t Samples = 0, Shares = getDataShare(P, 0).Count;
  bool Agree = true;
  for (const Argument &A : P.Arguments) {
    const Tensor &Shape = P.Tensors[A.Tensor];
    if (A.Data == "tokens")
      return {Shape.NumElements * Shares, "tokens"};
    if (A.Role != Role::Input)
      continue;
    uint64_t First = Shape.Shape.empty() ? 0 : Shape.Shape.front();
    Agree &= First > 0 && (!Samples || First == Samples);
    Samples = First;
  }
  return {Agree ? Samples * Shares : 0, "samples"};
}

//===----------------------------------------------------------------------===//
// The device's peak
//===----------------------------------------------------------------------===//

/// Dense products a second by the vendor's data sheets, without sparsity and
/// without TF32, which the project does not use.
struct Peak {
  llvm::StringLiteral Device;
  double Half, Single;
};
static constexpr Peak Peaks[] = {{"H200", 989.4e12, 66.9e12},
                                 {"H100", 989.4e12, 66.9e12},
                                 {"A100", 312e12, 19.5e12}};

/// Operations that are computed again are no part of the model's work.
static double getIdealMs(const Program &P, const Device &D) {
  std::string Name = D.getDescription();
  for (const Peak &Known : Peaks) {
    if (!llvm::StringRef(Name).contains(Known.Device))
      continue;
    double Seconds = 0;
    for (const Step &S : P.Steps) {
      if (S.Recomputes >= 0)
        continue;
      DType First = DType::F32;
      if (!S.Operands.empty() && S.Operands.front() != NoTensor)
        First = P.Tensors[S.Operands.front()].Type;
      bool IsHalf = First == DType::BF16 || First == DType::F16;
      Seconds += S.Flops / (IsHalf ? Known.Half : Known.Single);
    }
    return Seconds * 1000;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// How much of the text are whole lines of steps up to `Step`.
static size_t findEnd(llvm::StringRef Text, int64_t Step) {
  size_t End = 0;
  while (true) {
    size_t Next = Text.find('\n', End);
    if (Next == llvm::StringRef::npos)
      return End;
    llvm::Expected<json::Value> Line = json::parse(Text.slice(End, Next));
    if (!Line) {
      llvm::consumeError(Line.takeError());
      return End;
    }
    const json::Object *Object = Line->getAsObject();
    std::optional<int64_t> Of =
        Object ? Object->getInteger("step") : std::nullopt;
    if (!Of || *Of > Step)
      return End;
    End = Next + 1;
  }
}

Result<MetricsFile> MetricsFile::open(Session &S, const Device &D,
                                      const ToolOptions &O,
                                      uint64_t FirstStep) {
  MetricsFile M;
  if (O.Metrics.empty())
    return M;
  M.Path = O.Metrics;
  M.Step = static_cast<int64_t>(FirstStep);
  std::tie(M.PerStep, M.Unit) = countPerStep(S.getProgram());
  M.IdealMs = getIdealMs(S.getProgram(), D);
  auto Fail = [&] {
    return Error(ErrorCode::IO, "cannot write '" + M.Path +
                                    "': " + llvm::sys::StrError(errno));
  };
  M.File.reset(std::fopen(M.Path.c_str(), "ab"));
  if (!M.File)
    return Fail();
  // What is no regular file, such as a pipe, holds nothing from before.
  llvm::sys::fs::file_status Kind;
  if (llvm::sys::fs::status(M.Path, Kind) ||
      Kind.type() != llvm::sys::fs::file_type::regular_file)
    return M;
  auto Old = llvm::MemoryBuffer::getFile(M.Path, /*IsText=*/false,
                                         /*RequiresNullTerminator=*/false);
  if (!Old)
    return Error(ErrorCode::IO,
                 "cannot read '" + M.Path + "': " + Old.getError().message());
  size_t End = findEnd((*Old)->getBuffer(), M.Step);
  if (End != (*Old)->getBufferSize() &&
      ::ftruncate(::fileno(M.File.get()), static_cast<off_t>(End)) != 0)
    return Fail();
  return M;
}

json::Value run::describeNumber(double Number) {
  return std::isfinite(Number) ? json::Value(Number) : json::Value(nullptr);
}

/// The rate that the step took, where it has one.
static std::optional<float> readRate(Session &S, const StepNumbers &Numbers) {
  if (std::optional<float> Scheduled = Numbers.find("rate"))
    return Scheduled;
  for (const Argument &A : S.getProgram().Arguments) {
    float Rate = 0;
    if (A.Role == Role::LearningRate &&
        S.readArgument(A.Name, &Rate, sizeof Rate))
      return Rate;
  }
  return std::nullopt;
}

void MetricsFile::add(Session &S, const StepNumbers &Numbers) {
  ++Step;
  if (!File || Failed)
    return;
  SessionStatistics Statistics = S.getStatistics();
  double Ms = Statistics.LastStepMs;
  std::chrono::duration<double> Now =
      std::chrono::system_clock::now().time_since_epoch();
  json::Object Line{{"step", Step}, {"time", Now.count()}, {"ms", Ms}};
  if (Numbers.Loss)
    Line["loss"] = describeNumber(*Numbers.Loss);
  for (const auto &[Name, Value] : Numbers.Metrics)
    if (Name != "rate")
      Line[json::fixUTF8(Name == "scale" ? "loss_scale" : Name)] =
          describeNumber(Value);
  if (std::optional<float> Rate = readRate(S, Numbers))
    Line["learning_rate"] = describeNumber(*Rate);
  if (PerStep && Ms > 0)
    Line[Unit + "_per_second"] = PerStep / Ms * 1000;
  if (IdealMs > 0 && Ms > 0)
    Line["mfu"] = IdealMs / Ms;
  Line["peak_bytes"] = Statistics.MeasuredPeakBytes;
  std::string Text = llvm::formatv("{0}\n", json::Value(std::move(Line)));
  // Into the file at once: whoever watches it sees whole lines.
  if (std::fwrite(Text.data(), 1, Text.size(), File.get()) != Text.size() ||
      std::fflush(File.get()) != 0)
    Failed = "step " + std::to_string(Step) + " is missing in '" + Path +
             "': " + llvm::sys::StrError(errno);
}

Status MetricsFile::finish() const {
  if (Failed)
    return Error(ErrorCode::IO, *Failed);
  return {};
}
