//===- remat-run.cpp - compiles a graph within a budget and trains it -----===//

#include "remat/Run/Run.h"

int main(int Argc, char **Argv) { return remat::runTool(Argc, Argv); }
