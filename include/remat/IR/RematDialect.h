//===- RematDialect.h - the remat dialect -----------------------*- C++ -*-===//

#ifndef REMAT_IR_REMATDIALECT_H
#define REMAT_IR_REMATDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "remat/IR/RematDialect.h.inc"
#include "remat/IR/RematEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "remat/IR/RematAttrs.h.inc"

namespace remat {

/// Names of the attributes that the dialect defines; see RematDialect.td.
inline constexpr llvm::StringLiteral RoleAttrName = "remat.role";
inline constexpr llvm::StringLiteral NameAttrName = "remat.name";
inline constexpr llvm::StringLiteral InitAttrName = "remat.init";
inline constexpr llvm::StringLiteral DataAttrName = "remat.data";
inline constexpr llvm::StringLiteral BoundAttrName = "remat.bound";
inline constexpr llvm::StringLiteral RateScaleAttrName = "remat.rate_scale";
inline constexpr llvm::StringLiteral DecayAttrName = "remat.weight_decay";
inline constexpr llvm::StringLiteral UpdateAttrName = "remat.update";
inline constexpr llvm::StringLiteral DonatedAttrName = "remat.donated";
inline constexpr llvm::StringLiteral PhaseAttrName = "remat.phase";
inline constexpr llvm::StringLiteral OriginAttrName = "remat.origin";
inline constexpr llvm::StringLiteral IdAttrName = "remat.id";
inline constexpr llvm::StringLiteral InHalvesAttrName = "remat.in_halves";
inline constexpr llvm::StringLiteral OffsetsAttrName = "remat.offsets";
inline constexpr llvm::StringLiteral OffsetAttrName = "remat.offset";
inline constexpr llvm::StringLiteral WorkspaceAttrName = "remat.workspace";
inline constexpr llvm::StringLiteral ChoiceAttrName = "remat.choice";
inline constexpr llvm::StringLiteral KeepAttrName = "remat.keep";
inline constexpr llvm::StringLiteral ArenaAttrName = "remat.arena_bytes";
inline constexpr llvm::StringLiteral StageAttrName = "remat.stage";
inline constexpr llvm::StringLiteral PlanAttrName = "remat.plan";
inline constexpr llvm::StringLiteral SlicesAttrName = "remat.slices";
inline constexpr llvm::StringLiteral MeshAttrName = "remat.mesh";
inline constexpr llvm::StringLiteral ShardAttrName = "remat.shard";
inline constexpr llvm::StringLiteral PartAttrName = "remat.part";
inline constexpr llvm::StringLiteral TargetAttrName = "remat.target";
inline constexpr llvm::StringLiteral CostsAttrName = "remat.costs";

/// The ranks that `Op` runs on: `remat.mesh` of the function that it is or lies
/// in; null for one rank.
MeshAttr getMesh(mlir::Operation *Op);

/// The shape of each part that `Cut` makes of a tensor of shape `Whole` among
/// the ranks of `Mesh`; nothing if it is null, has no such axes, or makes no
/// equal parts.
std::optional<llvm::SmallVector<int64_t>>
getPartShape(MeshAttr Mesh, CutAttr Cut, llvm::ArrayRef<int64_t> Whole);

/// Where `Func` runs: its `remat.target`, or the host.
TargetAttr getTargetAttr(mlir::Operation *Func);

/// The names of all optimizers: "adamw", "adam", ...
llvm::ArrayRef<llvm::StringRef> getUpdateKindNames();

} // namespace remat

#endif // REMAT_IR_REMATDIALECT_H
