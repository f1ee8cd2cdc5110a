//===- GraphSignature.h - roles of a graph's arguments ----------*- C++ -*-===//
//
// Reading and changing the signature of a graph function: a result and the
// operand of the return, its type and its attributes change together.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_GRAPHSIGNATURE_H
#define REMAT_TRANSFORMS_GRAPHSIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/StringSet.h"
#include <optional>

namespace remat {

std::optional<Role> getArgRole(mlir::func::FuncOp Graph, unsigned Index);
std::optional<Role> getResultRole(mlir::func::FuncOp Graph, unsigned Index);

/// The user's name, or "arg<Index>" if there is none.
std::string getArgName(mlir::func::FuncOp Graph, unsigned Index);

/// Indices of the arguments, or results, of one role, in order.
llvm::SmallVector<unsigned> getArgsOfRole(mlir::func::FuncOp Graph, Role Of);
llvm::SmallVector<unsigned> getResultsOfRole(mlir::func::FuncOp Graph, Role Of);

/// Whether `Op`, or an operation in its body, draws random numbers.
bool drawsNumbers(mlir::Operation &Op);

/// The return of the graph's only block.
mlir::func::ReturnOp getReturn(mlir::func::FuncOp Graph);

/// Changes the arguments and results of a graph. An attribute of one argument
/// is part of a list of all, which exists once for each of its contents:
/// changed one by one, N arguments leave N lists of N entries behind. So the
/// lists are written together, by `write`; until then the function's own are
/// the old ones.
class SignatureEditor {
public:
  explicit SignatureEditor(mlir::func::FuncOp Graph);

  /// Appends an argument; it gets no `remat.init`. A name that another argument
  /// has already gets a `+` behind.
  mlir::BlockArgument appendArgument(mlir::Type Type, Role Role,
                                     llvm::StringRef Name, mlir::Location Loc);
  /// Changes the type of an argument.
  void setArgumentType(unsigned Index, mlir::Type Type);
  /// A null attribute takes it away.
  void setArgAttr(unsigned Index, llvm::StringRef Name, mlir::Attribute Attr);

  /// Whether a result, appended or not, has this name.
  bool hasResult(llvm::StringRef Name) const {
    return ResultNames.contains(Name);
  }
  /// Appends a result and returns its index. A name that another result has
  /// already gets a `+` behind.
  unsigned appendResult(mlir::Value Value, Role Role, llvm::StringRef Name);
  /// Replaces what result `Index` returns; its type follows.
  void setResult(unsigned Index, mlir::Value Value);
  void setResultAttr(unsigned Index, llvm::StringRef Name,
                     mlir::Attribute Attr);
  /// Removes the results of role `Of`.
  void eraseResultsOfRole(Role Of);

  /// Writes what was changed to the function.
  void write();

private:
  mlir::func::FuncOp Graph;
  llvm::SmallVector<mlir::DictionaryAttr> Arguments, Results;
  llvm::StringSet<> ArgumentNames, ResultNames;
};

/// Marks every operation inserted while it is alive: `remat.phase` and the
/// location, which keeps the one it had as its origin.
class PhaseMarker : public mlir::OpBuilder::Listener {
public:
  PhaseMarker(mlir::MLIRContext *Context, remat::Phase Phase);
  void notifyOperationInserted(mlir::Operation *Op,
                               mlir::OpBuilder::InsertPoint Previous) override;

private:
  PhaseAttr Phase;
};

/// Gives what is inserted the phase of the operation that it is written for.
struct PhaseOfSource : mlir::OpBuilder::Listener {
  void notifyOperationInserted(mlir::Operation *Op,
                               mlir::OpBuilder::InsertPoint Previous) override;

  mlir::Attribute Phase; ///< of that operation; null: the builder gives none
};

} // namespace remat

#endif // REMAT_TRANSFORMS_GRAPHSIGNATURE_H
