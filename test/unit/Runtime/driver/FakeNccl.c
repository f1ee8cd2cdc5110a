/* A stand-in for libnccl.so.2, beside that of the driver: calls are done at
 * once and noted in its log. The other ranks have 100 more than this one where
 * numbers are added, and bytes of 7 where they are moved.
 *
 * The test reads and sets `fakeNccl`. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct {
  int InProgress; /* so often a call is not done */
  int Error;      /* what communicators have met */
  int Aborted, Destroyed;
} fakeNccl;

void fakeLog(const char *What, void *Stream, int Number);
int fakeCountGraphs(void);
int cuStreamQuery(void *Stream);

struct Comm {
  int Rank, Size;
};
struct Id {
  char Bytes[128];
};

static int begin(struct Comm **Out, int Rank, int Size) {
  *Out = malloc(sizeof **Out);
  (*Out)->Rank = Rank;
  (*Out)->Size = Size;
  return fakeNccl.InProgress ? 7 : 0;
}
int ncclGetUniqueId(struct Id *Out) { return memset(Out, 5, sizeof *Out), 0; }
int ncclCommInitRankConfig(struct Comm **Out, int Size, struct Id Id, int Rank,
                           void *Config) {
  for (size_t I = 0; I < sizeof Id.Bytes; ++I)
    if (Id.Bytes[I] != 5)
      return 4;
  return begin(Out, Rank, Size);
}
int ncclCommSplit(struct Comm *From, int Color, int Key, struct Comm **Out,
                  void *Config) {
  return begin(Out, Key - Color, 2);
}
int ncclCommGetAsyncError(struct Comm *Of, int *Out) {
  *Out = fakeNccl.Error;
  if (fakeNccl.InProgress)
    return --fakeNccl.InProgress, *Out = 7, 0;
  return 0;
}
int ncclCommDestroy(struct Comm *Of) {
  return ++fakeNccl.Destroyed, free(Of), 0;
}
/* As NCCL does, it waits for the graphs that hold the communicator. */
int ncclCommAbort(struct Comm *Of) {
  while (fakeCountGraphs())
    usleep(1000);
  return ++fakeNccl.Aborted, free(Of), 0;
}
const char *ncclGetErrorString(int Code) { return "refused by the test"; }
int ncclGroupStart(void) { return 0; }
int ncclGroupEnd(void) { return 0; }

/* Floats only. */
static int add(const float *From, float *To, size_t Count, int Type, int Kind) {
  if (Type != 7 || Kind != 0)
    return 4;
  for (size_t I = 0; I < Count; ++I)
    To[I] = From[I] + (From[I] + 100);
  return 0;
}
int ncclAllReduce(const void *From, void *To, size_t Count, int Type, int Kind,
                  struct Comm *C, void *Stream) {
  fakeLog("all_reduce", Stream, -1);
  return add(From, To, Count, Type, Kind);
}
int ncclReduceScatter(const void *From, void *To, size_t Count, int Type,
                      int Kind, struct Comm *C, void *Stream) {
  return add((const float *)From + C->Rank * Count, To, Count, Type, Kind);
}
int ncclAllGather(const void *From, void *To, size_t Count, int Type,
                  struct Comm *C, void *Stream) {
  if (Type != 1)
    return 4;
  memset(To, 7, C->Size * Count);
  memcpy((char *)To + C->Rank * Count, From, Count);
  return 0;
}
int ncclBroadcast(const void *From, void *To, size_t Count, int Type, int Root,
                  struct Comm *C, void *Stream) {
  if (Root == C->Rank)
    memmove(To, From, Count);
  else
    memset(To, 7, Count);
  return Type != 1;
}

static const void *Sent[64];
static int First, Last;
int ncclSend(const void *From, size_t Count, int Type, int Peer, struct Comm *C,
             void *Stream) {
  if (Peer == C->Rank)
    Sent[Last++ % 64] = From;
  return Type != 1;
}
int ncclRecv(void *To, size_t Count, int Type, int Peer, struct Comm *C,
             void *Stream) {
  if (Peer == C->Rank)
    memcpy(To, Sent[First++ % 64], Count);
  else
    memset(To, 7, Count);
  return Type != 1;
}
