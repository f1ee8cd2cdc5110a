//===- Explanation.cpp - an explained plan as text and JSON ---------------===//

#include "Explanation.h"
#include "remat/Pipeline.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace remat;
using solver::KeepReason;

/// Readers that a text lists by name.
static constexpr size_t MaxReaders = 4;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "h.1/mlp/gelu (remat.gelu, step 12)".
static std::string textOf(const ExplainedRun &Run) {
  return formatv("'{0}' ({1}, step {2})", Run.Name, Run.Op, Run.Step).str();
}

/// The head of a decision: "'h.1/mlp/gelu' (remat.gelu at file:1:2, 512
/// bytes)".
static std::string headOf(StringRef Name, const ExplainedRun &Run,
                          int64_t Bytes) {
  std::string Place = Run.Location == Name ? "" : " at " + Run.Location;
  return formatv("'{0}' ({1}{2}, {3} bytes)", Name, Run.Op, Place, Bytes).str();
}

static StringRef nameOf(const ExplainedRecomputation &R) {
  return StringRef(R.Run.Name).split(", recomputed").first;
}

static std::string listReaders(const ExplainedRecomputation &R) {
  std::string Text;
  for (const ExplainedRun &Reader : ArrayRef(R.Readers).take_front(MaxReaders))
    Text += (Text.empty() ? "" : ", ") + textOf(Reader);
  if (R.Readers.size() > MaxReaders)
    Text += formatv(" and {0} more", R.Readers.size() - MaxReaders).str();
  return Text;
}

static void print(raw_ostream &OS, const ExplainedRecomputation &R) {
  OS << formatv("{0} is computed again at step {1}, in {2:f4} ms\n",
                headOf(nameOf(R), R.Run, R.Bytes), R.Run.Step, R.Ms);
  if (R.IsDemanded)
    OS << "  a control asks for it: without, it would be kept from step "
       << R.Before.Step << "\n";
  if (R.Relieves)
    OS << formatv("  kept from step {0}, it would raise the memory at {1} by "
                  "{2} bytes, from {3} to {4}\n",
                  R.Before.Step, textOf(*R.Relieves), R.SavedBytes,
                  R.BytesThere, R.BytesThere + R.SavedBytes);
  else
    OS << formatv("  kept from step {0}, it would raise the memory nowhere\n",
                  R.Before.Step);
  OS << "  the whole plan would need " << R.PeakWithout << " bytes\n";
  OS << "  read again by " << listReaders(R) << "\n";
  if (R.ChainOps > 1)
    OS << formatv("  with what it reads, {0} operations run again, in {1:f4} "
                  "ms\n",
                  R.ChainOps, R.ChainMs);
}

static std::string whyKept(const ExplainedValue &V) {
  std::string Again =
      formatv("running its operation again would take {0:f4} ms", V.Ms).str();
  switch (V.Reason) {
  case KeepReason::Result:
    return "it is a result, which is there at the end in any case";
  case KeepReason::Demanded:
    return "a control says keep";
  case KeepReason::RunsOnce:
    return "its operation cannot run again before that";
  case KeepReason::PeakStays:
    return Again + formatv(" and would not lower the peak: {0} bytes {1} "
                           "there, and a peak of {2} bytes",
                           V.FreedBytes < 0 ? -V.FreedBytes : V.FreedBytes,
                           V.FreedBytes < 0 ? "more" : "less", V.PeakIfRepeated)
                       .str();
  case KeepReason::CostsTime:
    return Again + formatv(" and would free {0} bytes at the peak, for a peak "
                           "of {1} bytes; the plan does without",
                           V.FreedBytes, V.PeakIfRepeated)
                       .str();
  }
  llvm_unreachable("all reasons are listed");
}

static void print(raw_ostream &OS, const ExplainedValue &V) {
  OS << formatv("{0} is kept from step {1} for {2}\n",
                headOf(V.Name, V.Run, V.Bytes), V.Run.Step, textOf(V.Reader));
  OS << "  " << whyKept(V) << "\n";
}

std::string remat::printExplanation(const PlanExplanation &E) {
  std::string Text;
  raw_string_ostream OS(Text);
  OS << formatv("the plan's peak is {0} bytes, at {1}\n", E.PeakBytes,
                textOf(E.Peak));
  for (const ExplainedRecomputation &R : E.Recomputations)
    print(OS, R);
  for (const ExplainedValue &V : E.Kept)
    print(OS, V);
  for (StringRef Name : E.Undecided)
    OS << "the plan decides nothing about '" << Name
       << "': it is no value of the forward that the backward reads\n";
  return Text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Value toJSON(const ExplainedRun &Run) {
  return json::Object{{"name", json::fixUTF8(Run.Name)},
                      {"op", Run.Op},
                      {"location", json::fixUTF8(Run.Location)},
                      {"step", Run.Step}};
}

static json::Value toJSON(const ExplainedRecomputation &R) {
  json::Array Readers;
  for (const ExplainedRun &Reader : R.Readers)
    Readers.push_back(toJSON(Reader));
  return json::Object{
      {"kind", "recomputed"},
      {"name", json::fixUTF8(nameOf(R))},
      {"op", R.Run.Op},
      {"location", json::fixUTF8(R.Run.Location)},
      {"step", R.Run.Step},
      {"before", R.Before.Step},
      {"bytes", R.Bytes},
      {"ms", R.Ms},
      {"relieves", R.Relieves ? toJSON(*R.Relieves) : json::Value(nullptr)},
      {"bytes_there", R.BytesThere},
      {"saved_bytes", R.SavedBytes},
      {"peak_without", R.PeakWithout},
      {"chain_ops", R.ChainOps},
      {"chain_ms", R.ChainMs},
      {"readers", std::move(Readers)},
      {"demanded", R.IsDemanded}};
}

/// Reports have words with underscores.
static std::string getReasonWord(KeepReason Reason) {
  std::string Word(solver::nameOf(Reason));
  std::replace(Word.begin(), Word.end(), '-', '_');
  return Word;
}

static json::Value toJSON(const ExplainedValue &V) {
  json::Object Object{{"kind", "kept"},
                      {"name", json::fixUTF8(V.Name)},
                      {"op", V.Run.Op},
                      {"location", json::fixUTF8(V.Run.Location)},
                      {"step", V.Run.Step},
                      {"bytes", V.Bytes},
                      {"reader", toJSON(V.Reader)},
                      {"reason", getReasonWord(V.Reason)}};
  if (V.Reason == KeepReason::PeakStays || V.Reason == KeepReason::CostsTime) {
    Object["ms"] = V.Ms;
    Object["freed_bytes"] = V.FreedBytes;
    Object["peak_if_repeated"] = V.PeakIfRepeated;
  }
  return Object;
}

json::Array remat::toJSON(const PlanExplanation &E) {
  json::Array List;
  for (const ExplainedRecomputation &R : E.Recomputations)
    List.push_back(::toJSON(R));
  for (const ExplainedValue &V : E.Kept)
    List.push_back(::toJSON(V));
  for (StringRef Name : E.Undecided)
    List.push_back(
        json::Object{{"kind", "undecided"}, {"name", json::fixUTF8(Name)}});
  return List;
}
