/* Ranks that talk through functions of the caller's: how long they are asked to
   wait. Exits with 0 if all holds. */

#include "remat-c/Ranks.h"
#include "check.h"

static uint64_t waited;

static int exchange(void *context, const RematMessage *sends, size_t num_sends,
                    const RematMessage *receives, size_t num_receives,
                    uint64_t milliseconds, char *error, size_t error_bytes) {
  (void)context, (void)sends, (void)num_sends;
  (void)receives, (void)num_receives;
  waited = milliseconds;
  snprintf(error, error_bytes, "nobody is there");
  return 1;
}

static void tell(void *context, const char *message) {
  CHECK(!context && strstr(message, "nobody is there"));
}

/* Rank 0 of two asks the other one, and waits for so long. */
static void expectWait(uint64_t limit, uint64_t expected) {
  RematRanksCallbacks calls = {NULL, 0, 2, 0, exchange, tell};
  RematRanks ranks;
  uint64_t bytes;
  OK(rematRanksCreate(&calls, &ranks));
  if (limit)
    OK(rematRanksSetTimeLimit(ranks, limit));
  FAILS(rematRanksSetTimeLimit(ranks, 0), REMAT_ERROR,
        "from 1 to 1000000000 milliseconds, given was 0");
  FAILS(rematRanksSetTimeLimit(ranks, 1000000001), REMAT_ERROR,
        "given was 1000000001");
  FAILS(rematRanksSetTimeLimit(ranks, UINT64_MAX), REMAT_ERROR, "milliseconds");
  FAILS(rematRanksFindMaxBudget(ranks, "host", &bytes), REMAT_ERROR,
        "nobody is there");
  CHECK(waited == expected);
  rematRanksDestroy(ranks);
}

int main(void) {
  expectWait(0, 30000);
  expectWait(1, 1);
  expectWait(1000000000, 1000000000);
  FAILS(rematRanksSetTimeLimit(NULL, 1000), REMAT_ERROR, "ranks");
  return 0;
}
