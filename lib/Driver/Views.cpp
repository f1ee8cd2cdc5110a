//===- Views.cpp - a compilation and run, to be looked at -----------------===//

#include "remat/Driver/Views.h"
#include <cmath>

using namespace remat;
using namespace remat::runtime;
namespace json = llvm::json;

const ProgramView *Views::getMain() const {
  if (Planned)
    return &*Planned;
  return Smallest ? &*Smallest : nullptr;
}

static ProgramView makeView(std::shared_ptr<const Program> P,
                            const std::vector<StepTime> &Times) {
  ProgramView View;
  View.Memory = makeTimeline(*P);
  // A failed emission leaves fewer.
  if (Times.size() == P->Steps.size())
    View.Times = Times;
  View.Program = std::move(P);
  return View;
}

static Result<std::optional<ProgramView>> load(const RecordedProgram &From) {
  if (From.Bytes.empty())
    return std::optional<ProgramView>();
  auto P = Program::load(From.Bytes);
  if (!P)
    return P.getError();
  return std::optional(makeView(std::move(*P), From.Times));
}

Result<Views> remat::makeViews(std::string Title, json::Object Report,
                               std::shared_ptr<const Program> P,
                               const CompileRecord *Record,
                               std::span<const double> MeasuredMs) {
  Views V;
  V.Title = std::move(Title);
  V.Report = std::move(Report);
  if (P) {
    V.Planned = makeView(std::move(P),
                         Record ? Record->Times : std::vector<StepTime>());
    if (MeasuredMs.size() == V.Planned->Program->Steps.size())
      V.Planned->MeasuredMs.assign(MeasuredMs.begin(), MeasuredMs.end());
  }
  if (!Record)
    return V;
  V.Frontier = Record->Frontier;
  Result<std::optional<ProgramView>> Unplanned = load(Record->Unplanned);
  if (!Unplanned)
    return Unplanned.getError().within("the program without recomputation");
  V.Unplanned = std::move(*Unplanned);
  Result<std::optional<ProgramView>> Smallest = load(Record->Smallest);
  if (!Smallest)
    return Smallest.getError().within("the smallest program found");
  V.Smallest = std::move(*Smallest);
  return V;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Whole nanoseconds: as exact as anybody measures, and short to write.
static int64_t getNanoseconds(double Microseconds) {
  return std::llround(Microseconds * 1000);
}

static json::Object describeStep(const ProgramView &V, size_t Number) {
  const Step &S = V.Program->Steps[Number];
  json::Object Out{{"op", S.Op}, {"phase", llvm::StringRef(S.getPhase())}};
  auto AddText = [&](const char *Key, llvm::StringRef Text) {
    if (!Text.empty())
      Out[Key] = json::fixUTF8(Text);
  };
  AddText("name", V.Program->getResultName(S).value_or(""));
  AddText("location", S.Location);
  json::Array Body;
  for (const BodyOp &Op : S.Body)
    Body.push_back(Op.Name);
  if (!Body.empty())
    Out["body"] = std::move(Body);
  if (S.Recomputes >= 0)
    Out["recomputes"] = S.Recomputes;
  if (S.Workspace.Bytes) {
    Out["workspace_offset"] = S.Workspace.Offset;
    Out["workspace_bytes"] = S.Workspace.Bytes;
  }
  Out["flops"] = S.Flops;
  if (!V.Times.empty()) {
    const StepTime &T = V.Times[Number];
    Out["traffic_bytes"] = T.Bytes;
    Out["predicted_ns"] = getNanoseconds(T.Microseconds);
    Out["arithmetic_ns"] = getNanoseconds(T.ArithmeticMicroseconds);
    Out["traffic_ns"] = getNanoseconds(T.TrafficMicroseconds);
  }
  if (!V.MeasuredMs.empty())
    Out["measured_ns"] = getNanoseconds(V.MeasuredMs[Number] * 1000);
  return Out;
}

static json::Object describeTensor(const Tensor &T) {
  return json::Object{{"name", json::fixUTF8(T.Name)},
                      {"class", llvm::StringRef(getName(T.Class))},
                      {"type", llvm::StringRef(getName(T.Type))},
                      {"shape", json::Array(T.Shape)},
                      {"offset", T.Offset},
                      {"bytes", T.Bytes},
                      {"first", T.FirstStep},
                      {"last", T.LastStep}};
}

/// Class by class, a number for each moment.
static json::Object describeBytes(const Timeline &Memory) {
  json::Object Bytes;
  for (unsigned C = 0; C < unsigned(MemoryClass::Arena); ++C) {
    json::Array Values;
    for (const Program::ClassBytes &Moment : Memory.LiveBytes)
      Values.push_back(Moment[C]);
    Bytes[llvm::StringRef(getName(MemoryClass(C)))] = std::move(Values);
  }
  return Bytes;
}

static json::Value describeProgram(const std::optional<ProgramView> &V) {
  if (!V)
    return nullptr;
  const Program &P = *V->Program;
  json::Array Steps, Tensors, Lines;
  for (size_t I = 0; I < P.Steps.size(); ++I)
    Steps.push_back(describeStep(*V, I));
  std::vector<size_t> Numbers(P.Tensors.size());
  for (size_t I = 0; I < P.Tensors.size(); ++I) {
    if (P.Tensors[I].IsView)
      continue;
    Numbers[I] = Tensors.size();
    Tensors.push_back(describeTensor(P.Tensors[I]));
  }
  for (const Timeline::Line &Line : V->Memory.Lines) {
    json::Array Of;
    for (uint32_t Tensor : Line.Tensors)
      Of.push_back(Numbers[Tensor]);
    Lines.push_back(json::Object{{"tensors", std::move(Of)},
                                 {"recomputations", Line.Recomputations}});
  }
  Program::PeakProfile Peak = P.getPeakProfile();
  return json::Object{{"device", P.Device},
                      {"arch", P.Arch},
                      {"arena_bytes", P.ArenaBytes},
                      {"peak_bytes", Peak.LiveBytes},
                      {"peak_step", Peak.Step},
                      {"steps", std::move(Steps)},
                      {"tensors", std::move(Tensors)},
                      {"lines", std::move(Lines)},
                      {"live_bytes", describeBytes(V->Memory)}};
}

json::Value remat::describeViews(const Views &V) {
  json::Array Classes, Frontier;
  for (unsigned C = 0; C < unsigned(MemoryClass::Arena); ++C)
    Classes.push_back(llvm::StringRef(getName(MemoryClass(C))));
  for (const FrontierPoint &P : V.Frontier)
    Frontier.push_back(json::Object{{"bytes", P.ArenaBytes},
                                    {"ms", P.Ms},
                                    {"lower_bound_ms", P.LowerBoundMs}});
  return json::Object{{"format", "remat-timeline"},
                      {"version", 1},
                      {"title", json::fixUTF8(V.Title)},
                      {"report", json::Object(V.Report)},
                      {"classes", std::move(Classes)},
                      {"planned", describeProgram(V.Planned)},
                      {"unplanned", describeProgram(V.Unplanned)},
                      {"smallest", describeProgram(V.Smallest)},
                      {"frontier", std::move(Frontier)}};
}
