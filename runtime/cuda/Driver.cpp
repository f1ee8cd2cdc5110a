//===- Driver.cpp - the CUDA driver's functions ---------------------------===//

#include "cuda/Driver.h"
#include "cuda/Library.h"

using namespace remat::runtime;
using namespace remat::runtime::cuda;

Result<Driver> Driver::load() {
  Result<Library> From = Library::open("libcuda.so.1");
  if (!From)
    return From.getError().within("no CUDA driver");
  Driver D;
  Status Bound;
  auto Bind = [&](const char *Symbol, auto *&Function) {
    if (Bound)
      Bound = bind(*From, Symbol, Function);
  };
  Bind("cuInit", D.Init);
  Bind("cuDriverGetVersion", D.DriverGetVersion);
  Bind("cuDeviceGetCount", D.DeviceGetCount);
  Bind("cuDeviceGet", D.DeviceGet);
  Bind("cuDeviceGetName", D.DeviceGetName);
  Bind("cuDeviceGetAttribute", D.DeviceGetAttribute);
  Bind("cuDeviceGetPCIBusId", D.DeviceGetPCIBusId);
  Bind("cuDevicePrimaryCtxRetain", D.PrimaryRetain);
  Bind("cuDevicePrimaryCtxRelease_v2", D.PrimaryRelease);
  Bind("cuCtxSetCurrent", D.SetCurrent);
  Bind("cuCtxSynchronize", D.ContextSynchronize);
  Bind("cuMemAlloc_v2", D.MemAlloc);
  Bind("cuMemFree_v2", D.MemFree);
  Bind("cuMemGetInfo_v2", D.MemGetInfo);
  Bind("cuMemHostAlloc", D.MemHostAlloc);
  Bind("cuMemFreeHost", D.MemFreeHost);
  Bind("cuMemcpyHtoDAsync_v2", D.CopyIn);
  Bind("cuMemcpyDtoHAsync_v2", D.CopyOut);
  Bind("cuMemcpyDtoDAsync_v2", D.CopyWithin);
  Bind("cuMemsetD8Async", D.Fill);
  Bind("cuStreamCreate", D.StreamCreate);
  Bind("cuStreamGetCtx", D.StreamGetContext);
  Bind("cuStreamSynchronize", D.StreamSynchronize);
  Bind("cuStreamQuery", D.StreamQuery);
  Bind("cuStreamWaitEvent", D.StreamWaitEvent);
  Bind("cuStreamDestroy_v2", D.StreamDestroy);
  Bind("cuStreamBeginCapture_v2", D.BeginCapture);
  Bind("cuStreamEndCapture", D.EndCapture);
  Bind("cuStreamGetCaptureInfo_v2", D.GetCaptureInfo);
  Bind("cuStreamUpdateCaptureDependencies", D.UpdateCaptureDependencies);
  Bind("cuGraphInstantiateWithFlags", D.GraphInstantiate);
  Bind("cuGraphLaunch", D.GraphLaunch);
  Bind("cuGraphExecDestroy", D.GraphExecDestroy);
  Bind("cuGraphDestroy", D.GraphDestroy);
  Bind("cuModuleLoadData", D.ModuleLoadData);
  Bind("cuModuleUnload", D.ModuleUnload);
  Bind("cuModuleGetFunction", D.ModuleGetFunction);
  Bind("cuFuncSetAttribute", D.FuncSetAttribute);
  Bind("cuFuncGetParamInfo", D.FuncGetParamInfo);
  Bind("cuLaunchKernelEx", D.LaunchKernelEx);
  Bind("cuEventCreate", D.EventCreate);
  Bind("cuEventRecord", D.EventRecord);
  Bind("cuEventSynchronize", D.EventSynchronize);
  Bind("cuEventElapsedTime", D.EventElapsed);
  Bind("cuEventDestroy_v2", D.EventDestroy);
  Bind("cuGetErrorName", D.GetErrorName);
  Bind("cuGetErrorString", D.GetErrorString);
  if (!Bound)
    return Bound.getError().within("the CUDA driver is too old");
  if (Status S = D.check(D.Init(0), "cannot initialise the CUDA driver"); !S)
    return Error(ErrorCode::Unavailable, S.getError().getMessage());
  return D;
}

Error Driver::makeError(Code Number, const std::string &What) const {
  const char *Name = nullptr, *Words = nullptr;
  GetErrorName(Number, &Name);
  GetErrorString(Number, &Words);
  ErrorCode Kind = Number == OutOfMemoryCode ? ErrorCode::OutOfMemory
                                             : ErrorCode::DeviceFailure;
  return Error(Kind, What + ": " + (Name ? Name : std::to_string(Number)) +
                         (Words ? std::string(" (") + Words + ")" : ""));
}
