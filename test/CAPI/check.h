/* What the tests of the C interface say of calls and conditions: the first
   that does not hold ends the program with 1 and says its line. */

#ifndef REMAT_TEST_CAPI_CHECK_H
#define REMAT_TEST_CAPI_CHECK_H

#include "remat-c/Status.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);  \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/* The call ends with `code` and a message that holds `part`. */
static void checkEnds(RematStatus status, RematCode code, const char *part,
                      int line) {
  if (rematStatusGetCode(status) != code ||
      !strstr(rematStatusGetMessage(status), part)) {
    fprintf(stderr, "line %d: got %d '%s'\n", line, rematStatusGetCode(status),
            rematStatusGetMessage(status));
    exit(1);
  }
  rematStatusDestroy(status);
}
#define OK(call) checkEnds((call), REMAT_OK, "", __LINE__)
#define FAILS(call, code, part) checkEnds((call), (code), (part), __LINE__)

#endif /* REMAT_TEST_CAPI_CHECK_H */
