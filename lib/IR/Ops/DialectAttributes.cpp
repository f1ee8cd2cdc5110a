//===- DialectAttributes.cpp - checks of remat.* attributes -----*- C++ -*-===//
//
// The tables of RematDialect.td as a verifier. Names end up in reports and in
// generated source, so that their alphabet is checked here, once.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "remat/IR/ElementTypes.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace remat;

namespace {
/// One attribute of an argument or result of a function, to be checked.
struct InterfaceAttribute {
  mutable FunctionOpInterface Func; // a handle, whose methods are not const
  bool IsResult;
  unsigned Index;
  NamedAttribute Named;

  StringRef getName() const { return Named.getName(); }
  Type getType() const {
    return IsResult ? Func.getResultTypes()[Index]
                    : Func.getArgumentTypes()[Index];
  }
  std::optional<Role> getRole() const {
    auto Attr = IsResult
                    ? Func.getResultAttrOfType<RoleAttr>(Index, RoleAttrName)
                    : Func.getArgAttrOfType<RoleAttr>(Index, RoleAttrName);
    return Attr ? std::optional(Attr.getValue()) : std::nullopt;
  }
  InFlightDiagnostic emitError() const {
    return Func.emitError()
           << (IsResult ? "result #" : "argument #") << Index << ": ";
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// remat.role
//===----------------------------------------------------------------------===//

static LogicalResult verifyTensor(const InterfaceAttribute &A) {
  return verifyGraphTensor(A.getType(), [&] { return A.emitError(); });
}

/// The type that a role demands, null if it demands none.
static Type getRoleType(Role Role, MLIRContext *Context) {
  switch (Role) {
  case Role::seed:
  case Role::step:
    return RankedTensorType::get({}, IntegerType::get(Context, 64));
  case Role::learning_rate:
  case Role::loss:
    return RankedTensorType::get({}, Float32Type::get(Context));
  default:
    return nullptr;
  }
}

static LogicalResult verifyRole(const InterfaceAttribute &A) {
  auto Attr = dyn_cast<RoleAttr>(A.Named.getValue());
  if (!Attr)
    return A.emitError() << "'" << A.getName() << "' must be a #remat.role";
  Role Role = Attr.getValue();
  if (failed(verifyTensor(A)))
    return failure();

  using enum remat::Role;
  bool OfArgument = llvm::is_contained(
      {parameter, input, state, seed, step, learning_rate}, Role);
  bool OfResult = llvm::is_contained(
      {parameter, state, step, loss, output, gradient}, Role);
  // The body of a loop, as a function, has what is there around it as
  // arguments.
  OfArgument |=
      OfResult && !A.IsResult && A.Func.getArgAttr(A.Index, OffsetAttrName);
  if (A.IsResult ? !OfResult : !OfArgument)
    return A.emitError() << "role '" << stringifyRole(Role) << "' is none of "
                         << (A.IsResult ? "a result" : "an argument");

  Type Type = getRoleType(Role, A.Func->getContext());
  if (Type && A.getType() != Type) {
    InFlightDiagnostic Diag = A.emitError();
    Diag << "a value of role '" << stringifyRole(Role) << "' is a " << Type
         << ", not a " << A.getType();
    if (Role == loss)
      Diag.attachNote() << "make one f32 number of it: remat.cast, and "
                           "remat.reduce sum or mean over all dimensions";
    return Diag;
  }
  if ((Role == parameter || Role == gradient) &&
      !isComputedFloat(getElementTypeOrSelf(A.getType()))) {
    InFlightDiagnostic Diag = A.emitError();
    Diag << "a value of role '" << stringifyRole(Role)
         << "' must have float elements, not " << A.getType();
    Diag.attachNote() << (isa<FloatType>(getElementTypeOrSelf(A.getType()))
                              ? "floats that nothing computes with"
                              : "integers")
                      << " have no gradient; give it the role "
                      << (A.IsResult ? "output" : "input");
    return Diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// remat.name
//===----------------------------------------------------------------------===//

/// Whether `Attribute` is the first of its name on the function's arguments or
/// results: checks over all of them then run once.
static bool isFirst(const InterfaceAttribute &A) {
  for (unsigned I = 0; I < A.Index; ++I)
    if (A.IsResult ? A.Func.getResultAttr(I, A.getName())
                   : A.Func.getArgAttr(I, A.getName()))
      return false;
  return true;
}

static LogicalResult verifyUniqueNames(const InterfaceAttribute &A) {
  llvm::StringMap<unsigned> Seen;
  unsigned Count =
      A.IsResult ? A.Func.getNumResults() : A.Func.getNumArguments();
  for (unsigned I = 0; I < Count; ++I) {
    auto Name = dyn_cast_or_null<StringAttr>(
        A.IsResult ? A.Func.getResultAttr(I, NameAttrName)
                   : A.Func.getArgAttr(I, NameAttrName));
    if (!Name)
      continue;
    auto [Before, Inserted] = Seen.try_emplace(Name, I);
    if (!Inserted)
      return InterfaceAttribute{A.Func, A.IsResult, I, A.Named}.emitError()
             << "name '" << Name.getValue() << "' is already that of #"
             << Before->second;
  }
  return success();
}

static LogicalResult verifyName(const InterfaceAttribute &A) {
  auto Name = dyn_cast<StringAttr>(A.Named.getValue());
  constexpr size_t MaxLength = 255;
  if (!Name || Name.empty() || Name.size() > MaxLength)
    return A.emitError() << "'" << A.getName() << "' must be a string of 1 to "
                         << MaxLength << " characters";
  // Neither quotes nor anything that begins or ends a comment or a line.
  constexpr StringRef Punctuation = "_.-/:+@#$[](),=";
  for (char Char : Name.getValue())
    if (!llvm::isAlnum(Char) && !Punctuation.contains(Char))
      return A.emitError() << "name has the character "
                           << "0x"
                           << llvm::utohexstr(static_cast<uint8_t>(Char))
                           << "; letters, digits and " << Punctuation
                           << " are allowed";
  return isFirst(A) ? verifyUniqueNames(A) : success();
}

//===----------------------------------------------------------------------===//
// remat.init, remat.data, remat.bound
//===----------------------------------------------------------------------===//

static LogicalResult verifyInit(const InterfaceAttribute &A) {
  auto Init = dyn_cast<InitAttr>(A.Named.getValue());
  if (!Init)
    return A.emitError() << "'" << A.getName() << "' must be a #remat.init";
  std::optional<Role> Role = A.getRole();
  if (A.IsResult || Role == Role::input)
    return A.emitError() << "'" << A.getName()
                         << "' is for parameters and states";
  if (Init.getKind() != InitKind::constant && !(Init.getValue() >= 0.0))
    return A.emitError() << "'" << A.getName() << "' has the negative width "
                         << Init.getValue();
  return success();
}

/// Checks that the attribute stands on an input of integers.
static LogicalResult verifyIntegerInput(const InterfaceAttribute &A) {
  auto Tensor = dyn_cast<RankedTensorType>(A.getType());
  if (!A.IsResult && A.getRole() == Role::input && Tensor &&
      Tensor.getElementType().isInteger())
    return success();
  return A.emitError() << "'" << A.getName()
                       << "' is for inputs with integer elements";
}

static LogicalResult verifyData(const InterfaceAttribute &A) {
  if (!isa<DataSourceAttr>(A.Named.getValue()))
    return A.emitError() << "'" << A.getName()
                         << "' must be #remat.data<tokens> or "
                            "#remat.data<targets>";
  return verifyIntegerInput(A);
}

static LogicalResult verifyBound(const InterfaceAttribute &A) {
  auto Bound = dyn_cast<IntegerAttr>(A.Named.getValue());
  if (!Bound || !Bound.getType().isSignlessInteger(64) || Bound.getInt() < 1)
    return A.emitError() << "'" << A.getName() << "' must be a positive i64";
  return verifyIntegerInput(A);
}

//===----------------------------------------------------------------------===//
// remat.rate_scale, remat.weight_decay, remat.update
//===----------------------------------------------------------------------===//

static LogicalResult verifyTrained(const InterfaceAttribute &A) {
  if (!A.IsResult && A.getRole() == Role::parameter)
    return success();
  return A.emitError() << "'" << A.getName() << "' is for parameters";
}

static LogicalResult verifyUpdateNumber(const InterfaceAttribute &A) {
  auto Number = dyn_cast<FloatAttr>(A.Named.getValue());
  if (!Number || !Number.getType().isF64() || !Number.getValue().isFinite() ||
      Number.getValueAsDouble() < 0.0)
    return A.emitError() << "'" << A.getName()
                         << "' must be an f64, finite and not negative";
  return verifyTrained(A);
}

static LogicalResult verifyUpdate(const InterfaceAttribute &A) {
  auto Update = dyn_cast<UpdateKindAttr>(A.Named.getValue());
  if (!Update)
    return A.emitError() << "'" << A.getName() << "' must be a #remat.update";
  auto Type = dyn_cast<RankedTensorType>(A.getType());
  if (Update.getValue() == UpdateKind::muon && Type && Type.getRank() != 2)
    return A.emitError() << "'" << A.getName()
                         << "' is muon, which is for matrices, not for rank "
                         << Type.getRank();
  return verifyTrained(A);
}

//===----------------------------------------------------------------------===//
// remat.shard, remat.part
//===----------------------------------------------------------------------===//

static LogicalResult verifyShard(const InterfaceAttribute &A) {
  auto Cut = dyn_cast<CutAttr>(A.Named.getValue());
  if (!Cut || Cut.getDim() < 0)
    return A.emitError() << "'" << A.getName()
                         << "' must be a #remat.cut along a dimension";
  if (A.IsResult ||
      (A.getRole() != Role::parameter && A.getRole() != Role::state))
    return A.emitError() << "'" << A.getName()
                         << "' is for parameters, frozen or not";
  return success();
}

static LogicalResult verifyPart(const InterfaceAttribute &A) {
  auto Part = dyn_cast<PartAttr>(A.Named.getValue());
  auto Type = dyn_cast<RankedTensorType>(A.getType());
  if (!Part || !Type)
    return A.emitError() << "'" << A.getName() << "' must be a #remat.part";
  MeshAttr Mesh = getMesh(A.Func);
  SmallVector<int64_t> Shape(Part.getWhole());
  for (auto Cut : Part.getCuts().getAsRange<CutAttr>()) {
    std::optional<SmallVector<int64_t>> Next = getPartShape(Mesh, Cut, Shape);
    if (!Next && !Mesh)
      return A.emitError() << "'" << A.getName()
                           << "' is for functions with a '" << MeshAttrName
                           << "', which says who has the other parts";
    if (!Next)
      return A.emitError() << "there is no " << Cut << " of a tensor ["
                           << llvm::interleaved(Shape)
                           << "] where the function's '" << MeshAttrName
                           << "' is " << Mesh;
    Shape = *Next;
  }
  if (ArrayRef(Shape) != Type.getShape())
    return A.emitError() << "a part of the whole is of shape ["
                         << llvm::interleaved(Shape) << "], not " << Type;
  return success();
}

//===----------------------------------------------------------------------===//
// remat.donated, remat.in_halves, remat.offset
//===----------------------------------------------------------------------===//

static LogicalResult verifyDonated(const InterfaceAttribute &A) {
  auto Donated = dyn_cast<IntegerAttr>(A.Named.getValue());
  if (A.IsResult || !Donated || !Donated.getType().isSignlessInteger(64))
    return A.emitError() << "'" << A.getName()
                         << "' must be an i64 on an argument";
  int64_t Result = Donated.getInt();
  if (Result < 0 || Result >= static_cast<int64_t>(A.Func.getNumResults()))
    return A.emitError() << "is donated to result #" << Result
                         << ", but there are " << A.Func.getNumResults();
  if (A.Func.getResultTypes()[Result] != A.getType())
    return A.emitError() << "of type " << A.getType()
                         << " is donated to result #" << Result << " of type "
                         << A.Func.getResultTypes()[Result];
  if (!isFirst(A))
    return success();
  llvm::DenseMap<Attribute, unsigned> Seen;
  for (unsigned I = 0; I < A.Func.getNumArguments(); ++I) {
    Attribute Other = A.Func.getArgAttr(I, DonatedAttrName);
    if (!Other)
      continue;
    auto [Before, Inserted] = Seen.try_emplace(Other, I);
    if (!Inserted)
      return InterfaceAttribute{A.Func, false, I, A.Named}.emitError()
             << "is donated to the same result as argument #" << Before->second;
  }
  return success();
}

/// Who may read such bytes is for the readers to say.
static LogicalResult verifyInHalves(const InterfaceAttribute &A) {
  if (A.IsResult || !isa<UnitAttr>(A.Named.getValue()) ||
      !getElementTypeOrSelf(A.getType()).isF32())
    return A.emitError() << "'" << A.getName()
                         << "' stands without a value on an f32 argument";
  return success();
}

static LogicalResult verifyOffset(const InterfaceAttribute &A) {
  if (!A.IsResult && isByteCount(A.Named.getValue()))
    return success();
  return A.emitError() << "'" << A.getName()
                       << "' must be a byte offset on an argument";
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

static LogicalResult verifyInterfaceAttribute(Operation *Op, bool IsResult,
                                              unsigned Index,
                                              NamedAttribute Named) {
  auto Func = dyn_cast<FunctionOpInterface>(Op);
  if (!Func)
    return Op->emitError() << "'" << Named.getName().getValue()
                           << "' is for arguments and results of functions";
  InterfaceAttribute A = {Func, IsResult, Index, Named};
  using Verifier = LogicalResult (*)(const InterfaceAttribute &);
  static const std::pair<StringRef, Verifier> Verifiers[] = {
      {RoleAttrName, verifyRole},
      {NameAttrName, verifyName},
      {InitAttrName, verifyInit},
      {DataAttrName, verifyData},
      {BoundAttrName, verifyBound},
      {DonatedAttrName, verifyDonated},
      {InHalvesAttrName, verifyInHalves},
      {OffsetAttrName, verifyOffset},
      {RateScaleAttrName, verifyUpdateNumber},
      {DecayAttrName, verifyUpdateNumber},
      {UpdateAttrName, verifyUpdate},
      {ShardAttrName, verifyShard},
      {PartAttrName, verifyPart},
  };
  for (auto [Name, Verify] : Verifiers)
    if (A.getName() == Name)
      return Verify(A);
  return A.emitError() << "the dialect has no attribute '" << A.getName()
                       << "' for arguments or results";
}

LogicalResult RematDialect::verifyRegionArgAttribute(Operation *Op, unsigned,
                                                     unsigned Index,
                                                     NamedAttribute Named) {
  return verifyInterfaceAttribute(Op, /*IsResult=*/false, Index, Named);
}

LogicalResult RematDialect::verifyRegionResultAttribute(Operation *Op, unsigned,
                                                        unsigned Index,
                                                        NamedAttribute Named) {
  return verifyInterfaceAttribute(Op, /*IsResult=*/true, Index, Named);
}
