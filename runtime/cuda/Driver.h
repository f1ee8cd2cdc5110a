//===- Driver.h - the CUDA driver's functions -------------------*- C++ -*-===//
//
// The handful of driver functions that the device calls, declared here so that
// no CUDA header is needed to build it. Names, types and numbers are those of
// the CUDA driver API, whose binary interface is stable.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_DRIVER_H
#define REMAT_RUNTIME_CUDA_DRIVER_H

#include "remat/runtime/Result.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace remat::runtime::cuda {

using Code = int; ///< CUresult
using Ordinal = int;
using Address = unsigned long long; ///< CUdeviceptr
struct OpaqueContext;
struct OpaqueStream;
struct OpaqueModule;
struct OpaqueFunction;
struct OpaqueGraph;
struct OpaqueGraphExec;
struct OpaqueGraphNode;
struct OpaqueEvent;
using Context = OpaqueContext *;
using Stream = OpaqueStream *;
using Module = OpaqueModule *;
using Function = OpaqueFunction *;
using Graph = OpaqueGraph *;
using GraphExec = OpaqueGraphExec *;
using GraphNode = OpaqueGraphNode *;
using Event = OpaqueEvent *;

inline constexpr Code Success = 0, OutOfMemoryCode = 2, NotReady = 600;
inline constexpr int ComputeMajor = 75,
                     ComputeMinor = 76;         ///< device attributes
inline constexpr int MaxDynamicSharedBytes = 8; ///< function attribute
inline constexpr unsigned NonBlocking = 1;      ///< stream flag
inline constexpr unsigned PortableHost = 1;     ///< host memory flag
inline constexpr int CaptureRelaxed = 2;        ///< capture mode
inline constexpr unsigned NoTiming = 2;         ///< event flag

inline constexpr int EarlyStart = 6; ///< launch attribute

/// CUlaunchAttribute, of which one is used here: that a kernel may be started
/// while what is before it on the stream ends.
struct LaunchAttribute {
  int Id;
  alignas(8) int Value;
  char Rest[60];
};
/// CUlaunchConfig.
struct LaunchConfig {
  unsigned Grid[3], Block[3], SharedBytes;
  Stream On;
  const LaunchAttribute *Attributes;
  unsigned NumAttributes;
};

/// The functions by the names that the driver exports.
struct Driver {
  Code (*Init)(unsigned) = nullptr;
  Code (*DriverGetVersion)(int *) = nullptr;
  Code (*DeviceGetCount)(int *) = nullptr;
  Code (*DeviceGet)(Ordinal *, int) = nullptr;
  Code (*DeviceGetName)(char *, int, Ordinal) = nullptr;
  Code (*DeviceGetAttribute)(int *, int, Ordinal) = nullptr;
  Code (*DeviceGetPCIBusId)(char *, int, Ordinal) = nullptr;
  Code (*PrimaryRetain)(Context *, Ordinal) = nullptr;
  Code (*PrimaryRelease)(Ordinal) = nullptr;
  Code (*SetCurrent)(Context) = nullptr;
  Code (*ContextSynchronize)() = nullptr;
  Code (*MemAlloc)(Address *, size_t) = nullptr;
  Code (*MemFree)(Address) = nullptr;
  Code (*MemGetInfo)(size_t *, size_t *) = nullptr;
  Code (*MemHostAlloc)(void **, size_t, unsigned) = nullptr;
  Code (*MemFreeHost)(void *) = nullptr;
  Code (*CopyIn)(Address, const void *, size_t, Stream) = nullptr;
  Code (*CopyOut)(void *, Address, size_t, Stream) = nullptr;
  Code (*CopyWithin)(Address, Address, size_t, Stream) = nullptr;
  Code (*Fill)(Address, unsigned char, size_t, Stream) = nullptr;
  Code (*StreamCreate)(Stream *, unsigned) = nullptr;
  Code (*StreamGetContext)(Stream, Context *) = nullptr;
  Code (*StreamSynchronize)(Stream) = nullptr;
  Code (*StreamQuery)(Stream) = nullptr;
  Code (*StreamWaitEvent)(Stream, Event, unsigned) = nullptr;
  Code (*StreamDestroy)(Stream) = nullptr;
  Code (*BeginCapture)(Stream, int) = nullptr;
  Code (*EndCapture)(Stream, Graph *) = nullptr;
  Code (*GetCaptureInfo)(Stream, int *, unsigned long long *, Graph *,
                         const GraphNode **, size_t *) = nullptr;
  Code (*UpdateCaptureDependencies)(Stream, const GraphNode *, size_t,
                                    unsigned) = nullptr;
  Code (*GraphInstantiate)(GraphExec *, Graph, unsigned long long) = nullptr;
  Code (*GraphLaunch)(GraphExec, Stream) = nullptr;
  Code (*GraphExecDestroy)(GraphExec) = nullptr;
  Code (*GraphDestroy)(Graph) = nullptr;
  Code (*ModuleLoadData)(Module *, const void *) = nullptr;
  Code (*ModuleUnload)(Module) = nullptr;
  Code (*ModuleGetFunction)(Function *, Module, const char *) = nullptr;
  Code (*FuncSetAttribute)(Function, int, int) = nullptr;
  Code (*FuncGetParamInfo)(Function, size_t, size_t *, size_t *) = nullptr;
  Code (*LaunchKernelEx)(const LaunchConfig *, Function, void **,
                         void **) = nullptr;
  Code (*EventCreate)(Event *, unsigned) = nullptr;
  Code (*EventRecord)(Event, Stream) = nullptr;
  Code (*EventSynchronize)(Event) = nullptr;
  Code (*EventElapsed)(float *, Event, Event) = nullptr;
  Code (*EventDestroy)(Event) = nullptr;
  Code (*GetErrorName)(Code, const char **) = nullptr;
  Code (*GetErrorString)(Code, const char **) = nullptr;

  /// Loads libcuda and initialises it.
  static Result<Driver> load();

  /// An error for a call that returned `Number`: what was done, the driver's
  /// name for the error and its words.
  Error makeError(Code Number, const std::string &What) const;
  /// Success, or that error.
  Status check(Code Number, const std::string &What) const {
    if (Number == Success)
      return {};
    return makeError(Number, What);
  }
};

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_DRIVER_H
