//===- Refusal.h - errors that say a budget cannot be met -------*- C++ -*-===//
//
// A budget that cannot be met is an error of the pass that finds it, but not a
// fault of the graph: tools tell the two apart by their exit code. The error
// carries a mark, which is not printed.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_IR_REFUSAL_H
#define REMAT_IR_REFUSAL_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

namespace remat {

inline constexpr llvm::StringLiteral RefusalMark = "remat.refused";

inline void markRefusal(mlir::InFlightDiagnostic &Error) {
  if (mlir::Diagnostic *D = Error.getUnderlyingDiagnostic())
    D->getMetadata().push_back(
        mlir::DiagnosticArgument(llvm::StringRef(RefusalMark)));
}

inline bool isRefusal(mlir::Diagnostic &D) {
  return llvm::any_of(
      D.getMetadata(), [](const mlir::DiagnosticArgument &Mark) {
        return Mark.getKind() ==
                   mlir::DiagnosticArgument::DiagnosticArgumentKind::String &&
               Mark.getAsString() == RefusalMark;
      });
}

/// Keeps back the diagnostic of a refused budget, while it lives.
class RefusalHolder {
public:
  explicit RefusalHolder(mlir::MLIRContext *Context)
      : Handler(Context, [this](mlir::Diagnostic &D) {
          if (!isRefusal(D))
            return mlir::failure();
          Held = std::move(D);
          return mlir::success();
        }) {}
  /// What was kept back; nothing if no budget was refused.
  std::optional<mlir::Diagnostic> take() { return std::move(Held); }

private:
  std::optional<mlir::Diagnostic> Held;
  mlir::ScopedDiagnosticHandler Handler;
};

} // namespace remat

#endif // REMAT_IR_REFUSAL_H
