//===- Random.h - Random numbers that are the same everywhere -------------===//
#ifndef REMAT_LIB_SOLVER_RANDOM_H
#define REMAT_LIB_SOLVER_RANDOM_H

#include <cstdint>

namespace remat::solver {

/// A small generator of its own (xorshift64*): the same on every machine.
class Random {
public:
  explicit Random(uint64_t Seed);
  uint64_t next();
  uint32_t below(uint32_t N) { return uint32_t((next() >> 32) * N >> 32); }
  /// In [0, 1).
  double unit() { return double(next() >> 11) * 0x1p-53; }
  bool chance(double P) { return unit() < P; }
  /// A factor between 1 / (1 + Spread) and 1 + Spread. Rational, because the
  /// functions of the C library differ between machines in the last bit.
  double noise(double Spread) {
    double F = 1 + Spread * unit();
    return next() & 1 << 20 ? F : 1 / F;
  }

private:
  uint64_t State;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_RANDOM_H
