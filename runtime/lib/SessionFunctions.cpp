//===- SessionFunctions.cpp - functions over a session's arena ------------===//

#include "ops/Op.h"
#include "remat/runtime/Session.h"
#include <map>

using namespace remat::runtime;

Session::Session(std::shared_ptr<const Program> Function, Session &Main)
    : TheProgram(std::move(Function)), TheDevice(Main.TheDevice),
      Options(Main.Options), Arena(Main.Arena), Main(&Main),
      Written(TheProgram->Arguments.size()) {
  std::map<std::string_view, uint32_t> ByName;
  for (uint32_t I = 0; I < Main.TheProgram->Arguments.size(); ++I)
    ByName[Main.TheProgram->Arguments[I].Name] = I;
  for (const Argument &A : TheProgram->Arguments) {
    auto It = ByName.find(A.Name);
    bool IsShared = A.Role != Role::Input && It != ByName.end();
    SharedWith.push_back(IsShared ? std::optional(It->second) : std::nullopt);
  }
}

Status Session::addFunctions() {
  Occupant = this;
  for (const ProgramFunction &F : TheProgram->Functions) {
    Functions.push_back(std::unique_ptr<Session>(new Session(F.Body, *this)));
    if (Status Prepared = Functions.back()->prepare(); !Prepared)
      return Prepared.getError().within("function '" + F.Name + "'");
  }
  return {};
}

Result<Session *> Session::getFunction(std::string_view Name) {
  if (std::optional<uint32_t> Number = TheProgram->findFunction(Name))
    return Functions[*Number].get();
  return Error(ErrorCode::InvalidArgument,
               "the program has no function '" + std::string(Name) + "'");
}

/// Takes over what of the arena does not survive a step.
Status Session::occupy() {
  Session *&Now = Main ? Main->Occupant : Occupant;
  if (Now == this)
    return {};
  if (Now)
    Now->vacate();
  // Until the constants are there, the bytes are nobody's.
  Now = nullptr;
  if (Main)
    REMAT_TRY(loadConstants());
  Now = this;
  return {};
}

void Session::vacate() {
  HasRun = false;
  for (size_t I = 0; I < Written.size(); ++I)
    if (TheProgram->Arguments[I].Role == Role::Input)
      Written[I] = false;
}

bool Session::holdsValue(size_t Argument) const {
  if (!Main || TheProgram->Arguments[Argument].Role == Role::Input)
    return Written[Argument];
  // What the program does not name is one of its constants.
  std::optional<uint32_t> Shared = SharedWith[Argument];
  return !Shared || Main->Written[*Shared];
}

Status Session::checkWritten() const {
  for (size_t I = 0; I < Written.size(); ++I)
    if (!holdsValue(I))
      return Error(ErrorCode::InvalidArgument,
                   "argument '" + TheProgram->Arguments[I].Name +
                       "' was not written before this step");
  return {};
}

Status Session::checkWritable(const Argument &A) const {
  if (!Main || A.Role == Role::Input)
    return {};
  return Error(ErrorCode::InvalidArgument,
               "argument '" + A.Name +
                   "' is shared: it is written in the program's session");
}
