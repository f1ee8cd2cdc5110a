/* Plans a problem and packs buffers by the C interface, then everything that
   must be refused. Exits with 0 if all holds. */

#include "remat-c/Planner.h"
#include "check.h"

/* d reads x again: 54 bytes if a runs once, 46 if it runs twice. */
static const char Problem[] =
    "{\"format\": \"remat-problem-1\","
    " \"resident\": [{\"name\": \"w\", \"bytes\": 6}], \"ops\": ["
    "{\"name\": \"a\", \"time\": 4, \"inputs\": [\"w\"],"
    " \"outputs\": [{\"name\": \"x\", \"bytes\": 20}]},"
    "{\"name\": \"b\", \"time\": 2, \"inputs\": [\"x\"],"
    " \"outputs\": [{\"name\": \"y\", \"bytes\": 20}]},"
    "{\"name\": \"c\", \"time\": 3, \"inputs\": [\"y\"],"
    " \"outputs\": [{\"name\": \"z\", \"bytes\": 8}]},"
    "{\"name\": \"d\", \"time\": 3, \"inputs\": [\"z\", \"x\"],"
    " \"outputs\": [{\"name\": \"q\", \"bytes\": 8}]}],"
    " \"results\": [\"q\"]}";

static void holds(RematAnswer answer, const char *part, int line) {
  if (!strstr(rematAnswerGetText(answer), part)) {
    fprintf(stderr, "line %d: %s\n", line, rematAnswerGetText(answer));
    exit(1);
  }
}
#define HOLDS(answer, part) holds((answer), (part), __LINE__)

static void testPlans(void) {
  RematPlanner planner;
  OK(rematPlannerCreate(Problem, strlen(Problem), &planner));
  OK(rematPlannerSet(planner, "effort", "1"));

  RematAnswer answer;
  OK(rematPlannerSolve(planner, 46, 1, &answer));
  HOLDS(answer, "\"time\":16.0");
  HOLDS(answer, "\"min_budget\":46");
  char *plan = strdup(rematAnswerGetPlan(answer));
  CHECK(plan);
  rematAnswerDestroy(answer);

  OK(rematPlannerVerify(planner, plan, strlen(plan), 46, &answer));
  HOLDS(answer, "\"memory\":[26,46,34,34,42]");
  rematAnswerDestroy(answer);
  FAILS(rematPlannerVerify(planner, plan, strlen(plan), 45, &answer),
        REMAT_REFUSED, "");
  HOLDS(answer, "\"feasible\":false");
  rematAnswerDestroy(answer);
  free(plan);

  int64_t budgets[3] = {45, 46, 54};
  RematAnswer answers[3];
  OK(rematPlannerFrontier(planner, budgets, 3, answers));
  HOLDS(answers[0], "\"feasible\":false");
  HOLDS(answers[1], "\"time\":16.0");
  HOLDS(answers[2], "\"time\":12.0");
  for (int i = 0; i < 3; ++i)
    rematAnswerDestroy(answers[i]);
  OK(rematPlannerSweep(planner, 3, &answer));
  HOLDS(answer, "\"budget\":46,\"time\":16.0");
  rematAnswerDestroy(answer);

  rematPlannerDestroy(planner);
  rematPlannerDestroy(NULL);
}

static void testRefusals(void) {
  RematPlanner planner;
  FAILS(rematPlannerCreate("{", 1, &planner), REMAT_ERROR, "");
  CHECK(!planner);
  FAILS(rematPlannerCreate(NULL, 0, &planner), REMAT_ERROR,
        "problem must not be null");
  OK(rematPlannerCreate(Problem, strlen(Problem), &planner));
  FAILS(rematPlannerSet(planner, "effort", "many"), REMAT_ERROR,
        "effort: 'many'");
  FAILS(rematPlannerSet(planner, "speed", "1"), REMAT_ERROR,
        "unknown option 'speed'");
  RematAnswer answer;
  FAILS(rematPlannerSolve(planner, -1, 0, &answer), REMAT_ERROR,
        "a budget of -1 bytes");
  CHECK(!answer);
  FAILS(rematPlannerAt(planner, 45, &answer), REMAT_REFUSED, "45");
  HOLDS(answer, "\"proven\":true");
  CHECK(strstr(rematAnswerGetPlan(answer), "\"sequence\""));
  rematAnswerDestroy(answer);
  FAILS(rematPlannerVerify(planner, "[]", 2, -1, &answer), REMAT_ERROR, "");
  FAILS(rematPlannerSweep(planner, 0, &answer), REMAT_ERROR, "points: 0");
  rematPlannerDestroy(planner);
}

static void testPacking(void) {
  const RematBuffer buffers[3] = {
      {0, 2, 10, 1, -1}, {1, 3, 20, 1, -1}, {2, 4, 30, 1, -1}};
  RematPacker packer;
  OK(rematPackerCreate(buffers, 3, &packer));
  int64_t offsets[3];
  RematAnswer answer;
  OK(rematPackerRun(packer, -1, 0, 1000, offsets, &answer));
  HOLDS(answer, "\"height\":50");
  CHECK(offsets[1] + 20 <= offsets[2] || offsets[2] + 30 <= offsets[1]);
  rematAnswerDestroy(answer);
  FAILS(rematPackerRun(packer, 49, 0, 1000, offsets, &answer), REMAT_REFUSED,
        "49 bytes");
  HOLDS(answer, "\"conflict\":[1,2]");
  rematAnswerDestroy(answer);
  rematPackerInterrupt(packer);
  rematPackerDestroy(packer);
  const RematBuffer wrong[1] = {{2, 1, 10, 1, -1}};
  OK(rematPackerCreate(wrong, 1, &packer));
  FAILS(rematPackerRun(packer, -1, 0, 0, offsets, &answer), REMAT_ERROR,
        "buffer");
  rematPackerDestroy(packer);
}

int main(void) {
  testPlans();
  testRefusals();
  testPacking();
  puts("all calls behave");
  return 0;
}
