/*===- MPIFunctions.h - the calls of MPI that ranks make ----------*- C -*-===*\
|*                                                                            *|
|* Types and constants of MPI differ between its libraries, so the calls are  *|
|* in a library of their own, libremat-mpi.so, which is loaded where mpirun   *|
|* or srun started the process. Nothing else of the project needs MPI.        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REMAT_RUNTIME_COMM_MPIFUNCTIONS_H
#define REMAT_RUNTIME_COMM_MPIFUNCTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Data, and what ranks say of themselves at any time. */
enum RematMPIChannel { RematMPIData, RematMPINotes };

typedef struct {
  void *Handle;
} RematMPIRequest;

/* Each function gives null, or what went wrong in words, which stay until the
 * next call. */
typedef struct {
  /* Joins the others. `Local` is the rank among those of this machine. */
  const char *(*start)(int *Rank, int *Size, int *Local);
  const char *(*send)(enum RematMPIChannel, const void *Data, int Bytes,
                      int Peer, RematMPIRequest *);
  const char *(*receive)(enum RematMPIChannel, void *Data, int Bytes, int Peer,
                         RematMPIRequest *);
  /* Whether it is done, and if it is a receive, how many bytes came. */
  const char *(*test)(RematMPIRequest *, int *Done, int *Bytes);
  /* Takes a receive back. */
  const char *(*drop)(RematMPIRequest *);
  /* Whether a note is there, of whom, and its size. */
  const char *(*probe)(int *Found, int *Peer, int *Bytes);
  const char *(*startBarrier)(RematMPIRequest *);
  /* Leaves for good; waits for the others to do so. */
  const char *(*finish)(void);
} RematMPI;

#define REMAT_MPI_SYMBOL "rematGetMPI"
const RematMPI *rematGetMPI(void);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_RUNTIME_COMM_MPIFUNCTIONS_H */
