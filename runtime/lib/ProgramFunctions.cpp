//===- ProgramFunctions.cpp - functions over a program's arena ------------===//
//
// A function is verified as a program first: so its arguments lie apart from
// each other, and those that are neither inputs nor donated are intact at its
// end. What is left is that everything that survives a step is among them.
//
//===----------------------------------------------------------------------===//

#include "lib/ProgramChecks.h"
#include "ops/Op.h"
#include <map>
#include <set>

using namespace remat::runtime;

namespace {

class FunctionVerifier {
public:
  FunctionVerifier(const Program &P, const Program &Function)
      : P(P), Function(Function) {}
  Status run();

private:
  Status verifyTarget() const;
  Status verifyArgument(const Argument &Shared);
  Status verifyConstant(const Constant &Shared);
  Status verifyRest() const;
  static std::string describe(const Tensor &T) {
    return std::to_string(T.Bytes) + " bytes at offset " +
           std::to_string(T.Offset);
  }

  const Program &P, &Function;
  std::map<std::string_view, const Argument *> ByName;
  std::map<uint64_t, const Argument *> ByOffset; ///< without inputs
  std::set<const Argument *> Shared;
};

} // namespace

Status FunctionVerifier::verifyTarget() const {
  REMAT_REQUIRE(Function.Mesh == P.Mesh, "is for other ranks");
  REMAT_REQUIRE(Function.Device == P.Device && Function.Arch == P.Arch,
                "is for another device than the program");
  REMAT_REQUIRE(Function.ArenaBytes <= P.ArenaBytes,
                "has an arena of " + std::to_string(Function.ArenaBytes) +
                    " bytes, the program's has " +
                    std::to_string(P.ArenaBytes));
  return {};
}

Status FunctionVerifier::verifyArgument(const Argument &A) {
  const Tensor &From = P.Tensors[A.Tensor];
  auto It = ByName.find(A.Name);
  REMAT_REQUIRE(It != ByName.end(), "does not keep argument " +
                                        quoteText(A.Name) + " of " +
                                        describe(From));
  const Argument &Here = *It->second;
  const Tensor &To = Function.Tensors[Here.Tensor];
  REMAT_REQUIRE(Here.Role == A.Role && To.Offset == From.Offset &&
                    To.Type == From.Type && To.Shape == From.Shape &&
                    To.InHalves == From.InHalves,
                "has argument " + quoteText(A.Name) + " of " + describe(To) +
                    "; the program has " + describe(From) +
                    ", or another role, type or shape");
  Shared.insert(&Here);
  return {};
}

Status FunctionVerifier::verifyConstant(const Constant &C) {
  const Tensor &From = P.Tensors[C.Tensor];
  auto It = ByOffset.find(From.Offset);
  REMAT_REQUIRE(It != ByOffset.end() &&
                    Function.Tensors[It->second->Tensor].Bytes == From.Bytes,
                "does not keep the program's constant of " + describe(From));
  Shared.insert(It->second);
  return {};
}

/// What is no input comes from the program, and nobody writes it.
Status FunctionVerifier::verifyRest() const {
  for (const Argument &A : Function.Arguments) {
    REMAT_REQUIRE(A.DonatedResult == -1,
                  "writes its argument " + quoteText(A.Name));
    REMAT_REQUIRE(A.Role == Role::Input || Shared.contains(&A),
                  "has argument " + quoteText(A.Name) +
                      ", which is neither an input nor of the program");
  }
  return {};
}

Status FunctionVerifier::run() {
  REMAT_TRY(verifyTarget());
  for (const Argument &A : Function.Arguments) {
    ByName[A.Name] = &A;
    if (A.Role != Role::Input)
      ByOffset[Function.Tensors[A.Tensor].Offset] = &A;
  }
  for (const Argument &A : P.Arguments)
    if (A.Role != Role::Input)
      REMAT_TRY(verifyArgument(A));
  for (const Constant &C : P.Constants)
    REMAT_TRY(verifyConstant(C));
  return verifyRest();
}

Status remat::runtime::verifyFunction(const Program &P, const std::string &Name,
                                      const Program &Function) {
  REMAT_REQUIRE(!Name.empty() && !P.findFunction(Name),
                "has no name, or that of another function");
  return FunctionVerifier(P, Function).run();
}
