//===- RealOption.h - real numbers among a pass's options -------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_REALOPTION_H
#define REMAT_TRANSFORMS_REALOPTION_H

#include "remat/Support/Numbers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

namespace remat {

/// A number that a pipeline's text gives back as it was: LLVM prints a double
/// with seven digits.
struct Real {
  Real(double Value = 0) : Value(Value) {}
  operator double() const { return Value; }
  double Value;
};

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &OS, const Real &R) {
  return OS << formatReal(R.Value);
}

} // namespace remat

template <>
class llvm::cl::parser<remat::Real> : public basic_parser<remat::Real> {
public:
  using basic_parser::basic_parser;

  bool parse(Option &O, StringRef, StringRef Text, remat::Real &Value) {
    return !to_float(Text, Value.Value) &&
           O.error("'" + Text + "' is not a number");
  }
  StringRef getValueName() const override { return "number"; }
  void printOptionDiff(const Option &O, remat::Real Value, const OptVal &,
                       size_t Width) const {
    printOptionName(O, Width);
    outs() << "= " << Value << '\n';
  }
};

#endif // REMAT_TRANSFORMS_REALOPTION_H
