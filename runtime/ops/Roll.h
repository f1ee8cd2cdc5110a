//===- Roll.h - which elements a roll brings where --------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_OPS_ROLL_H
#define REMAT_RUNTIME_OPS_ROLL_H

#include "ops/Op.h"
#include <algorithm>

namespace remat::runtime {

/// A roll moves each element of a line on by `Shift` places, round its end.
/// What lies behind a place of the rolled dimension goes with it: it is all one
/// line.
struct Roll {
  int64_t Line = 1, Shift = 0; ///< elements

  /// Of a tensor of this shape, by the attributes of the operation `roll`.
  static Roll of(std::span<const int64_t> Shape, const AttributeList &List) {
    auto Dim = static_cast<size_t>(List.getInt("dim", 0));
    Roll R;
    for (size_t I = Dim + 1; I < Shape.size(); ++I)
      R.Line *= Shape[I];
    R.Shift = R.Line * List.getInt("shift", 0);
    R.Line *= Shape[Dim];
    return R;
  }

  /// Calls F(From, Done, Run) for runs of the result's elements
  /// [First, First + Count): `Run` elements from First + Done on are those of
  /// the operand from `From` on.
  template <typename Function>
  void forRuns(int64_t First, int64_t Count, Function F) const {
    for (int64_t Done = 0; Done < Count;) {
      int64_t Place = (First + Done) % Line;
      bool ComesRound = Place < Shift;
      int64_t Run = std::min(Count - Done, (ComesRound ? Shift : Line) - Place);
      F(First + Done - Shift + (ComesRound ? Line : 0), Done, Run);
      Done += Run;
    }
  }
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_ROLL_H
