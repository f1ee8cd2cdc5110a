//===- NVRTC.cpp - compiles CUDA C++ at run time --------------------------===//
//
// NVRTC is loaded when it is first needed, so that one binary starts with and
// without it.
//
//===----------------------------------------------------------------------===//

#include "remat/Support/Library.h"
#include "remat/Support/Modules.h"
#include "remat/Support/Threads.h"
#include "remat/Target/CUDA/Emission.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>

using namespace remat;
using namespace remat::cuda;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static constexpr llvm::StringRef Architectures[] = {
    "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};

llvm::ArrayRef<llvm::StringRef> remat::cuda::getArchitectures() {
  return Architectures;
}

namespace {

using Program = struct OpaqueProgram *;

/// The functions of NVRTC's C interface that are used here.
struct NVRTC {
  int (*CreateProgram)(Program *, const char *Source, const char *Name,
                       int NumHeaders, const char *const *Headers,
                       const char *const *HeaderNames);
  int (*CompileProgram)(Program, int NumOptions, const char *const *Options);
  int (*GetCUBINSize)(Program, size_t *);
  int (*GetCUBIN)(Program, char *);
  int (*GetProgramLogSize)(Program, size_t *);
  int (*GetProgramLog)(Program, char *);
  int (*DestroyProgram)(Program *);
  const char *(*GetErrorString)(int);
  int (*Version)(int *Major, int *Minor);
  std::string Error; ///< why it could not be loaded; "": it was
};

/// NVRTC opens its second library by name alone, which finds it only where the
/// loader looks: load it beforehand from the same folder.
void openBuiltins(llvm::StringRef Folder) {
  std::error_code Failed;
  for (fs::directory_iterator File(Folder, Failed), End; !Failed && File != End;
       File.increment(Failed))
    if (path::filename(File->path()).starts_with("libnvrtc-builtins.so."))
      dlopen(File->path().c_str(), RTLD_NOW | RTLD_GLOBAL);
}

template <typename Function>
bool bind(const SharedLibrary &Library, const char *Name, Function &Out) {
  Out = reinterpret_cast<Function>(Library.find(Name));
  return Out != nullptr;
}

NVRTC loadNVRTC() {
  NVRTC N{};
  SharedLibrary Library = openCUDALibrary(
      {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, /*IsGlobal=*/false);
  if (!Library.Folder.empty())
    openBuiltins(Library.Folder);
  if (!Library.Handle)
    N.Error = "libnvrtc.so was not found: install the CUDA toolkit or the "
              "Python wheel nvidia-cuda-nvrtc";
  else if (!bind(Library, "nvrtcCreateProgram", N.CreateProgram) ||
           !bind(Library, "nvrtcCompileProgram", N.CompileProgram) ||
           !bind(Library, "nvrtcGetCUBINSize", N.GetCUBINSize) ||
           !bind(Library, "nvrtcGetCUBIN", N.GetCUBIN) ||
           !bind(Library, "nvrtcGetProgramLogSize", N.GetProgramLogSize) ||
           !bind(Library, "nvrtcGetProgramLog", N.GetProgramLog) ||
           !bind(Library, "nvrtcDestroyProgram", N.DestroyProgram) ||
           !bind(Library, "nvrtcGetErrorString", N.GetErrorString) ||
           !bind(Library, "nvrtcVersion", N.Version))
    N.Error = "libnvrtc.so lacks functions of CUDA 11.2 and later";
  return N;
}

/// Loaded once; a process that never compiles never loads it.
const NVRTC &getNVRTC() {
  static const NVRTC Loaded = loadNVRTC();
  return Loaded;
}

std::string getLog(const NVRTC &N, Program P) {
  size_t Size = 0;
  if (N.GetProgramLogSize(P, &Size) != 0 || Size <= 1)
    return "";
  std::string Log(Size, '\0');
  N.GetProgramLog(P, Log.data());
  Log.resize(Size - 1);
  return Log;
}

/// Why `Source` does not compile, or "".
std::string compileSource(const NVRTC &N, const std::string &Source,
                          llvm::StringRef Arch, std::vector<uint8_t> &Cubin) {
  Program P = nullptr;
  int Code =
      N.CreateProgram(&P, Source.c_str(), "program.cu", 0, nullptr, nullptr);
  if (Code != 0)
    return std::string("NVRTC made no program: ") + N.GetErrorString(Code);
  // Hopper's own instructions, which no later GPU has.
  std::string ArchOption =
      "--gpu-architecture=" + (Arch == "sm_90" ? "sm_90a" : Arch.str());
  const char *Options[] = {ArchOption.c_str(), "--std=c++17"};
  Code = N.CompileProgram(P, std::size(Options), Options);
  size_t Size = 0;
  if (Code == 0)
    Code = N.GetCUBINSize(P, &Size);
  if (Code == 0) {
    Cubin.resize(Size);
    Code = N.GetCUBIN(P, reinterpret_cast<char *>(Cubin.data()));
  }
  std::string Error;
  if (Code != 0)
    Error = std::string("NVRTC failed: ") + N.GetErrorString(Code) + "\n" +
            getLog(N, P);
  N.DestroyProgram(&P);
  return Error;
}

} // namespace

bool remat::cuda::compileSources(llvm::ArrayRef<std::string> Sources,
                                 llvm::StringRef Arch,
                                 std::vector<std::vector<uint8_t>> &Cubins,
                                 std::string &Error) {
  if (!llvm::is_contained(Architectures, Arch)) {
    Error = "no such architecture: '" + Arch.str() + "'; known are " +
            llvm::join(getArchitectures(), ", ");
    return false;
  }
  Cubins.assign(Sources.size(), {});
  if (Sources.empty())
    return true;
  const NVRTC &N = getNVRTC();
  if (!N.Error.empty()) {
    Error = N.Error;
    return false;
  }
  std::vector<std::string> Errors(Sources.size());
  runInParallel(Sources.size(), [&](size_t I) {
    Errors[I] = compileSource(N, Sources[I], Arch, Cubins[I]);
  });
  auto Failed = llvm::find_if(Errors, [](auto &E) { return !E.empty(); });
  if (Failed != Errors.end())
    Error = *Failed;
  return Failed == Errors.end();
}

std::string remat::cuda::describeNVRTC() {
  const NVRTC &N = getNVRTC();
  int Major = 0, Minor = 0;
  if (!N.Error.empty() || N.Version(&Major, &Minor) != 0)
    return "";
  // Releases of one version differ.
  return ("NVRTC " + llvm::Twine(Major) + "." + llvm::Twine(Minor) + " " +
          describeModuleOf(reinterpret_cast<const void *>(N.Version)))
      .str();
}
