//===- Files.cpp - Reading and writing files ------------------------------===//
#include "Commands.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace remat::solver;

std::optional<std::string> remat::solver::readFile(const std::string &Path) {
  std::ostringstream Text;
  if (Path == "-") {
    Text << std::cin.rdbuf();
    return Text.str();
  }
  std::ifstream In(Path, std::ios::binary);
  if (In)
    Text << In.rdbuf();
  if (!In || In.bad()) {
    std::fprintf(stderr, "remat-solve: cannot read '%s'\n", Path.c_str());
    return std::nullopt;
  }
  return Text.str();
}

bool remat::solver::writeFile(const std::string &Path,
                              const std::string &Text) {
  if (Path == "-") {
    std::cout << Text;
    return bool(std::cout);
  }
  std::ofstream Out(Path, std::ios::binary);
  Out << Text;
  Out.close();
  if (!Out)
    std::fprintf(stderr, "remat-solve: cannot write '%s'\n", Path.c_str());
  return bool(Out);
}

int remat::solver::badInput(const std::string &Message) {
  std::fprintf(stderr, "remat-solve: %s\n", Message.c_str());
  return ExitBadInput;
}
