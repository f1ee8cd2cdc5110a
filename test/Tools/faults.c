/* A library for LD_PRELOAD: one call of a tool fails.
 *
 * REMAT_FAULT is "KIND:N": the N-th call (from 0) of KIND fails, once. "new" is
 * operator new, "memory" the C library's allocation (MLIR does not look at what
 * malloc gives it where it registers interfaces: for tools without it), "file"
 * what opens, reads and writes. Calls count from the moment at which the tool
 * has set up how it ends on errors, which it shows by ignoring SIGPIPE. With N
 * = -1 none fails, and their number is written to the file REMAT_FAULT_COUNT at
 * the end. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum Kind { New, Memory, File };
static atomic_int Started;
static enum Kind Failing;
static atomic_long Calls;
static long FailAt = -1;

static int fails(enum Kind Of) {
  if (!Started || Of != Failing)
    return 0;
  return atomic_fetch_add(&Calls, 1) == FailAt;
}

#define REAL(Name) ((__typeof__(&Name))dlsym(RTLD_NEXT, #Name))

void (*signal(int Number, void (*Handler)(int)))(int) {
  const char *Fault = getenv("REMAT_FAULT");
  if (Number == SIGPIPE && Fault && !Started) {
    Failing = strncmp(Fault, "file:", 5) == 0  ? File
              : strncmp(Fault, "new:", 4) == 0 ? New
                                               : Memory;
    FailAt = atol(strchr(Fault, ':') + 1);
    Started = 1;
  }
  return REAL(signal)(Number, Handler);
}

static __attribute__((destructor)) void report(void) {
  const char *Path = getenv("REMAT_FAULT_COUNT");
  if (!Path || !Started)
    return;
  Started = 0;
  FILE *Out = fopen(Path, "w");
  fprintf(Out, "%ld\n", (long)Calls);
  fclose(Out);
}

/* operator new(size_t); one of half the address space fails as any other does:
 * by the handler that the tool has set, or an exception. */
void *_Znwm(size_t Bytes) {
  static void *(*Real)(size_t);
  if (!Real)
    Real = (void *(*)(size_t))dlsym(RTLD_NEXT, "_Znwm");
  return Real(fails(New) ? (size_t)1 << 62 : Bytes);
}

/* The C library's own entries: dlsym itself allocates. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t Bytes) {
  if (!fails(Memory))
    return __libc_malloc(Bytes);
  errno = ENOMEM;
  return NULL;
}
void *calloc(size_t Count, size_t Bytes) {
  if (!fails(Memory))
    return __libc_calloc(Count, Bytes);
  errno = ENOMEM;
  return NULL;
}
void *realloc(void *Old, size_t Bytes) {
  if (!fails(Memory))
    return __libc_realloc(Old, Bytes);
  errno = ENOMEM;
  return NULL;
}
void *aligned_alloc(size_t Alignment, size_t Bytes) {
  if (!fails(Memory))
    return __libc_memalign(Alignment, Bytes);
  errno = ENOMEM;
  return NULL;
}
int posix_memalign(void **To, size_t Alignment, size_t Bytes) {
  if (fails(Memory))
    return ENOMEM;
  *To = __libc_memalign(Alignment, Bytes);
  return *To ? 0 : ENOMEM;
}

#define FILE_CALL(Type, Name, Parameters, Arguments, Number)                   \
  Type Name Parameters {                                                       \
    if (!fails(File))                                                          \
      return REAL(Name) Arguments;                                             \
    errno = Number;                                                            \
    return -1;                                                                 \
  }
FILE_CALL(ssize_t, write, (int F, const void *D, size_t N), (F, D, N), ENOSPC)
FILE_CALL(ssize_t, read, (int F, void *D, size_t N), (F, D, N), EIO)
FILE_CALL(ssize_t, pread, (int F, void *D, size_t N, off_t A), (F, D, N, A),
          EIO)
FILE_CALL(int, fsync, (int F), (F), EIO)
FILE_CALL(int, fchmod, (int F, mode_t M), (F, M), EPERM)
FILE_CALL(int, rename, (const char *A, const char *B), (A, B), EIO)

int open(const char *Path, int Flags, ...) {
  va_list Rest;
  va_start(Rest, Flags);
  mode_t Mode = Flags & O_CREAT ? va_arg(Rest, mode_t) : 0;
  va_end(Rest);
  if (!fails(File))
    return REAL(open)(Path, Flags, Mode);
  errno = EACCES;
  return -1;
}
