//===- ViewExports.cpp - views for other tools ----------------------------===//

#include "remat/Driver/Views.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace remat;
using namespace remat::runtime;
namespace json = llvm::json;

static constexpr unsigned NumClasses = unsigned(MemoryClass::Arena);

/// What a step takes: measured, else predicted, else nothing is known.
static std::optional<double> getMicroseconds(const ProgramView &V, size_t I) {
  if (!V.MeasuredMs.empty())
    return V.MeasuredMs[I] * 1000;
  if (!V.Times.empty())
    return V.Times[I].Microseconds;
  return std::nullopt;
}

static std::string getStepName(const ProgramView &V, size_t I) {
  const Step &S = V.Program->Steps[I];
  return std::string(V.Program->getResultName(S).value_or(S.Op));
}

//===----------------------------------------------------------------------===//
// The trace event format
//===----------------------------------------------------------------------===//

namespace {

class TraceWriter {
public:
  void addProgram(const std::string &Name, const ProgramView &V);
  json::Array take() { return std::move(Events); }

private:
  void addEvent(const char *Kind, json::Value Name, double Microseconds,
                json::Object Arguments, json::Object More = {});
  void addStep(const ProgramView &V, size_t I, double Begin, double Duration);
  void addMemory(const ProgramView &V, size_t Moment, double Microseconds);

  json::Array Events;
  int Process = 0;
};

} // namespace

void TraceWriter::addEvent(const char *Kind, json::Value Name,
                           double Microseconds, json::Object Arguments,
                           json::Object More) {
  More["ph"] = Kind;
  More["name"] = std::move(Name);
  More["ts"] = Microseconds;
  More["pid"] = Process;
  More["tid"] = 1;
  More["args"] = std::move(Arguments);
  Events.push_back(std::move(More));
}

void TraceWriter::addStep(const ProgramView &V, size_t I, double Begin,
                          double Duration) {
  const Step &S = V.Program->Steps[I];
  json::Object Arguments{{"step", I},
                         {"op", S.Op},
                         {"flops", S.Flops},
                         {"workspace_bytes", S.Workspace.Bytes}};
  if (!S.Location.empty())
    Arguments["location"] = json::fixUTF8(S.Location);
  if (S.Recomputes >= 0)
    Arguments["recomputes_step"] = S.Recomputes;
  if (!V.Times.empty())
    Arguments["traffic_bytes"] = V.Times[I].Bytes;
  std::string Category(S.getPhase());
  if (S.Recomputes >= 0)
    Category += ",recomputed";
  addEvent("X", json::fixUTF8(getStepName(V, I)), Begin, std::move(Arguments),
           json::Object{{"dur", Duration}, {"cat", Category}});
}

void TraceWriter::addMemory(const ProgramView &V, size_t Moment,
                            double Microseconds) {
  json::Object Bytes;
  for (unsigned C = 0; C < NumClasses; ++C)
    Bytes[llvm::StringRef(getName(MemoryClass(C)))] =
        V.Memory.LiveBytes[Moment][C];
  addEvent("C", "memory", Microseconds, std::move(Bytes));
}

/// Where no time is known each step takes a microsecond.
void TraceWriter::addProgram(const std::string &Name, const ProgramView &V) {
  ++Process;
  addEvent("M", "process_name", 0, json::Object{{"name", Name}});
  addEvent("M", "thread_name", 0, json::Object{{"name", "steps"}});
  double Now = 0;
  addMemory(V, 0, Now);
  for (size_t I = 0; I < V.Program->Steps.size(); ++I) {
    double Duration = getMicroseconds(V, I).value_or(1);
    addStep(V, I, Now, Duration);
    addMemory(V, I + 1, Now);
    Now += Duration;
  }
  addMemory(V, V.Program->Steps.size() + 1, Now);
}

std::string remat::makeTrace(const Views &V) {
  TraceWriter Writer;
  const char *Times = "unknown: one microsecond a step";
  if (const ProgramView *Main = V.getMain()) {
    Writer.addProgram(V.Planned ? "planned" : "smallest found", *Main);
    if (!Main->MeasuredMs.empty())
      Times = "measured";
    else if (!Main->Times.empty())
      Times = "predicted";
  }
  if (V.Unplanned)
    Writer.addProgram("without recomputation", *V.Unplanned);
  json::Value Trace =
      json::Object{{"traceEvents", Writer.take()},
                   {"displayTimeUnit", "ms"},
                   {"otherData", json::Object{{"graph", json::fixUTF8(V.Title)},
                                              {"times", Times}}}};
  return llvm::formatv("{0}\n", Trace).str();
}

//===----------------------------------------------------------------------===//
// Comma-separated values
//===----------------------------------------------------------------------===//

/// As RFC 4180 quotes it.
static std::string quote(const std::string &Text) {
  if (Text.find_first_of(",\"\r\n") == std::string::npos)
    return Text;
  std::string Quoted = "\"";
  for (char C : Text)
    Quoted += C == '"' ? std::string("\"\"") : std::string(1, C);
  return Quoted + '"';
}

static void writeRow(llvm::raw_ostream &OS, const ProgramView &V, size_t I,
                     double Begin) {
  const Step &S = V.Program->Steps[I];
  OS << I << ',' << quote(S.Op) << ',' << quote(getStepName(V, I)) << ','
     << quote(S.Location) << ',' << S.getPhase() << ',';
  if (S.Recomputes >= 0)
    OS << S.Recomputes;
  OS << ',';
  if (std::optional<double> Takes = getMicroseconds(V, I))
    OS << llvm::formatv("{0:F3},{1:F3}", Begin, *Takes);
  else
    OS << ',';
  OS << llvm::formatv(",{0:F0},", S.Flops);
  if (!V.Times.empty())
    OS << llvm::formatv("{0:F0}", V.Times[I].Bytes);
  uint64_t Total = 0;
  for (unsigned C = 0; C < NumClasses; ++C) {
    OS << ',' << V.Memory.LiveBytes[I + 1][C];
    Total += V.Memory.LiveBytes[I + 1][C];
  }
  OS << ',' << Total << "\r\n";
}

std::string remat::makeTable(const Views &V) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  OS << "step,op,name,location,phase,recomputes,begin_us,takes_us,flops,"
        "traffic_bytes";
  for (unsigned C = 0; C < NumClasses; ++C)
    OS << ',' << getName(MemoryClass(C));
  OS << ",total\r\n";
  const ProgramView *Main = V.getMain();
  if (!Main)
    return Text;
  double Now = 0;
  for (size_t I = 0; I < Main->Program->Steps.size(); ++I) {
    writeRow(OS, *Main, I, Now);
    Now += getMicroseconds(*Main, I).value_or(0);
  }
  return Text;
}
