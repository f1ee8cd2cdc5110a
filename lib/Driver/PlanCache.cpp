//===- PlanCache.cpp - compiled programs kept in a folder -----------------===//

#include "remat/Driver/PlanCache.h"
#include "PlanEntry.h"
#include "remat/Support/Budget.h"
#include "remat/runtime/Sha256.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>

using namespace remat;
namespace fs = std::filesystem;

/// What the names of entries end with.
static constexpr llvm::StringLiteral Suffix = ".program";
/// Larger files are no entries.
static constexpr uint64_t MaxEntryBytes = uint64_t(1) << 31;
/// Longer summaries are none.
static constexpr uint64_t MaxSummaryBytes = 4096;

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

/// Where a user's programs keep what they can make again; "" if nobody says.
static std::string getCacheHome() {
  if (const char *Home = std::getenv("XDG_CACHE_HOME"); Home && *Home == '/')
    return Home;
  if (const char *Home = std::getenv("HOME"); Home && *Home == '/')
    return std::string(Home) + "/.cache";
  return "";
}

FileFailure PlanCache::open(std::optional<std::string> Given) {
  if (const char *Variable = std::getenv("REMAT_CACHE_DIR");
      !Given && Variable && *Variable)
    Given = Variable;
  Named = Given.has_value();
  if (!Given)
    if (std::string Home = getCacheHome(); !Home.empty())
      Given = Home + "/remat";
  Folder = Given && *Given != "off" ? *Given : "";
  const char *Text = std::getenv("REMAT_CACHE_LIMIT");
  if (!isOn() || !Text)
    return std::nullopt;
  std::optional<struct Budget> Size = Budget::parse(Text);
  if (!Size || Size->Kind != Budget::Kind::Bytes)
    return "REMAT_CACHE_LIMIT is '" + std::string(Text) +
           "'; it must be bytes such as 2GiB";
  Limit = Size->Bytes;
  return std::nullopt;
}

/// For its owner only: what lies there will run.
FileFailure PlanCache::makeFolder() const {
  std::error_code Failed;
  fs::create_directories(fs::path(Folder).parent_path(), Failed);
  if (::mkdir(Folder.c_str(), S_IRWXU) == 0 || fs::is_directory(Folder, Failed))
    return std::nullopt;
  return "cannot make the folder '" + Folder + "'";
}

namespace {

struct CacheFile {
  fs::path Path;
  uint64_t Bytes = 0;
  fs::file_time_type Used;
};

} // namespace

/// All files whose names end so. What other processes remove meanwhile is left
/// out.
static std::vector<CacheFile> listFiles(const std::string &Folder,
                                        llvm::StringRef Ending = Suffix) {
  std::vector<CacheFile> Files;
  std::error_code Failed;
  for (fs::directory_iterator It(Folder, Failed), End; !Failed && It != End;
       It.increment(Failed)) {
    if (!llvm::StringRef(It->path().native()).ends_with(Ending))
      continue;
    std::error_code Gone;
    CacheFile File{It->path(), It->file_size(Gone), {}};
    if (!Gone)
      File.Used = It->last_write_time(Gone);
    if (!Gone)
      Files.push_back(std::move(File));
  }
  return Files;
}

/// Two processes may do this at once: each removes the oldest, and a reader
/// keeps what it has opened.
void PlanCache::removeOldest() const {
  std::vector<CacheFile> Files = listFiles(Folder);
  llvm::sort(Files, [](const CacheFile &L, const CacheFile &R) {
    return L.Used > R.Used;
  });
  uint64_t Sum = 0;
  std::error_code Gone;
  for (const CacheFile &File : Files)
    if ((Sum += File.Bytes) > uint64_t(Limit))
      fs::remove(File.Path, Gone);
  // What a process was writing that was killed.
  auto Yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
  for (const CacheFile &File : listFiles(Folder, ".partial"))
    if (File.Used < Yesterday)
      fs::remove(File.Path, Gone);
}

/// An entry's time is when it was last used.
static void touch(const std::string &Path) {
  ::utimensat(AT_FDCWD, Path.c_str(), nullptr, 0);
}

/// The entry of a file, if it is whole and the one of that key.
static std::optional<PlanEntry> readEntry(const std::string &Path,
                                          const std::string &Key) {
  std::string Bytes;
  if (readWholeFile(Path, MaxEntryBytes, Bytes))
    return std::nullopt;
  std::optional<PlanEntry> Entry = PlanEntry::read(Bytes);
  if (!Entry || Entry->Head.Key != Key)
    return std::nullopt;
  touch(Path);
  return Entry;
}

//===----------------------------------------------------------------------===//
// One compilation
//===----------------------------------------------------------------------===//

/// No two lists of parts have the same digest.
static std::string digestOf(llvm::ArrayRef<std::string> Parts) {
  runtime::Sha256 Digest;
  for (const std::string &Part : Parts) {
    std::string Size = std::to_string(Part.size()) + ":";
    Digest.update(Size.data(), Size.size());
    Digest.update(Part.data(), Part.size());
  }
  return Digest.finish();
}

/// Everything that decides the program but the graph and the budget: the passes
/// with their options, and what is done after them.
static std::string describeOptions(CompileOptions Options) {
  Options.Budget = {};
  std::string Costs;
  for (const std::string &Path : Options.Costs) {
    std::string Text;
    // Compilation says why a file cannot be read.
    (void)readWholeFile(Path, uint64_t(1) << 30, Text);
    Costs += " " + digestOf({Text});
  }
  return printPipeline(Options) + Costs + " slices " +
         std::to_string(Options.Slices) +
         (Options.BitwiseBudget ? " bitwise" : "") +
         (Options.CompileKernels ? " kernels" : "") +
         (Options.AddsEvaluation ? " evaluation" : "") +
         (Options.EvaluatesAverages ? " averages" : "");
}

CachedCompilation::CachedCompilation(const PlanCache &Cache,
                                     llvm::StringRef Name, llvm::StringRef Text,
                                     const CompileOptions &Options)
    : Cache(Cache), Options(Options) {
  if (!Cache.isOn())
    return;
  Family = digestOf(
      {describeCompiler(), describeOptions(Options), Name.str(), Text.str()});
  Key = digestOf({Family, Options.Budget.str()});
}

/// Files of one family have one beginning. So much of a digest is as good as
/// all of it: the file says whose it is.
std::string CachedCompilation::getPath() const {
  return Cache.Folder + "/" + Family.substr(0, 32) + "-" + Key.substr(0, 32) +
         Suffix.str();
}

bool CachedCompilation::find(std::vector<uint8_t> &Program,
                             CompileReport &Report) {
  // Explanations are not kept.
  if (Key.empty() || !Options.Explain.empty())
    return false;
  auto Begin = std::chrono::steady_clock::now();
  std::optional<PlanEntry> Entry = readEntry(getPath(), Key);
  if (!Entry)
    return false;
  const std::string &Kernels = Entry->Head.KernelCompiler;
  if (!Kernels.empty() &&
      Kernels != describeKernelCompiler(Entry->Report.Device))
    return false;
  Program = std::move(Entry->Program);
  Report = std::move(Entry->Report);
  std::chrono::duration<double> Time = std::chrono::steady_clock::now() - Begin;
  Report.Seconds = {{"cache", Time.count()}};
  Report.FromCache = true;
  return true;
}

/// The summary of a file, or nothing.
static std::optional<PlanEntry::Summary> readSummary(const std::string &Path) {
  InputFile File;
  if (File.open(Path))
    return std::nullopt;
  std::string Beginning(std::min(File.getSize(), MaxSummaryBytes), '\0');
  if (File.read(0, Beginning.data(), Beginning.size()))
    return std::nullopt;
  return PlanEntry::readSummary(Beginning);
}

const std::vector<PlanSeed> &CachedCompilation::findSeeds() {
  Seeds.clear();
  if (Key.empty())
    return Seeds;
  std::string Beginning = Family.substr(0, 32) + "-";
  for (const CacheFile &File : listFiles(Cache.Folder)) {
    std::string Path = File.Path.native();
    if (!llvm::StringRef(File.Path.filename().native()).starts_with(Beginning))
      continue;
    std::optional<PlanEntry::Summary> Head = readSummary(Path);
    if (!Head)
      continue;
    auto Read = [Path, Key = Head->Key]() -> std::optional<FittedPlan> {
      std::optional<PlanEntry> Entry = readEntry(Path, Key);
      return Entry ? std::optional(std::move(Entry->Report.Chosen))
                   : std::nullopt;
    };
    Seeds.push_back({Head->ArenaBytes, Head->Microseconds, std::move(Read)});
  }
  return Seeds;
}

FileFailure CachedCompilation::store(llvm::ArrayRef<uint8_t> Program,
                                     const CompileReport &Report) {
  if (Key.empty() || Report.Interrupted || Report.Refused)
    return std::nullopt;
  PlanEntry Entry;
  Entry.Report = Report;
  Entry.Program = Program;
  Entry.Head = {Key, "", Report.PredictedPeakBytes, Report.PredictedMs * 1000};
  if (Options.CompileKernels)
    Entry.Head.KernelCompiler = describeKernelCompiler(Report.Device);
  std::string Bytes = Entry.write();
  if (Bytes.size() > uint64_t(Cache.Limit))
    return std::nullopt;
  if (FileFailure Failed = Cache.makeFolder())
    return Failed;
  if (FileFailure Failed =
          writeWholeFile(getPath(), Bytes.data(), Bytes.size()))
    return Failed;
  Cache.removeOldest();
  return std::nullopt;
}
