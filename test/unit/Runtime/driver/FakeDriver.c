/* A stand-in for libcuda.so.1 without a GPU: device memory is the host's, and a
 * copy is done when its stream is waited for or goes on to other work, as late
 * as CUDA allows. Each kernel adds numbers. What no test
 * calls is missing behind its name.
 *
 * The test reads and sets `fake`. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct {
  int Refuses;            /* allocations of host memory fail */
  int Pinned, Pending;    /* blocks of host memory, copies not done */
  int Created, Destroyed; /* streams */
  int FreedWhilePending;  /* host memory that copies still read */
  void *Foreign;          /* a stream of another context */
  int Stuck;        /* not 0: no stream ends, but so many copies are done */
  char Log[4096];   /* what streams do to each other, and kernels */
  char Graph[4096]; /* captured kernels: "number<those it waits for; ", with a
                       "!" where it may start before those are done */
} fake;

static struct {
  void *To;
  const void *From;
  size_t Bytes;
} Queue[64];

static int wait(void) {
  for (int I = 0; I < fake.Pending; ++I)
    memcpy(Queue[I].To, Queue[I].From, Queue[I].Bytes);
  fake.Pending = 0;
  return 0;
}

/* Adds "what stream number, " to the log. */
void fakeLog(const char *What, void *Stream, int Number) {
  size_t Length = strlen(fake.Log);
  int Of = (int)(((char *)Stream - (char *)Queue) / (long)sizeof Queue[0]);
  snprintf(fake.Log + Length, sizeof fake.Log - Length,
           Number < 0 ? "%s %d, " : "%s %d %d, ", What, Of, Number);
}

int cuInit(unsigned Flags) { return 0; }
int cuDriverGetVersion(int *Version) { return *Version = 13000, 0; }
int cuDeviceGetCount(int *Count) { return *Count = 1, 0; }
int cuDeviceGet(int *Device, int Number) { return *Device = Number, 0; }
int cuDeviceGetName(char *Name, int Size, int D) {
  return strncpy(Name, "fake", Size), 0;
}
int cuDeviceGetAttribute(int *Value, int What, int D) {
  return *Value = What == 75 ? 9 : 0, 0;
}
int cuDevicePrimaryCtxRetain(void **Context, int D) {
  return *Context = &fake, 0;
}
int cuStreamGetCtx(void *Stream, void **Context) {
  return *Context = Stream == fake.Foreign ? NULL : (void *)&fake, 0;
}
int cuStreamCreate(void **Stream, unsigned Flags) {
  return *Stream = &Queue[fake.Created++], 0;
}
int cuStreamDestroy_v2(void *Stream) { return ++fake.Destroyed, 0; }
int cuStreamSynchronize(void *Stream) { return wait(); }
int cuCtxSynchronize(void) { return wait(); }
int cuMemAlloc_v2(void **Address, size_t Bytes) {
  return (*Address = malloc(Bytes)) ? 0 : 2;
}
int cuMemFree_v2(void *Address) { return free(Address), 0; }
int cuMemGetInfo_v2(size_t *Free, size_t *Total) {
  return *Free = *Total = 1 << 20, 0;
}
int cuMemHostAlloc(void **Address, size_t Bytes, unsigned Flags) {
  if (fake.Refuses || Flags != 1)
    return 2;
  ++fake.Pinned;
  return (*Address = malloc(Bytes)) ? 0 : 2;
}
int cuMemFreeHost(void *Address) {
  --fake.Pinned;
  fake.FreedWhilePending += fake.Pending;
  return free(Address), 0;
}
static int copy(void *To, const void *From, size_t Bytes) {
  if (fake.Pending == 64)
    return 1;
  Queue[fake.Pending].To = To;
  Queue[fake.Pending].From = From;
  Queue[fake.Pending++].Bytes = Bytes;
  return 0;
}
int cuMemcpyHtoDAsync_v2(void *To, const void *From, size_t Bytes, void *S) {
  return copy(To, From, Bytes);
}
int cuMemcpyDtoHAsync_v2(void *To, const void *From, size_t Bytes, void *S) {
  return copy(To, From, Bytes);
}
int cuMemcpyDtoDAsync_v2(void *To, const void *From, size_t Bytes, void *S) {
  return copy(To, From, Bytes);
}
int cuMemsetD8Async(void *To, unsigned char Value, size_t Bytes, void *S) {
  return wait(), memset(To, Value, Bytes), 0;
}
int cuModuleLoadData(void **Module, const void *Image) {
  return *Module = &fake, 0;
}
int cuModuleUnload(void *Module) { return 0; }
int cuModuleGetFunction(void **Function, void *Module, const char *Name) {
  return *Function = &fake, 0;
}
int cuFuncGetParamInfo(void *Function, size_t I, size_t *At, size_t *Bytes) {
  return *At = I * 8, *Bytes = 8, 0;
}
/* CUlaunchConfig. */
struct LaunchConfig {
  unsigned Grid[3], Block[3], SharedBytes;
  void *Stream;
  const void *Attributes;
  unsigned NumAttributes;
};
/* What is captured is done at once, and launched as nothing. A node is noted
 * with those that it waits for. */
static intptr_t Nodes;
static void *Captured[64]; /* what the next node waits for */
static size_t NumCaptured;
static int IsCapturing;
int cuStreamBeginCapture_v2(void *Stream, int Mode) {
  Nodes = NumCaptured = 0;
  IsCapturing = 1;
  return 0;
}
int cuStreamGetCaptureInfo_v2(void *Stream, int *Status, long long *Id,
                              void **Graph, void ***Out, size_t *Count) {
  return *Status = 1, *Out = Captured, *Count = NumCaptured, 0;
}
int cuStreamUpdateCaptureDependencies(void *Stream, void **Before, size_t Count,
                                      unsigned Flags) {
  if (Count > 64 || Flags != 1)
    return 1;
  memmove(Captured, Before, Count * sizeof *Before);
  return NumCaptured = Count, 0;
}
int cuStreamEndCapture(void *Stream, void **Graph) {
  return IsCapturing = 0, *Graph = &fake, 0;
}
/* Adds a kernel to what is captured. */
static void capture(int StartsEarly) {
  size_t Length = strlen(fake.Graph);
  char *At = fake.Graph + Length, *End = fake.Graph + sizeof fake.Graph;
  At += snprintf(At, End - At, "%ld<", (long)++Nodes);
  for (size_t I = 0; I < NumCaptured; ++I)
    At += snprintf(At, End - At, I ? " %ld" : "%ld", (long)Captured[I]);
  snprintf(At, End - At, StartsEarly ? "!; " : "; ");
  Captured[0] = (void *)Nodes;
  NumCaptured = 1;
}
/* Parameters: two addresses of floats, that of their sums, and how many. */
int cuLaunchKernelEx(const struct LaunchConfig *Config, void *Function,
                     void **Parameters, void **Extra) {
  fakeLog("add", Config->Stream, -1);
  if (IsCapturing)
    capture(Config->NumAttributes != 0);
  wait();
  float *Lhs = *(float **)Parameters[0], *Rhs = *(float **)Parameters[1];
  float *Sum = *(float **)Parameters[2];
  for (long long I = 0; I < *(long long *)Parameters[3]; ++I)
    Sum[I] = Lhs[I] + Rhs[I];
  return 0;
}
int cuGetErrorName(int Code, const char **Name) { return *Name = "FAKE", 0; }
int cuGetErrorString(int Code, const char **Words) {
  return *Words = "refused by the test", 0;
}

int cuStreamQuery(void *Stream) {
  if (!fake.Stuck)
    return wait();
  for (int I = 0; I < fake.Stuck && I < fake.Pending; ++I)
    memcpy(Queue[I].To, Queue[I].From, Queue[I].Bytes);
  return 600;
}
int cuEventCreate(void **Event, unsigned Flags) {
  static intptr_t Count;
  return *Event = (void *)++Count, 0;
}
int cuEventDestroy_v2(void *Event) { return 0; }
int cuEventRecord(void *Event, void *Stream) {
  return fakeLog("record", Stream, (int)(intptr_t)Event), 0;
}
int cuStreamWaitEvent(void *Stream, void *Event, unsigned Flags) {
  return fakeLog("wait", Stream, (int)(intptr_t)Event), 0;
}
static _Atomic int Graphs;
int fakeCountGraphs(void) { return Graphs; }
int cuGraphInstantiateWithFlags(void **Exec, void *Graph, long long Flags) {
  return ++Graphs, *Exec = &fake, 0;
}
int cuGraphLaunch(void *Exec, void *Stream) { return 0; }
int cuGraphExecDestroy(void *Exec) { return --Graphs, 0; }
int cuGraphDestroy(void *Graph) { return 0; }

int cuCtxSetCurrent(void *Context) { return 0; }

/* clang-format off */
#define MISSING(Name) int Name(void) { return 801; }
MISSING(cuDeviceGetPCIBusId)
MISSING(cuDevicePrimaryCtxRelease_v2)
MISSING(cuFuncSetAttribute)
MISSING(cuEventSynchronize)
MISSING(cuEventElapsedTime)
