//===- ValueNames.h - what people call values -------------------*- C++ -*-===//

#ifndef REMAT_ANALYSIS_VALUENAMES_H
#define REMAT_ANALYSIS_VALUENAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace remat {

/// Names of all values of a function, each name once.
///
/// An argument and what the function returns have the user's name; what takes
/// over a donated argument is "w, updated". Another value has the name of its
/// operation's location: the path of the scope that a builder wrote
/// ("h.1/mlp/gelu"), or what the text calls it ("%h"). What that operation is
/// of says the phase: "backward of h.1/mlp/gelu", "update of w", "gradient of
/// w" for the gradient that w's update reads. A further instance is
/// "h.1/mlp/gelu, recomputed", one of several results "h.1/norm#1". A location
/// without a name leaves the operation's own, "gelu". A kernel's results are
/// named as what it yields. Where two would be the same, the second ends in
/// ".2".
class ValueNames {
public:
  /// Of a function with one block; another has no names.
  explicit ValueNames(mlir::func::FuncOp Func);

  llvm::StringRef get(mlir::Value V) const { return Names.find(V)->second; }
  /// The name of what an operation computes: of its result, or of all.
  llvm::StringRef get(mlir::Operation *Op) const {
    return OpNames.find(Op)->second;
  }

  /// Of all results of operations, in order.
  std::vector<std::string> listResults(mlir::func::FuncOp Func) const;

private:
  std::string makeUnique(std::string Name);
  void nameInterface(mlir::func::FuncOp Func);
  void nameResults(mlir::Operation *Op);

  llvm::DenseMap<mlir::Value, std::string> Names;
  llvm::DenseMap<mlir::Operation *, std::string> OpNames;
  llvm::StringSet<> Taken;
  /// The number that the next equal name ends in.
  llvm::StringMap<unsigned> Next;
};

/// Writes the names of all values into the locations, so that they stay what
/// they are when operations are moved, repeated and fused.
void writeValueNames(mlir::func::FuncOp Func);

/// The name within a location, "" if it has none: what the source calls the
/// value, the path of its scope, or what `writeValueNames` wrote. What is of
/// several results has all their names: "%a, %b".
std::string getLocationName(mlir::Location Loc);

/// "file:line:col" of the first such place within a nested location; else the
/// name that the source gave, such as the path of a scope; else "".
std::string describeLocation(mlir::Location Loc);

/// The same, but what the location prints as in place of "".
std::string getLocationText(mlir::Location Loc);

} // namespace remat

#endif // REMAT_ANALYSIS_VALUENAMES_H
