/* The tool remat-run as a function: the exit codes of the tool, each in a
   process of its own that reads the graph from standard input. Exits with 0 if
   all holds. */

#include "remat-c/Run.h"
#include "check.h"
#include "graph.h"
#include <sys/wait.h>
#include <unistd.h>

/* What such a process ends with; `option` has that value. */
static int run(RematRanks ranks, const char *option, const char *value) {
  int ends[2];
  CHECK(!pipe(ends));
  pid_t child = fork();
  CHECK(child >= 0);
  if (!child) {
    const char *words[] = {"remat-run", "-",   "--steps", "2",   "--quiet",
                           "--cache",   "off", option,    value, NULL};
    dup2(ends[0], STDIN_FILENO);
    close(ends[1]);
    _exit(rematRunTool(9, words, ranks));
  }
  close(ends[0]);
  CHECK(write(ends[1], Graph, sizeof Graph - 1) == sizeof Graph - 1);
  close(ends[1]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

int main(void) {
  RematRanks ranks;
  OK(rematRanksStart("host", &ranks));
  CHECK(!ranks); /* started alone */
  CHECK(run(ranks, "--budget", "unlimited") == 0);
  CHECK(run(ranks, "--budget", "1") == 2);
  CHECK(run(ranks, "--save", "/not/there") == 1);
  return 0;
}
