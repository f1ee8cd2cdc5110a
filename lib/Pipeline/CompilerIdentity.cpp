//===- CompilerIdentity.cpp - which build of the compiler this is ---------===//

#include "remat/Pipeline.h"
#include "remat/Support/Modules.h"
#include "remat/Target/CUDA/Emission.h"

using namespace remat;

std::string remat::describeCompiler() {
  // Everything of the project is in one module, and LLVM may be too.
  static constexpr std::string_view Prefixes[] = {"libLLVM", "libMLIR"};
  static const char Here = 0;
  return describeModuleOf(&Here) + "\n" + describeModules(Prefixes);
}

std::string remat::describeKernelCompiler(llvm::StringRef Device) {
  return Device == "cuda" ? cuda::describeNVRTC() : std::string();
}
