//===- Random.cpp - Random numbers that are the same everywhere -----------===//
#include "Search/Random.h"

using namespace remat::solver;

Random::Random(uint64_t Seed) : State(Seed * 0x9E3779B97F4A7C15u + 0x1234567) {
  for (int I = 0; I < 8; ++I)
    next();
}

uint64_t Random::next() {
  State ^= State >> 12;
  State ^= State << 25;
  State ^= State >> 27;
  return State * 0x2545F4914F6CDD1Du;
}
