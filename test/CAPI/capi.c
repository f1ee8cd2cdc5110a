/* Compiles a graph from memory, trains it for some steps, reads and writes
   tensors; then everything that must be refused. Exits with 0 if all holds. */

#include "check.h"
#include "graph.h"
#include "remat-c/Compiler.h"
#include "remat-c/Runtime.h"
#include <math.h>
#include <unistd.h>

static void testTraining(void) {
  RematOptions options = rematOptionsCreate();
  OK(rematOptionsSet(options, "optimizer", "sgd"));
  OK(rematOptionsSet(options, "learning-rate", "0.25"));
  OK(rematOptionsSet(options, "weight-decay", "0"));
  RematProgram program = NULL;
  OK(rematCompile(Graph, strlen(Graph), options, &program));
  CHECK(strstr(rematProgramGetReport(program), "\"predicted_peak_bytes\":"));

  RematDevice device = NULL;
  OK(rematDeviceCreate("host", &device));
  size_t length = 0;
  const uint8_t *bytes = rematProgramGetBytes(program, &length);
  RematSession session = NULL;
  OK(rematSessionCreate(bytes, length, device, 1, &session));

  /* Rows of the identity, twice: the gradient is (w - target) elementwise. */
  const float x[8] = {1, 0, 0, 1, 1, 0, 0, 1}, y[4] = {2, -1, 2, -1};
  float w[2] = {0, 0}, loss = 0;
  for (int step = 0; step < 3; ++step) {
    OK(rematSessionWrite(session, "x", x, sizeof x));
    OK(rematSessionWrite(session, "y", y, sizeof y));
    OK(rematSessionRunStep(session));
  }
  /* w - target begins at (-1.5, 1.5) and shrinks to 3/4 a step; the loss is
     taken before the update: 1.5^2 * (3/4)^4. */
  OK(rematSessionRead(session, "loss", &loss, sizeof loss));
  CHECK(fabsf(loss - 2.25f * 0.31640625f) < 1e-5f);
  OK(rematSessionRead(session, "w", w, sizeof w));
  CHECK(fabsf(w[0] - (2 - 1.5f * 0.421875f)) < 1e-5f);
  CHECK(fabsf(w[1] - (-1 + 1.5f * 0.421875f)) < 1e-5f);

  /* The host's memory is its device's; there is no queue. */
  const float zero[2] = {0, 0};
  CHECK(!rematDeviceGetStream(device));
  OK(rematSessionWriteFromDevice(session, "w", zero, sizeof zero));
  FAILS(rematSessionWriteFromDevice(session, "w", zero, 4), REMAT_ERROR, "8");
  OK(rematSessionRead(session, "w", w, sizeof w));
  CHECK(w[0] == 0 && w[1] == 0);

  size_t size = 0;
  OK(rematSessionGetBytes(session, "w", &size));
  CHECK(size == 8);
  CHECK(rematSessionGetPeakBytes(session) > 0);
  FAILS(rematSessionRead(session, "v", w, sizeof w), REMAT_ERROR, "v");
  FAILS(rematSessionRead(session, "w", w, 4), REMAT_ERROR, "8");

  rematSessionDestroy(session);
  rematDeviceDestroy(device);
  rematProgramDestroy(program);
  rematOptionsDestroy(options);
}

static void testErrors(void) {
  RematOptions options = rematOptionsCreate();
  FAILS(rematOptionsSet(options, "budget", "-1"), REMAT_ERROR, "'-1'");
  FAILS(rematOptionsSet(options, "colour", "red"), REMAT_ERROR, "colour");
  FAILS(rematOptionsSet(NULL, "budget", "1"), REMAT_ERROR, "null");

  RematProgram program = NULL;
  FAILS(rematCompile("func.func @f(", 13, options, &program), REMAT_ERROR,
        "graph");
  CHECK(!program);

  /* One kilobyte cannot hold even the buffers, 256 bytes each. */
  OK(rematOptionsSet(options, "budget", "1KiB"));
  FAILS(rematCompile(Graph, strlen(Graph), options, &program), REMAT_REFUSED,
        "1024");
  CHECK(program && strstr(rematProgramGetReport(program), "peak_op"));
  size_t length = 1;
  rematProgramGetBytes(program, &length);
  CHECK(length == 0);
  rematProgramDestroy(program);
  rematOptionsDestroy(options);

  RematDevice device = NULL;
  FAILS(rematDeviceCreate("abacus", &device), REMAT_ERROR, "abacus");
  OK(rematDeviceCreate("host", &device));
  RematSession session = NULL;
  FAILS(rematSessionCreate((const uint8_t *)"RMAT", 4, device, 0, &session),
        REMAT_ERROR, "program");
  CHECK(!session);
  rematDeviceDestroy(device);
}

/* Finds an argument or result by name. */
static size_t find(RematProgram program, RematSide side, const char *name,
                   RematTensorInfo *info) {
  for (size_t i = 0; i < rematProgramGetNumTensors(program, side); ++i) {
    OK(rematProgramGetTensor(program, side, i, info));
    if (strcmp(info->name, name) == 0)
      return i;
  }
  CHECK(!"there is such a tensor");
  return 0;
}

static RematProgram compileGraph(const char *optimizer) {
  RematOptions options = rematOptionsCreate();
  OK(rematOptionsSet(options, "optimizer", optimizer));
  RematProgram program = NULL;
  OK(rematCompile(Graph, strlen(Graph), options, &program));
  rematOptionsDestroy(options);
  return program;
}

/* A program and the host device to run it. */
struct Setup {
  RematProgram program;
  RematDevice device;
  const uint8_t *bytes;
  size_t length;
};

static struct Setup setUp(const char *optimizer) {
  struct Setup setup = {compileGraph(optimizer), NULL, NULL, 0};
  OK(rematDeviceCreate("host", &setup.device));
  setup.bytes = rematProgramGetBytes(setup.program, &setup.length);
  return setup;
}

static void tearDown(struct Setup *setup) {
  rematDeviceDestroy(setup->device);
  rematProgramDestroy(setup->program);
}

static RematSession createSession(const struct Setup *setup, uint64_t seed) {
  RematSession session = NULL;
  OK(rematSessionCreate(setup->bytes, setup->length, setup->device, seed,
                        &session));
  return session;
}

/* The tensors of a program, and of its bytes loaded again. */
static void testTensors(void) {
  RematProgram compiled = compileGraph("adamw"), program = NULL;
  size_t length = 0;
  const uint8_t *bytes = rematProgramGetBytes(compiled, &length);
  OK(rematProgramLoad(bytes, length, &program));
  rematProgramDestroy(compiled);
  CHECK(strstr(rematProgramGetReport(program), "\"device\":\"host\""));

  RematTensorInfo info;
  find(program, REMAT_ARGUMENT, "x", &info);
  CHECK(info.role == REMAT_ROLE_INPUT && info.type == REMAT_TYPE_F32);
  CHECK(info.rank == 2 && info.shape[0] == 4 && info.shape[1] == 2);
  CHECK(info.bytes == 32 && info.result == -1);
  find(program, REMAT_ARGUMENT, "w", &info);
  CHECK(info.role == REMAT_ROLE_PARAMETER && info.survives);
  RematTensorInfo result;
  OK(rematProgramGetTensor(program, REMAT_RESULT, (size_t)info.result,
                           &result));
  CHECK(strcmp(result.name, "w") == 0 && result.result == -1);
  find(program, REMAT_ARGUMENT, "w.exp_avg", &info);
  CHECK(info.role == REMAT_ROLE_STATE);
  find(program, REMAT_ARGUMENT, "step", &info);
  CHECK(info.role == REMAT_ROLE_STEP && info.type == REMAT_TYPE_I64);
  find(program, REMAT_RESULT, "loss", &info);
  CHECK(info.role == REMAT_ROLE_LOSS && info.rank == 0 && info.bytes == 4);
  FAILS(rematProgramGetTensor(program, REMAT_RESULT, 99, &info), REMAT_ERROR,
        "no result #99");

  size_t steps = rematProgramGetNumSteps(program);
  RematStepInfo step;
  OK(rematProgramGetStep(program, 0, &step));
  CHECK(strcmp(step.op, "matmul") == 0 && strcmp(step.phase, "forward") == 0);
  CHECK(strstr(step.location, "graph:6:") && step.recomputes == -1);
  CHECK(step.flops == 16);
  FAILS(rematProgramGetStep(program, steps, &step), REMAT_ERROR, "no step #");
  CHECK(rematProgramGetNumTensors(NULL, REMAT_RESULT) == 0);
  rematProgramDestroy(program);

  const uint8_t nonsense[] = "nonsense";
  FAILS(rematProgramLoad(nonsense, sizeof nonsense, &program), REMAT_ERROR,
        "program");
  CHECK(!program);
}

/* The head of DLPack's DLManagedTensor, laid out as the standard says. */
struct Exported {
  void *data;
  int32_t deviceType, deviceId, rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byteOffset;
  void *context;
  void (*deleter)(struct Exported *);
};

/* Views and copies; what was exported outlives session and device. */
static void testExport(void) {
  struct Setup setup = setUp("sgd");
  RematSession session = createSession(&setup, 1);
  RematTensorInfo info;
  size_t x = find(setup.program, REMAT_ARGUMENT, "x", &info);
  size_t w = find(setup.program, REMAT_ARGUMENT, "w", &info);
  size_t loss = find(setup.program, REMAT_RESULT, "loss", &info);
  RematTensor view = NULL, copy = NULL;
  FAILS(rematSessionGetTensor(session, REMAT_ARGUMENT, x, REMAT_VIEW, &view),
        REMAT_ERROR, "'x' holds no value");
  FAILS(rematSessionGetTensor(session, REMAT_RESULT, loss, REMAT_COPY, &view),
        REMAT_ERROR, "'loss' holds no value before a step");
  FAILS(rematSessionGetTensor(session, REMAT_ARGUMENT, 99, REMAT_VIEW, &view),
        REMAT_ERROR, "no argument #99");
  CHECK(!view);

  OK(rematSessionGetTensor(session, REMAT_ARGUMENT, w, REMAT_VIEW, &view));
  OK(rematSessionGetTensor(session, REMAT_ARGUMENT, w, REMAT_COPY, &copy));
  float *shown = rematTensorGetData(view);
  const float *copied = rematTensorGetData(copy);
  CHECK(shown[0] == 0.5f && copied[1] == 0.5f);
  shown[0] = 3; /* written in place */
  float read[2];
  OK(rematSessionRead(session, "w", read, sizeof read));
  CHECK(read[0] == 3 && read[1] == 0.5f && copied[0] == 0.5f);

  struct Exported *exported = NULL;
  OK(rematTensorExport(view, 0, (void **)&exported));
  rematTensorDestroy(view);
  rematTensorDestroy(copy);
  rematSessionDestroy(session);
  tearDown(&setup);
  CHECK(exported->data == shown && shown[0] == 3);
  CHECK(exported->deviceType == 1 && exported->rank == 2);
  CHECK(exported->code == 2 && exported->bits == 32 && exported->lanes == 1);
  CHECK(exported->shape[0] == 2 && exported->strides[0] == 1);
  exported->deleter(exported);
}

/* Training that goes on from a file is training that was not interrupted. */
static void testFiles(void) {
  struct Setup setup = setUp("adamw");
  const float x[8] = {1, 0, 0, 1, 1, 1, 2, 1}, y[4] = {1, 2, 3, 4};
  char digests[2][65], path[] = "capi-XXXXXX";
  int file = mkstemp(path);
  CHECK(file >= 0 && close(file) == 0);
  for (int from = 0; from < 2; ++from) {
    RematSession session = createSession(&setup, 1 + (uint64_t)from);
    if (from)
      OK(rematSessionLoad(session, path));
    for (int step = from ? 2 : 0; step < 4; ++step) {
      if (step == 2 && !from)
        OK(rematSessionSave(session, path, 1));
      OK(rematSessionWrite(session, "x", x, sizeof x));
      OK(rematSessionWrite(session, "y", y, sizeof y));
      OK(rematSessionRunStep(session));
    }
    CHECK(rematSessionGetStepMilliseconds(session) > 0);
    OK(rematSessionGetParametersDigest(session, digests[from]));
    rematSessionDestroy(session);
  }
  CHECK(strlen(digests[0]) == 64 && strcmp(digests[0], digests[1]) == 0);
  remove(path);
  RematSession session = createSession(&setup, 1);
  FAILS(rematSessionLoad(session, path), REMAT_ERROR, path);
  rematSessionDestroy(session);
  tearDown(&setup);
}

/* Training that goes on from a checkpoint in another session, of another seed
 * and with less memory, is training that was not interrupted. */
static void testCheckpoints(void) {
  struct Setup setup = setUp("adamw");
  const float x[8] = {1, 0, 0, 1, 1, 1, 2, 1}, y[4] = {1, 2, 3, 4};
  char digests[2][65], folder[] = "capi-XXXXXX", path[64] = "";
  CHECK(mkdtemp(folder));
  RematCheckpoint found = NULL;
  OK(rematCheckpointFind(folder, &found));
  CHECK(!found && !rematCheckpointGetPath(found));
  for (int from = 0; from < 2; ++from) {
    RematSession session = createSession(&setup, 1 + (uint64_t)from);
    if (from) {
      OK(rematCheckpointFind(folder, &found));
      CHECK(rematCheckpointGetSteps(found) == 2);
      CHECK(!rematCheckpointGetSkipped(found, 0));
      snprintf(path, sizeof path, "%s", rematCheckpointGetPath(found));
      OK(rematSessionLoadCheckpoint(session, found));
      rematCheckpointDestroy(found);
    }
    for (int step = from ? 2 : 0; step < 4; ++step) {
      if (step && step <= 2 && !from)
        OK(rematSessionSaveCheckpoint(session, folder, (uint64_t)step, 1));
      OK(rematSessionWrite(session, "x", x, sizeof x));
      OK(rematSessionWrite(session, "y", y, sizeof y));
      OK(rematSessionRunStep(session));
    }
    OK(rematSessionGetParametersDigest(session, digests[from]));
    if (from)
      FAILS(rematSessionSaveCheckpoint(session, folder, 4, 0), REMAT_ERROR,
            "0 checkpoints");
    rematSessionDestroy(session);
  }
  CHECK(strcmp(digests[0], digests[1]) == 0);
  FILE *file = fopen(path, "r+"); /* the first byte is torn */
  CHECK(file && fputc('x', file) == 'x' && fclose(file) == 0);
  FAILS(rematCheckpointFind(folder, &found), REMAT_ERROR, "is whole");
  FAILS(rematSessionLoadCheckpoint(NULL, found), REMAT_ERROR, "null");
  CHECK(remove(path) == 0 && rmdir(folder) == 0);
  tearDown(&setup);
}

/* What the graph predicts: x w, with the w that is trained. */
static const char Predict[] =
    "func.func @predict(\n"
    "    %x: tensor<4x2xf32> {remat.role = #remat.role<input>,"
    " remat.name = \"x\"},\n"
    "    %w: tensor<2x1xf32> {remat.role = #remat.role<parameter>,"
    " remat.name = \"w\"})\n"
    "    -> (tensor<4x1xf32> {remat.role = #remat.role<output>,"
    " remat.name = \"z\"}) {\n"
    "  %0 = remat.matmul %x, %w : (tensor<4x2xf32>, tensor<2x1xf32>)"
    " -> tensor<4x1xf32>\n"
    "  return %0 : tensor<4x1xf32>\n"
    "}\n";

/* A function of a program: its tensors, and runs between two steps. */
static void testFunctions(void) {
  char both[sizeof Graph + sizeof Predict];
  snprintf(both, sizeof both, "%s%s", Graph, Predict);
  RematOptions options = rematOptionsCreate();
  OK(rematOptionsSet(options, "optimizer", "sgd"));
  struct Setup setup = {NULL, NULL, NULL, 0};
  OK(rematCompile(both, strlen(both), options, &setup.program));
  OK(rematDeviceCreate("host", &setup.device));
  setup.bytes = rematProgramGetBytes(setup.program, &setup.length);

  const char *name = NULL;
  RematProgram predict = NULL;
  RematTensorInfo info;
  CHECK(rematProgramGetNumFunctions(setup.program) == 1);
  OK(rematProgramGetFunction(setup.program, 0, &name, &predict));
  CHECK(strcmp(name, "predict") == 0);
  find(predict, REMAT_RESULT, "z", &info);
  CHECK(info.role == REMAT_ROLE_OUTPUT && info.bytes == 16);
  CHECK(rematProgramGetNumFunctions(predict) == 0);
  rematProgramDestroy(predict);
  FAILS(rematProgramGetFunction(setup.program, 1, &name, &predict), REMAT_ERROR,
        "no function #1");

  RematSession session = createSession(&setup, 1), function = NULL;
  FAILS(rematSessionGetFunction(session, "evaluate", &function), REMAT_ERROR,
        "no function 'evaluate'");
  OK(rematSessionGetFunction(session, "predict", &function));
  const float x[8] = {1, 0, 0, 1, 1, 0, 0, 1}, y[4] = {2, -1, 2, -1};
  float w[2] = {0, 0}, z[4] = {0, 0, 0, 0};
  for (int step = 0; step < 2; ++step) {
    OK(rematSessionWrite(session, "x", x, sizeof x));
    OK(rematSessionWrite(session, "y", y, sizeof y));
    OK(rematSessionRunStep(session));
    OK(rematSessionRead(session, "w", w, sizeof w));
    OK(rematSessionWrite(function, "x", x, sizeof x));
    OK(rematSessionRunStep(function));
    OK(rematSessionRead(function, "z", z, sizeof z));
    CHECK(z[0] == w[0] && z[1] == w[1] && z[3] == w[1]);
  }
  CHECK(rematSessionGetPeakBytes(function) ==
        rematSessionGetPeakBytes(session));
  FAILS(rematSessionRunStep(session), REMAT_ERROR, "was not written");
  FAILS(rematSessionWrite(function, "w", w, sizeof w), REMAT_ERROR,
        "'w' is shared");
  /* The memory stays as long as the function. */
  rematSessionDestroy(session);
  OK(rematSessionRead(function, "z", z, sizeof z));
  rematSessionDestroy(function);
  rematOptionsDestroy(options);
  tearDown(&setup);
}

int main(void) {
  int major = -1, minor = -1, patch = -1;
  rematGetVersion(&major, &minor, &patch);
  CHECK(major == REMAT_VERSION_MAJOR && minor == REMAT_VERSION_MINOR);
  CHECK(patch == REMAT_VERSION_PATCH);
  CHECK(rematStatusGetCode(NULL) == REMAT_OK);
  testTraining();
  testErrors();
  testTensors();
  testExport();
  testFiles();
  testCheckpoints();
  testFunctions();
  puts("overall okay: 1");
  return 0;
}
