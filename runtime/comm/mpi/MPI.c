/*===- MPI.c - the calls of MPI that ranks make ---------------------------===*/

#include "comm/MPIFunctions.h"
#include <mpi.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(void *),
               "a request of MPI is a number or an address");

static MPI_Comm Channels[2];
/* Whether MPI was started here, and not by the program around us. */
static int IsOurs;

/* The words for an error; null for none. */
static const char *describe(int Code) {
  static char Text[MPI_MAX_ERROR_STRING];
  int Length = 0;
  if (Code == MPI_SUCCESS)
    return NULL;
  if (MPI_Error_string(Code, Text, &Length) != MPI_SUCCESS)
    return "unknown error";
  return Text;
}

static MPI_Request get(const RematMPIRequest *From) {
  MPI_Request To;
  memcpy(&To, &From->Handle, sizeof To);
  return To;
}

static void set(RematMPIRequest *To, MPI_Request From) {
  To->Handle = NULL;
  memcpy(&To->Handle, &From, sizeof From);
}

/* Errors are returned; MPI would end the process. */
static int makeChannel(MPI_Comm *To) {
  int Code = MPI_Comm_dup(MPI_COMM_WORLD, To);
  return Code ? Code : MPI_Comm_set_errhandler(*To, MPI_ERRORS_RETURN);
}

static int getLocalRank(int *Local) {
  MPI_Comm Machine;
  int Code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                                 MPI_INFO_NULL, &Machine);
  if (Code)
    return Code;
  Code = MPI_Comm_rank(Machine, Local);
  MPI_Comm_free(&Machine);
  return Code;
}

static const char *start(int *Rank, int *Size, int *Local) {
  int IsStarted = 0, Provided = 0;
  int Code = MPI_Initialized(&IsStarted);
  /* One thread at a time, but not always the same. */
  if (!Code && !IsStarted) {
    Code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &Provided);
    IsOurs = !Code;
  }
  if (!Code)
    Code = makeChannel(&Channels[RematMPIData]);
  if (!Code)
    Code = makeChannel(&Channels[RematMPINotes]);
  if (!Code)
    Code = getLocalRank(Local);
  if (!Code)
    Code = MPI_Comm_rank(MPI_COMM_WORLD, Rank);
  if (!Code)
    Code = MPI_Comm_size(MPI_COMM_WORLD, Size);
  return describe(Code);
}

/* Gives what a call that begins something has made. */
static const char *begin(int Code, const MPI_Request *Made,
                         RematMPIRequest *Out) {
  set(Out, *Made);
  return describe(Code);
}

static const char *doSend(enum RematMPIChannel Channel, const void *Data,
                          int Bytes, int Peer, RematMPIRequest *Out) {
  MPI_Request R = MPI_REQUEST_NULL;
  return begin(MPI_Isend(Data, Bytes, MPI_BYTE, Peer, 0, Channels[Channel], &R),
               &R, Out);
}

static const char *doReceive(enum RematMPIChannel Channel, void *Data,
                             int Bytes, int Peer, RematMPIRequest *Out) {
  MPI_Request R = MPI_REQUEST_NULL;
  return begin(MPI_Irecv(Data, Bytes, MPI_BYTE, Peer, 0, Channels[Channel], &R),
               &R, Out);
}

static const char *doTest(RematMPIRequest *Of, int *Done, int *Bytes) {
  MPI_Request Request = get(Of);
  MPI_Status Status;
  int Code = MPI_Test(&Request, Done, &Status);
  if (!Code && *Done)
    Code = MPI_Get_count(&Status, MPI_BYTE, Bytes);
  set(Of, Request);
  return describe(Code);
}

static const char *drop(RematMPIRequest *Of) {
  MPI_Request Request = get(Of);
  int Code = MPI_Cancel(&Request);
  if (!Code)
    Code = MPI_Request_free(&Request);
  return describe(Code);
}

static const char *probe(int *Found, int *Peer, int *Bytes) {
  MPI_Status Status;
  int Code =
      MPI_Iprobe(MPI_ANY_SOURCE, 0, Channels[RematMPINotes], Found, &Status);
  if (!Code && *Found) {
    *Peer = Status.MPI_SOURCE;
    Code = MPI_Get_count(&Status, MPI_BYTE, Bytes);
  }
  return describe(Code);
}

static const char *startBarrier(RematMPIRequest *Out) {
  MPI_Request R = MPI_REQUEST_NULL;
  return begin(MPI_Ibarrier(Channels[RematMPINotes], &R), &R, Out);
}

static const char *finish(void) {
  return IsOurs ? describe(MPI_Finalize()) : NULL;
}

const RematMPI *rematGetMPI(void) {
  static const RematMPI Functions = {start, doSend, doReceive,    doTest,
                                     drop,  probe,  startBarrier, finish};
  return &Functions;
}
