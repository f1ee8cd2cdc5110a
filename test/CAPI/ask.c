/* What a caller asks of compilations and sessions beside programs and numbers:
   diagnostics with their places, lines and progress, kept programs, threads,
   and steps that are interrupted. Exits with 0 if all holds. */

#include "check.h"
#include "remat-c/Compiler.h"
#include "remat-c/Runtime.h"
#include <pthread.h>
#include <unistd.h>

/* loss = mean((x w w ... w)^2): so many products that a step takes a while. */
enum { PRODUCTS = 40, SIZE = 256 };

static char Graph[1 << 14];

static void makeGraph(void) {
  char *at = Graph;
#define T "tensor<256x256xf32>"
  at += sprintf(at, "func.func @main(\n"
                    "    %%x0: " T " {remat.role = #remat.role<input>, "
                    "remat.name = \"x\"},\n"
                    "    %%w: " T " {remat.role = #remat.role<parameter>, "
                    "remat.name = \"w\", "
                    "remat.init = #remat.init<normal, 0.05>})\n"
                    "    -> (tensor<f32> {remat.role = #remat.role<loss>, "
                    "remat.name = \"loss\"}) {\n");
  for (int i = 0; i < PRODUCTS; ++i)
    at += sprintf(
        at, "  %%x%d = remat.matmul %%x%d, %%w : (" T ", " T ") -> " T "\n",
        i + 1, i);
  at += sprintf(at,
                "  %%y = remat.mul %%x%d, %%x%d : (" T ", " T ") -> " T "\n"
                "  %%loss = remat.reduce <mean> %%y, [0, 1] : (" T
                ") -> tensor<f32>\n"
                "  return %%loss : tensor<f32>\n}\n",
                PRODUCTS, PRODUCTS);
#undef T
  CHECK(at < Graph + sizeof Graph);
}

static RematOptions makeOptions(void) {
  RematOptions options = rematOptionsCreate();
  OK(rematOptionsSet(options, "optimizer", "sgd"));
  OK(rematOptionsSet(options, "effort", "0"));
  return options;
}

/* The first line that was logged and how many there were. */
struct Log {
  char first[256];
  int count;
};

static void keepLine(void *data, const char *message) {
  struct Log *log = data;
  if (log->count++ == 0)
    snprintf(log->first, sizeof log->first, "%s", message);
}

static void testDiagnostics(void) {
  RematOptions options = makeOptions();
  RematProgram program = NULL;
  /* %b is not defined in line 2. */
  static const char wrong[] = "func.func @main(%a: tensor<2xf32>) {\n"
                              "  %c = remat.neg %b : tensor<2xf32>\n"
                              "  return\n}\n";
  RematStatus status = rematCompile(wrong, strlen(wrong), options, &program);
  CHECK(rematStatusGetCode(status) == REMAT_ERROR);
  CHECK(rematStatusGetNumDiagnostics(status) >= 1);
  RematDiagnostic said;
  CHECK(rematStatusGetDiagnostic(status, 0, &said));
  CHECK(!said.note && strcmp(said.file, "graph") == 0);
  CHECK(said.line == 2 && said.column == 18 &&
        strstr(said.message, "undeclared"));
  CHECK(strstr(rematStatusGetMessage(status), "graph:2:18: "));
  CHECK(!rematStatusGetDiagnostic(status, 99, &said));
  rematStatusDestroy(status);

  /* A refusal says where its peak is. */
  OK(rematOptionsSet(options, "budget", "1M"));
  status = rematCompile(Graph, strlen(Graph), options, &program);
  CHECK(rematStatusGetCode(status) == REMAT_REFUSED);
  size_t count = rematStatusGetNumDiagnostics(status), notes = 0, places = 0;
  for (size_t i = 0; i < count; ++i) {
    CHECK(rematStatusGetDiagnostic(status, i, &said));
    notes += said.note != 0;
    places += said.note && said.line > 1 && strcmp(said.file, "graph") == 0;
  }
  CHECK(notes == count - 1 && places >= 2);
  CHECK(strstr(rematProgramGetReport(program), "\"proven\":true"));
  rematProgramDestroy(program);
  rematStatusDestroy(status);
  /* Other errors have none. */
  status = rematOptionsSet(options, "budget", "much");
  CHECK(status && rematStatusGetNumDiagnostics(status) == 0);
  rematStatusDestroy(status);
  CHECK(rematStatusGetNumDiagnostics(NULL) == 0);
  rematOptionsDestroy(options);
}

static void testCacheAndLog(void) {
  char folder[] = "capi-cache-XXXXXX";
  CHECK(mkdtemp(folder));
  RematOptions options = makeOptions();
  OK(rematOptionsSetCache(options, folder));
  struct Log log = {"", 0};
  OK(rematOptionsSetLog(options, keepLine, &log));
  RematProgram programs[2] = {NULL, NULL};
  size_t lengths[2];
  const uint8_t *bytes[2];
  for (int i = 0; i < 2; ++i) {
    OK(rematCompile(Graph, strlen(Graph), options, &programs[i]));
    bytes[i] = rematProgramGetBytes(programs[i], &lengths[i]);
  }
  CHECK(strstr(rematProgramGetReport(programs[0]), "\"from_cache\":false"));
  CHECK(strstr(rematProgramGetReport(programs[1]), "\"from_cache\":true"));
  CHECK(lengths[0] == lengths[1] && !memcmp(bytes[0], bytes[1], lengths[0]));
  CHECK(log.count == 1 && strstr(log.first, "from the cache"));
  rematProgramDestroy(programs[1]);

  /* A folder that cannot be is said, and is no error. */
  char path[64];
  snprintf(path, sizeof path, "%s/file", folder);
  FILE *file = fopen(path, "w");
  CHECK(file && fclose(file) == 0);
  snprintf(path, sizeof path, "%s/file/cache", folder);
  OK(rematOptionsSetCache(options, path));
  log.count = 0;
  OK(rematCompile(Graph, strlen(Graph), options, &programs[1]));
  CHECK(log.count == 1 && strstr(log.first, "is not kept"));
  rematProgramDestroy(programs[1]);

  /* Off again; and what `max` became. */
  OK(rematOptionsSetCache(options, "off"));
  OK(rematOptionsSet(options, "budget", "max"));
  log.count = 0;
  OK(rematCompile(Graph, strlen(Graph), options, &programs[1]));
  CHECK(log.count == 1 && strstr(log.first, "budget: max is "));
  CHECK(!strstr(rematProgramGetReport(programs[1]), "\"budget_bytes\":null"));
  OK(rematOptionsSetLog(options, NULL, NULL));
  rematProgramDestroy(programs[0]);
  rematProgramDestroy(programs[1]);
  rematOptionsDestroy(options);
  char command[96];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
}

static void keepProgress(void *data, const RematProgress *progress) {
  RematProgress *last = data;
  *last = *progress;
}

static void testWatch(void) {
  RematOptions options = makeOptions();
  OK(rematOptionsSet(options, "budget", "60%"));
  RematProgress last = {-1, -1, -1, -1, -1};
  OK(rematOptionsSetWatch(options, keepProgress, &last));
  RematProgram program = NULL;
  OK(rematCompile(Graph, strlen(Graph), options, &program));
  CHECK(last.seconds >= 0 && last.smallest_found_bytes > 0);
  rematProgramDestroy(program);
  rematOptionsDestroy(options);
}

/* One step on the host; the parameter's bytes afterwards. */
struct Run {
  RematSession session;
  RematCode code;
};

static void *runStep(void *argument) {
  struct Run *run = argument;
  RematStatus status = rematSessionRunStep(run->session);
  run->code = rematStatusGetCode(status);
  CHECK(!status || strstr(rematStatusGetMessage(status), "was interrupted"));
  rematStatusDestroy(status);
  return NULL;
}

static float X[SIZE * SIZE];

static RematCode runOnce(RematSession session, int interrupts) {
  OK(rematSessionWrite(session, "x", X, sizeof X));
  struct Run run = {session, REMAT_OK};
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, runStep, &run) == 0);
  if (interrupts) {
    usleep(10000);
    rematSessionInterrupt(session);
  }
  CHECK(pthread_join(thread, NULL) == 0);
  return run.code;
}

static void testSteps(void) {
  RematOptions options = makeOptions();
  RematProgram program = NULL;
  OK(rematCompile(Graph, strlen(Graph), options, &program));
  rematOptionsDestroy(options);
  size_t length;
  const uint8_t *bytes = rematProgramGetBytes(program, &length);
  for (int i = 0; i < SIZE * SIZE; ++i)
    X[i] = (float)(i % 7) - 3;

  RematDevice device = NULL;
  FAILS(rematDeviceCreateWithThreads("host", 1025, &device), REMAT_ERROR,
        "threads is 1025");
  FAILS(rematDeviceCreateOnStream("host", &device, &device), REMAT_ERROR,
        "the host has no streams");
  CHECK(device == NULL);
  FAILS(rematDeviceCreateOnStream(NULL, NULL, &device), REMAT_ERROR,
        "name and device");
  OK(rematDeviceCreateOnStream("host", NULL, &device));
  CHECK(rematDeviceGetStream(device) == NULL);
  rematDeviceDestroy(device);
  char before[65], digests[2][65];
  for (int i = 0; i < 2; ++i) {
    OK(rematDeviceCreateWithThreads("host", i ? 2 : 1, &device));
    RematSession session = NULL;
    OK(rematSessionCreate(bytes, length, device, 1, &session));
    OK(rematSessionGetParametersDigest(session, before));
    if (i) {
      /* While it runs: no parameter has changed, and it can be run again. */
      CHECK(runOnce(session, 1) == REMAT_INTERRUPTED);
      OK(rematSessionGetParametersDigest(session, digests[1]));
      CHECK(strcmp(before, digests[1]) == 0);
      /* Before it begins: the next one is the one. */
      rematSessionInterrupt(session);
      CHECK(runOnce(session, 0) == REMAT_INTERRUPTED);
    }
    CHECK(runOnce(session, 0) == REMAT_OK);
    OK(rematSessionGetParametersDigest(session, digests[i]));
    CHECK(strcmp(before, digests[i]) != 0);
    rematSessionDestroy(session);
    rematDeviceDestroy(device);
  }
  CHECK(strcmp(digests[0], digests[1]) == 0);
  rematSessionInterrupt(NULL);
  rematProgramDestroy(program);
}

int main(void) {
  makeGraph();
  testDiagnostics();
  testCacheAndLog();
  testWatch();
  testSteps();
  return 0;
}
