//===- PlanCache.h - compiled programs kept in a folder ---------*- C++ -*-===//
//
// What was compiled once is not compiled again: a folder holds programs with
// their reports, by the graph's text, the options, and the build of the
// compiler and of the libraries that it uses. Several processes may share it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DRIVER_PLANCACHE_H
#define REMAT_DRIVER_PLANCACHE_H

#include "remat/Pipeline.h"
#include "remat/Support/File.h"

namespace remat {

/// A folder of compiled programs, or none.
class PlanCache {
public:
  /// Sets the folder to `Given`, where "off" means none. Where nothing is
  /// given, $REMAT_CACHE_DIR says the same; else it is `remat` in
  /// $XDG_CACHE_HOME or ~/.cache, and nowhere if there is neither. Returns why
  /// it could not be done: $REMAT_CACHE_LIMIT is no size.
  FileFailure open(std::optional<std::string> Given);

  bool isOn() const { return !Folder.empty(); }
  /// Whether somebody named the folder: then it is said if it does not serve.
  bool isNamed() const { return Named; }
  const std::string &getFolder() const { return Folder; }

  /// Bytes of all entries, unless $REMAT_CACHE_LIMIT says another size.
  static constexpr int64_t DefaultLimit = int64_t(1) << 30;

private:
  friend class CachedCompilation;
  FileFailure makeFolder() const;
  void removeOldest() const;

  std::string Folder;
  bool Named = false;
  int64_t Limit = DefaultLimit;
};

/// One compilation and its entry in the folder.
class CachedCompilation {
public:
  /// Of the graph text `Text`, which messages and programs call `Name`. The
  /// options must outlive this.
  CachedCompilation(const PlanCache &Cache, llvm::StringRef Name,
                    llvm::StringRef Text, const CompileOptions &Options);

  /// Gives the program and its report if the folder has them, whole and
  /// unaltered. The report's only phase is "cache".
  bool find(std::vector<uint8_t> &Program, CompileReport &Report);

  /// Plans that the folder has for other budgets.
  const std::vector<PlanSeed> &findSeeds();

  /// Keeps a program that was compiled and removes what was not used for the
  /// longest time, so that the folder keeps its limit. Returns why not. What
  /// was interrupted is not kept.
  FileFailure store(llvm::ArrayRef<uint8_t> Program,
                    const CompileReport &Report);

private:
  std::string getPath() const;

  const PlanCache &Cache;
  const CompileOptions &Options;
  /// Of everything but the budget, and with it.
  std::string Family, Key;
  std::vector<PlanSeed> Seeds;
};

} // namespace remat

#endif // REMAT_DRIVER_PLANCACHE_H
