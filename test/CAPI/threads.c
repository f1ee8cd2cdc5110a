/* A compilation that is interrupted, and sessions of several threads. Exits
   with 0 if all holds. */

#include "check.h"
#include "graph.h"
#include "remat-c/Compiler.h"
#include "remat-c/Runtime.h"
#include <math.h>
#include <pthread.h>

static void testInterrupt(void) {
  RematOptions options = rematOptionsCreate();
  rematOptionsInterrupt(options);
  RematProgram program = NULL;
  FAILS(rematCompile(Graph, strlen(Graph), options, &program), REMAT_ERROR,
        "interrupted while planning");
  CHECK(!program);
  rematOptionsDestroy(options);
  rematOptionsInterrupt(NULL);
}

/* What one of several threads does on the device that they share. */
struct Worker {
  RematDevice device;
  float w[2];
};

/* Compiles by itself and trains w from 0.5 towards x w = 1 in 50 steps. */
static void *work(void *argument) {
  struct Worker *worker = argument;
  RematOptions options = rematOptionsCreate();
  OK(rematOptionsSet(options, "optimizer", "sgd"));
  OK(rematOptionsSet(options, "learning-rate", "0.1"));
  RematProgram program = NULL;
  OK(rematCompile(Graph, strlen(Graph), options, &program));
  rematOptionsDestroy(options);
  size_t length = 0;
  const uint8_t *bytes = rematProgramGetBytes(program, &length);
  RematSession session = NULL;
  OK(rematSessionCreate(bytes, length, worker->device, 1, &session));
  rematProgramDestroy(program);
  const float x[8] = {1, 0, 0, 1, 1, 1, 2, 1}, y[4] = {1, 1, 1, 1};
  for (int step = 0; step < 50; ++step) {
    OK(rematSessionWrite(session, "x", x, sizeof x));
    OK(rematSessionWrite(session, "y", y, sizeof y));
    OK(rematSessionRunStep(session));
  }
  OK(rematSessionRead(session, "w", worker->w, sizeof worker->w));
  rematSessionDestroy(session);
  return NULL;
}

/* Sessions of one device from several threads: each gets what one alone gets.
 */
static void testThreads(void) {
  struct Worker alone = {0}, workers[4] = {{0}};
  OK(rematDeviceCreate("host", &alone.device));
  work(&alone);
  CHECK(alone.w[0] != 0.5f && isfinite(alone.w[0]));
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    workers[i].device = alone.device;
    CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < 4; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(memcmp(workers[i].w, alone.w, sizeof alone.w) == 0);
  }
  rematDeviceDestroy(alone.device);
}

int main(void) {
  testInterrupt();
  testThreads();
  return 0;
}
