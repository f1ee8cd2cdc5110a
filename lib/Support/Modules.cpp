//===- Modules.cpp - which binaries a process is made of ------------------===//

#include "remat/Support/Modules.h"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <link.h>
#include <set>
#include <sys/stat.h>

using namespace remat;

namespace {

/// A program or library of this process.
class Module {
public:
  explicit Module(const dl_phdr_info &Info) : Info(Info) {}

  bool holds(const void *Address) const;
  std::string getFileName() const {
    std::string Path = getPath();
    return Path.substr(Path.rfind('/') + 1);
  }
  std::string describe() const;

private:
  std::span<const ElfW(Phdr)> getSegments() const {
    return {Info.dlpi_phdr, Info.dlpi_phnum};
  }
  const char *getStart(const ElfW(Phdr) & Segment) const {
    return reinterpret_cast<const char *>(Info.dlpi_addr + Segment.p_vaddr);
  }
  /// The loader does not name the program itself.
  std::string getPath() const {
    return Info.dlpi_name && *Info.dlpi_name ? Info.dlpi_name
                                             : "/proc/self/exe";
  }
  std::string findBuildId() const;

  const dl_phdr_info &Info;
};

} // namespace

bool Module::holds(const void *Address) const {
  auto *At = static_cast<const char *>(Address);
  return std::ranges::any_of(getSegments(), [&](const ElfW(Phdr) & Segment) {
    const char *Start = getStart(Segment);
    return Segment.p_type == PT_LOAD && !std::less<>()(At, Start) &&
           std::less<>()(At, Start + Segment.p_memsz);
  });
}

static std::string toHexadecimal(std::string_view Bytes) {
  std::string Text;
  for (unsigned char Byte : Bytes)
    for (int Digit : {Byte >> 4, Byte & 15})
      Text += "0123456789abcdef"[Digit];
  return Text;
}

/// The build identifier among the notes in `Bytes`, or "". Names and contents
/// of notes are padded to words.
static std::string findBuildId(std::string_view Bytes) {
  auto Padded = [](size_t Size) { return (Size + 3) & ~size_t(3); };
  ElfW(Nhdr) Note;
  while (Bytes.size() >= sizeof Note) {
    std::memcpy(&Note, Bytes.data(), sizeof Note);
    Bytes.remove_prefix(sizeof Note);
    size_t Name = Padded(Note.n_namesz), Content = Padded(Note.n_descsz);
    if (Bytes.size() < Name || Bytes.size() - Name < Content)
      return "";
    if (Note.n_type == NT_GNU_BUILD_ID &&
        Bytes.substr(0, Note.n_namesz) == std::string_view("GNU", 4))
      return toHexadecimal(Bytes.substr(Name, Note.n_descsz));
    Bytes.remove_prefix(Name + Content);
  }
  return "";
}

std::string Module::findBuildId() const {
  for (const ElfW(Phdr) &Segment : getSegments())
    if (Segment.p_type == PT_NOTE)
      if (std::string Id =
              ::findBuildId({getStart(Segment), size_t(Segment.p_memsz)});
          !Id.empty())
        return Id;
  return "";
}

std::string Module::describe() const {
  if (std::string Id = findBuildId(); !Id.empty())
    return Id;
  struct stat Status;
  if (::stat(getPath().c_str(), &Status) != 0)
    return getPath();
  return getPath() + " " + std::to_string(Status.st_size) + " " +
         std::to_string(Status.st_mtim.tv_sec) + "." +
         std::to_string(Status.st_mtim.tv_nsec);
}

static void forEachModule(std::function<void(const Module &)> Look) {
  dl_iterate_phdr(
      [](dl_phdr_info *Info, size_t, void *Data) {
        (*static_cast<std::function<void(const Module &)> *>(Data))(
            Module(*Info));
        return 0;
      },
      &Look);
}

std::string remat::describeModuleOf(const void *Address) {
  std::string Text;
  forEachModule([&](const Module &M) {
    if (M.holds(Address))
      Text = M.describe();
  });
  return Text;
}

std::string remat::describeModules(std::span<const std::string_view> Prefixes) {
  std::set<std::string> Lines;
  forEachModule([&](const Module &M) {
    std::string Name = M.getFileName();
    for (std::string_view Prefix : Prefixes)
      if (Name.starts_with(Prefix))
        Lines.insert(Name + " " + M.describe() + "\n");
  });
  std::string Text;
  for (const std::string &Line : Lines)
    Text += Line;
  return Text;
}
