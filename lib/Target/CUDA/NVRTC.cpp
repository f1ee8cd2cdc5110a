//===- NVRTC.cpp - compiles CUDA C++ at run time --------------------------===//
//
// NVRTC is loaded when it is first needed, so that one binary starts with and
// without it. It is looked up as the loader does, then in the toolkit, then in
// the Python wheels `nvidia/*/lib` of the virtual environments around.
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CUDA/Emission.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <dlfcn.h>

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
  std::string Error; ///< why it could not be loaded; "": it was
};

/// Adds `Folder`/lib/python3*/site-packages/nvidia/*/lib.
void addWheelFolders(llvm::StringRef Folder,
                     llvm::SmallVectorImpl<std::string> &Out) {
  std::error_code Failed;
  llvm::SmallString<128> Lib(Folder);
  path::append(Lib, "lib");
  for (fs::directory_iterator Python(Lib, Failed), End;
       !Failed && Python != End; Python.increment(Failed)) {
    if (!path::filename(Python->path()).starts_with("python3"))
      continue;
    for (llvm::StringRef Packages : {"site-packages", "dist-packages"}) {
      llvm::SmallString<128> Nvidia(Python->path());
      path::append(Nvidia, Packages, "nvidia");
      std::error_code Missing;
      for (fs::directory_iterator Wheel(Nvidia, Missing);
           !Missing && Wheel != End; Wheel.increment(Missing)) {
        llvm::SmallString<128> Found(Wheel->path());
        path::append(Found, "lib");
        Out.push_back(Found.str().str());
      }
    }
  }
}

/// Folders to look in, best first; "" is the loader's own search.
llvm::SmallVector<std::string> getFolders() {
  llvm::SmallVector<std::string> Folders;
  // The variable that the CUDA device of the runtime reads too.
  if (const char *Named = std::getenv("REMAT_CUDA_LIBRARIES"))
    for (llvm::StringRef Folder : llvm::split(Named, ':'))
      if (!Folder.empty())
        Folders.push_back(Folder.str());
  Folders.push_back("");
  for (const char *Name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *Root = std::getenv(Name))
      Folders.push_back(std::string(Root) + "/lib64");
  Folders.push_back("/usr/local/cuda/lib64");
  llvm::SmallVector<std::string> Wheels;
  if (const char *Root = std::getenv("VIRTUAL_ENV"))
    addWheelFolders(Root, Wheels);
  // `.venv` in the current folder or in one above this program.
  llvm::SmallString<128> Here;
  if (!fs::current_path(Here)) {
    path::append(Here, ".venv");
    addWheelFolders(Here, Wheels);
  }
  std::string Self = fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&addWheelFolders));
  for (llvm::StringRef Up = path::parent_path(Self); !Up.empty();
       Up = path::parent_path(Up)) {
    llvm::SmallString<128> Environment(Up);
    path::append(Environment, ".venv");
    addWheelFolders(Environment, Wheels);
  }
  // The environment of each python3 on the path.
  if (const char *Path = std::getenv("PATH"))
    for (llvm::StringRef Bin : llvm::split(Path, ':'))
      if (fs::exists(Bin + "/python3"))
        addWheelFolders(path::parent_path(Bin), Wheels);
  addWheelFolders("/usr/local", Wheels);
  addWheelFolders("/usr", Wheels);
  llvm::sort(Wheels);
  Folders.append(Wheels.begin(), Wheels.end());
  return Folders;
}

/// NVRTC opens its second library by name alone, which finds it only where the
/// loader looks: load it beforehand from the same folder.
void openBuiltins(llvm::StringRef Folder) {
  std::error_code Failed;
  for (fs::directory_iterator File(Folder, Failed), End; !Failed && File != End;
       File.increment(Failed))
    if (path::filename(File->path()).starts_with("libnvrtc-builtins.so."))
      dlopen(File->path().c_str(), RTLD_NOW | RTLD_GLOBAL);
}

void *openLibrary() {
  for (const std::string &Folder : getFolders())
    for (llvm::StringRef Name :
         {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
      std::string File =
          Folder.empty() ? Name.str() : Folder + "/" + Name.str();
      void *Library = dlopen(File.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!Library)
        continue;
      if (!Folder.empty())
        openBuiltins(Folder);
      return Library;
    }
  return nullptr;
}

template <typename Function>
bool bind(void *Library, const char *Name, Function &Out) {
  Out = reinterpret_cast<Function>(dlsym(Library, Name));
  return Out != nullptr;
}

NVRTC loadNVRTC() {
  NVRTC N{};
  void *Library = openLibrary();
  if (!Library)
    N.Error = "libnvrtc.so was not found: install the CUDA toolkit or the "
              "Python wheel nvidia-cuda-nvrtc";
  else if (!bind(Library, "nvrtcCreateProgram", N.CreateProgram) ||
           !bind(Library, "nvrtcCompileProgram", N.CompileProgram) ||
           !bind(Library, "nvrtcGetCUBINSize", N.GetCUBINSize) ||
           !bind(Library, "nvrtcGetCUBIN", N.GetCUBIN) ||
           !bind(Library, "nvrtcGetProgramLogSize", N.GetProgramLogSize) ||
           !bind(Library, "nvrtcGetProgramLog", N.GetProgramLog) ||
           !bind(Library, "nvrtcDestroyProgram", N.DestroyProgram) ||
           !bind(Library, "nvrtcGetErrorString", N.GetErrorString))
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

} // namespace

bool remat::cuda::compileSource(llvm::StringRef Source, llvm::StringRef Arch,
                                std::vector<uint8_t> &Cubin,
                                std::string &Error) {
  if (!llvm::is_contained(Architectures, Arch)) {
    Error = "no such architecture: '" + Arch.str() + "'; known are " +
            llvm::join(getArchitectures(), ", ");
    return false;
  }
  const NVRTC &N = getNVRTC();
  if (!N.Error.empty()) {
    Error = N.Error;
    return false;
  }
  Program P = nullptr;
  int Code = N.CreateProgram(&P, Source.str().c_str(), "program.cu", 0, nullptr,
                             nullptr);
  if (Code != 0) {
    Error = std::string("NVRTC made no program: ") + N.GetErrorString(Code);
    return false;
  }
  std::string ArchOption = "--gpu-architecture=" + Arch.str();
  const char *Options[] = {ArchOption.c_str(), "--std=c++17"};
  Code = N.CompileProgram(P, std::size(Options), Options);
  size_t Size = 0;
  if (Code == 0)
    Code = N.GetCUBINSize(P, &Size);
  if (Code == 0) {
    Cubin.resize(Size);
    Code = N.GetCUBIN(P, reinterpret_cast<char *>(Cubin.data()));
  }
  if (Code != 0)
    Error = std::string("NVRTC failed: ") + N.GetErrorString(Code) + "\n" +
            getLog(N, P);
  N.DestroyProgram(&P);
  return Code == 0;
}
