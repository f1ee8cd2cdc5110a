//===- RefusalPage.cpp - a refused budget for people to read --------------===//

#include "remat/Driver/RefusalPage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace remat;

/// Columns of a number with its unit: "1023.99 GiB".
static constexpr unsigned BytesWidth = 11;

/// Both for people and for who wants to ask for exactly that.
static std::string formatBoth(int64_t Bytes) {
  std::string Text = formatBytes(Bytes);
  return Bytes < 1024 ? Text : Text + " (" + std::to_string(Bytes) + " bytes)";
}

/// "optimizer state".
static std::string getWords(std::string Class) {
  std::replace(Class.begin(), Class.end(), '_', ' ');
  return Class;
}

namespace {

class Page {
public:
  Page(const CompileOptions &Options, const Refusal &Refused,
       const Screen &Where, unsigned Column)
      : Options(Options), Refused(Refused), Where(Where), Column(Column),
        OS(Text) {}

  std::string render(llvm::StringRef Source) {
    addSentence();
    addCauses();
    addClasses();
    addPeak(Source);
    addValues();
    addRemedies();
    return std::move(Text);
  }

private:
  void addSentence();
  void addClasses();
  void addPeak(llvm::StringRef Source);
  void addValues();
  void addCauses();
  void addRemedies();
  std::string describeSearch() const;
  std::string describe(const Refusal::Remedy &Remedy) const;

  std::string plain(llvm::StringRef Said) const {
    return makePlain(Said, Where.Unicode);
  }
  void addWrapped(const std::string &Line, unsigned Indent,
                  unsigned Column = 0) {
    OS << wrapText(Line, Where.Width, Indent, Column) << '\n';
  }

  const CompileOptions &Options;
  const Refusal &Refused;
  const Screen &Where;
  unsigned Column;
  std::string Text;
  llvm::raw_string_ostream OS;
};

} // namespace

/// What could find less, where it is not proven that nothing does.
std::string Page::describeSearch() const {
  if (Refused.SmallestFeasibleBytes == Refused.ImpossibleBytes + 1)
    return "";
  if (Options.Strategy != "search")
    return "; the strategy search may find less";
  return "; more effort than " + std::to_string(Options.PlannerEffort) +
         " or another planner seed than " +
         std::to_string(Options.PlannerSeed) + " may find less";
}

void Page::addSentence() {
  std::string Function = plain(Refused.Function);
  addWrapped("the budget of " + formatBoth(Refused.BudgetBytes) +
                 " is refused" + (Function.empty() ? "" : " for @" + Function) +
                 ": the smallest peak found is " +
                 formatBoth(Refused.SmallestFeasibleBytes) + ", " +
                 formatBoth(Refused.UnplannedPeakBytes) +
                 " without recomputation; that no program fits " +
                 formatBoth(Refused.ImpossibleBytes) + " is proven" +
                 describeSearch(),
             /*Indent=*/0, Column);
}

void Page::addCauses() {
  for (const Refusal::Cause &Cause : Refused.Causes)
    addWrapped("without " + plain(Cause.Control) + " a program of " +
                   formatBoth(Cause.Bytes) + " meets the budget",
               /*Indent=*/0);
}

/// Largest first; classes without bytes are left out.
void Page::addClasses() {
  std::vector<std::pair<std::string, int64_t>> Classes = Refused.Classes;
  llvm::erase_if(Classes, [](const auto &Class) { return Class.second <= 0; });
  llvm::sort(Classes, [](const auto &Left, const auto &Right) {
    return std::tie(Right.second, Left.first) <
           std::tie(Left.second, Right.first);
  });
  if (Classes.empty())
    return;
  unsigned NameWidth = 0;
  for (auto &[Name, Bytes] : Classes) {
    Name = getWords(Name);
    NameWidth = std::max(NameWidth, countColumns(Name));
  }
  unsigned Taken = 2 + NameWidth + 2 + BytesWidth + 2;
  unsigned BarWidth =
      std::min(Where.Width > Taken ? Where.Width - Taken : 1, 40u);
  OS << "\nWhat the smallest program found holds at its peak:\n";
  for (const auto &[Name, Bytes] : Classes) {
    double Part = static_cast<double>(Bytes) / Classes.front().second;
    OS << "  " << padRight(Name, NameWidth) << "  "
       << padLeft(formatBytes(Bytes), BytesWidth) << "  "
       << makeBar(Part, BarWidth, Where.Unicode) << '\n';
  }
}

void Page::addPeak(llvm::StringRef Source) {
  if (Refused.PeakOpName.empty())
    return;
  std::string Line = "The peak is at " + plain(Refused.PeakOpName);
  if (!Refused.PeakValue.empty())
    Line += ", which makes " + plain(Refused.PeakValue);
  if (!Refused.PeakLocation.empty())
    Line += ", " + plain(Refused.PeakLocation);
  OS << '\n';
  addWrapped(Source.empty() ? Line : Line + ":", 2);
  if (!Source.empty())
    OS << "    " << cutTo(plain(Source.trim()), Where.Width - 4) << '\n';
}

/// "64.00 MiB", "2 x 64.00 MiB".
static std::string formatEach(const Refusal::Live &Entry) {
  std::string Bytes = formatBytes(Entry.Bytes);
  return Entry.Count == 1 ? Bytes : std::to_string(Entry.Count) + " x " + Bytes;
}

void Page::addValues() {
  if (Refused.Largest.empty())
    return;
  unsigned Bytes = BytesWidth, Class = 0, Name = 0, Type = 0;
  for (const Refusal::Live &Entry : Refused.Largest) {
    Bytes = std::max(Bytes, countColumns(formatEach(Entry)));
    Class = std::max(Class, countColumns(Entry.Class));
    Name = std::max(Name, countColumns(plain(Entry.Name)));
    Type = std::max(Type, countColumns(plain(Entry.Type)));
  }
  // The name says most: the type is left out before the name is cut.
  unsigned Rest =
      Where.Width - std::min(Where.Width, 2 + Bytes + 2 + Class + 2);
  bool ShowsType = Name + 2 + Type <= Rest;
  OS << "\nThe largest values there:\n";
  for (const Refusal::Live &Entry : Refused.Largest) {
    std::string Said = plain(Entry.Name);
    Said = ShowsType ? padRight(Said, Name) + "  " + plain(Entry.Type)
                     : cutTo(Said, Rest);
    OS << "  " << padLeft(formatEach(Entry), Bytes) << "  "
       << padRight(getWords(Entry.Class), Class) << "  " << Said << '\n';
  }
  if (Refused.OtherBytes > 0)
    OS << "  " << padLeft(formatBytes(Refused.OtherBytes), Bytes)
       << "  in smaller ones\n";
}

void Page::addRemedies() {
  OS << "\nWhat to try:\n";
  std::string Fits =
      "--budget " + std::to_string(Refused.SmallestFeasibleBytes);
  unsigned Width = countColumns(Fits);
  for (const Refusal::Remedy &Remedy : Refused.Remedies)
    Width = std::max(Width, countColumns(plain(Remedy.Change)));
  Width = std::min(Width, Where.Width / 3);
  unsigned Column = 2 + Width + 2;
  auto Add = [&](llvm::StringRef Change, const std::string &What) {
    std::string Begin = padRight("  " + plain(Change), Column - 2) + "  ";
    // A change that is too long stands on a line of its own.
    if (countColumns(Begin) > Column)
      Begin += "\n" + std::string(Column, ' ');
    OS << Begin << wrapText(What, Where.Width, Column, Column) << '\n';
  };
  Add(Fits, "fits: the smallest budget found");
  for (const Refusal::Remedy &Remedy : Refused.Remedies)
    Add(Remedy.Change, describe(Remedy));
}

/// "saves 12.00 MiB: 20.00 MiB are needed then, which fits; ...".
std::string Page::describe(const Refusal::Remedy &Remedy) const {
  using Certainty = Refusal::Remedy::Certainty;
  int64_t Saved = Refused.SmallestFeasibleBytes - Remedy.SmallestFeasibleBytes;
  std::string How = Remedy.Known == Certainty::AtMost  ? "at least "
                    : Remedy.Known == Certainty::About ? "about "
                                                       : "";
  std::string Text = "saves " + How + formatBytes(Saved) + ": " +
                     formatBytes(Remedy.SmallestFeasibleBytes) + " will do";
  if (Remedy.SmallestFeasibleBytes <= Refused.BudgetBytes &&
      Remedy.Known != Certainty::About)
    Text += ", and fits";
  return Text + "; " + Remedy.Effect;
}

std::string remat::renderRefusal(const CompileOptions &Options,
                                 const Refusal &Refused, const Screen &Where,
                                 llvm::StringRef Source, unsigned Column) {
  return Page(Options, Refused, Where, Column).render(Source);
}
