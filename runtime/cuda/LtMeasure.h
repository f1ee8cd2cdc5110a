//===- LtMeasure.h - the time of a matrix product ---------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_LTMEASURE_H
#define REMAT_RUNTIME_CUDA_LTMEASURE_H

#include "cuda/LtMatmul.h"
#include <map>
#include <vector>

namespace remat::runtime::cuda {

/// Runs a product on scratch memory of its own that holds random numbers.
///
/// Memory is copied before each run, for about two thirds of its time, as what
/// stands between the products of a training step does: operands come from
/// memory, and the GPU is as warm as there, which decides its clock.
class LtMeasure {
public:
  LtMeasure(LtMatmul &Product, const MatmulProblem &P, const Driver &D,
            Stream S)
      : Product(Product), P(P), D(D), S(S) {}
  LtMeasure(const LtMeasure &) = delete;
  LtMeasure &operator=(const LtMeasure &) = delete;
  ~LtMeasure();

  /// The memory; to be called first.
  Status allocate();

  /// Milliseconds of a run with `Value`, on average of as many as take about
  /// `AtLeastMs`; of one if that takes longer than `TooLong`. An error where it
  /// does not run.
  Result<double> time(const Algorithm &Value, double AtLeastMs, double TooLong);

  /// The same where the product and its copies run for about `RunMs`, of which
  /// the first half does not count: the clock is then what the power of `Value`
  /// leaves.
  Result<double> timeLong(const Algorithm &Value, double RunMs);

  /// Some numbers of the first and the last part of the result with `Value`.
  Result<std::vector<float>> sample(const Algorithm &Value);

private:
  static constexpr int MostRuns = 16;
  static constexpr uint64_t CopiedBytes = 64 << 20;

  Result<void *> allocate(uint64_t Bytes, DType Type);
  Status startClock();
  /// Milliseconds of a run, on average of `Runs`, behind `Copies` each.
  Result<double> run(int Runs, int Copies);
  /// How many copies stand before a run of so many milliseconds.
  int countCopies(double Ms) const;
  Result<float> getElapsed(Event From, Event To);

  LtMatmul &Product;
  const MatmulProblem &P;
  const Driver &D;
  Stream S;
  std::vector<Event> Begins, Ends; ///< `MostRuns` each
  MatmulAddresses Where;
  Address Copied = 0; ///< two of `CopiedBytes`
  double CopyMs = 0;
  std::map<DType, std::vector<char>> NumbersOf;
  std::vector<Address> Owned;
};

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_LTMEASURE_H
