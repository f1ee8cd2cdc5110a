//===- Cost.h - arithmetic and traffic of operations ------------*- C++ -*-===//

#ifndef REMAT_ANALYSIS_COST_H
#define REMAT_ANALYSIS_COST_H

#include "mlir/IR/Operation.h"
#include "remat/Analysis/Target.h"

namespace remat {

/// What one execution of an operation does.
struct OpCost {
  double Flops = 0;
  double Bytes = 0; ///< each operand read once, each result written once
};
OpCost getCost(mlir::Operation *Op);

/// What carries bytes between ranks. An exchange among n ranks takes a time to
/// begin, one for each hop from rank to rank, and that of the bytes that each
/// rank sends. All ranks send to all others at once on the host: one hop for
/// each of them. Along a tree (Sanders, Speck and Traeff, 2009) bytes make
/// log2 n hops; along a ring (Patarasuk and Yuan, 2009) n - 1.
struct Links {
  double StartMicroseconds = 0;
  double HopMicroseconds = 0, FarHopMicroseconds = 0;
  double BytesPerSecond = 0, FarBytesPerSecond = 0; ///< a rank's, one direction
  int64_t RanksOfHost = 65536; ///< neighbours by number; others are far
  bool HasTrees = false;
};

/// Rates of a device. An operation takes the longer of its arithmetic and its
/// traffic, plus a fixed launch time (the roofline: Williams et al., 2009).
struct Roofline {
  double MatrixFlops32 = 0;  ///< a second, f32 matrix products
  double MatrixFlops16 = 0;  ///< a second, bf16 and f16 matrix products
  double ScalarFlops = 0;    ///< a second, everything else
  double BytesPerSecond = 0; ///< to and from memory
  double LaunchMicroseconds = 0;
  Links Between;
};

struct Traffic;

/// What an exchange takes among the ranks of `Group`, pairs of distance and
/// size as MeshAttr::getGroup has them.
double getExchangeMicroseconds(const Links &L, const Traffic &Sent,
                               llvm::ArrayRef<int64_t> Group);

/// A target whose times come from a roofline.
class RooflineTarget : public Target {
public:
  RooflineTarget(TargetAttr Attr, const Roofline &Rates)
      : Target(Attr), Rates(Rates) {}

  double getElementwiseMicroseconds(double Flops, double Bytes) const override;
  Ceilings getCeilings(mlir::Operation *Op) const override;

protected:
  /// Time of one execution; zero for what needs no step.
  double getMicroseconds(mlir::Operation *Op) const;
  /// Time of reading or writing so many bytes.
  double getTrafficMicroseconds(double Bytes) const {
    return 1e6 * Bytes / Rates.BytesPerSecond;
  }

private:
  /// Zero for what sends nothing to other ranks.
  double getLinkMicroseconds(mlir::Operation *Op) const;
  double getFlopRate(mlir::Operation *Op) const;

  Roofline Rates;
};

} // namespace remat

#endif // REMAT_ANALYSIS_COST_H
