//===- ReadProblem.cpp - The format remat-problem-1 -----------------------===//
#include "Format/Reader.h"
#include "Problem/Order.h"

#include "remat/Solver/JSON.h"

#include <unordered_map>
#include <utility>

using namespace remat::solver;

namespace {

class ProblemReader : Reader {
public:
  std::variant<Problem, ReadError> read(std::string_view Text) {
    Json J;
    if (!parse(Text, J) ||
        !object(J, "problem", {"format", "resident", "ops", "results"}))
      return ReadError{Error};
    if (string(J, "format", "problem") != "remat-problem-1")
      fail("problem.format", "expected \"remat-problem-1\"");
    // Names first: an input may be named before its op, which `check` reports
    // better than "unknown value".
    declare(J);
    readOps(J);
    if (const Json *R = array(J, "results", "problem", false))
      for (size_t I = 0; I < R->size() && !failed(); ++I)
        if (ValueId V = use((*R)[I], at("results", I)); V != None)
          P.Results.push_back(V);
    readAfter(J);
    if (!failed())
      if (std::optional<std::string> Bad = check(P))
        Error = *Bad;
    if (failed())
      return ReadError{Error};
    return std::move(P);
  }

private:
  Problem P;
  std::unordered_map<std::string, ValueId> Ids;
  std::unordered_map<std::string, OpId> OpIds;

  void add(const std::string &Name, int64_t Bytes, const std::string &Place) {
    ValueId V = P.addResident(Name, Bytes);
    if (!Ids.emplace(Name, V).second)
      fail(Place, "a second value named '" + Name + "'");
  }

  void declare(const Json &J) {
    if (const Json *R = array(J, "resident", "problem", false))
      for (size_t I = 0; I < R->size() && !failed(); ++I) {
        std::string Here = at("resident", I);
        if (object((*R)[I], Here, {"name", "bytes"}))
          add(string((*R)[I], "name", Here),
              bytes((*R)[I], "bytes", Here, true), Here);
      }
    const Json *Ops = array(J, "ops", "problem", true);
    for (size_t I = 0; Ops && I < Ops->size() && !failed(); ++I)
      declareOutputs((*Ops)[I], at("ops", I));
  }

  void declareOutputs(const Json &J, const std::string &Place) {
    if (!object(J, Place,
                {"name", "time", "inputs", "outputs", "workspace", "once",
                 "choices", "after"}))
      return;
    const Json *Out = array(J, "outputs", Place, true);
    for (size_t I = 0; Out && I < Out->size() && !failed(); ++I) {
      std::string Here = at(Place + ".outputs", I);
      if (object((*Out)[I], Here, {"name", "bytes", "reuses", "alias", "keep"}))
        add(string((*Out)[I], "name", Here),
            bytes((*Out)[I], "bytes", Here, !(*Out)[I].contains("alias")),
            Here);
    }
  }

  ValueId use(const Json &J, const std::string &Place) {
    if (!J.is_string()) {
      fail(Place, "expected the name of a value");
      return None;
    }
    auto It = Ids.find(J.get<std::string>());
    if (It == Ids.end()) {
      fail(Place, "no value is named '" + J.get<std::string>() + "'");
      return None;
    }
    return It->second;
  }

  ValueId useField(const Json &J, const char *Key, const std::string &Place) {
    const Json *F = field(J, Key, Place, false);
    return F ? use(*F, Place + "." + Key) : None;
  }

  void readOps(const Json &J) {
    const Json *Ops = array(J, "ops", "problem", true);
    ValueId Next = ValueId(P.Values.size());
    for (size_t I = 0; Ops && I < Ops->size() && !failed(); ++I)
      if (const Json *Out = array((*Ops)[I], "outputs", at("ops", I), true))
        Next -= ValueId(Out->size());
    for (size_t I = 0; Ops && I < Ops->size() && !failed(); ++I)
      readOp((*Ops)[I], at("ops", I), Next);
  }

  void readOp(const Json &J, const std::string &Place, ValueId &Next) {
    std::vector<ValueId> Inputs;
    const Json *In = array(J, "inputs", Place, true);
    for (size_t I = 0; In && I < In->size() && !failed(); ++I)
      Inputs.push_back(use((*In)[I], at(Place + ".inputs", I)));
    bool HasChoices = J.contains("choices");
    if (HasChoices && (J.contains("time") || J.contains("workspace")))
      fail(Place, "has choices and a time or workspace of its own");
    OpId O = P.addOp(string(J, "name", Place),
                     HasChoices ? 0 : number(J, "time", Place),
                     std::move(Inputs), bytes(J, "workspace", Place, false));
    if (const Json *Once = field(J, "once", Place, false)) {
      if (!Once->is_boolean())
        fail(Place + ".once", "expected true or false");
      else
        P.Ops[O].Once = Once->get<bool>();
    }
    if (HasChoices)
      readChoices(J, Place, P.Ops[O]);
    const Json *Out = array(J, "outputs", Place, true);
    for (size_t I = 0; Out && I < Out->size() && !failed(); ++I)
      readOutput((*Out)[I], at(Place + ".outputs", I), O, Next++);
  }

  /// An op may be named before it stands, which is reported better than an
  /// unknown op.
  void readAfter(const Json &J) {
    for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
      OpIds.emplace(P.Ops[O].Name, O);
    // Per op: the last op that runs after it.
    std::vector<OpId> NamedBy(P.Ops.size(), None);
    auto PlaceOf = [](OpId O, size_t I) {
      return at(at("ops", size_t(O)) + ".after", I);
    };
    const Json *Ops = array(J, "ops", "problem", true);
    for (OpId O = 0; O < OpId(P.Ops.size()) && !failed(); ++O) {
      const Json *List =
          array((*Ops)[size_t(O)], "after", at("ops", size_t(O)), false);
      for (size_t I = 0; List && I < List->size() && !failed(); ++I)
        readAfter((*List)[I], PlaceOf(O, I), O, NamedBy);
    }
    if (failed())
      return;
    if (std::optional<WrongAfter> Wrong = findWrongAfter(P))
      fail(PlaceOf(Wrong->Later, Wrong->Index),
           "op '" + P.Ops[Wrong->Later].Name + "' " + Wrong->Reason);
  }

  void readAfter(const Json &J, const std::string &Place, OpId O,
                 std::vector<OpId> &NamedBy) {
    if (!J.is_string())
      return fail(Place, "expected the name of an op");
    std::string Name = J.get<std::string>();
    auto It = OpIds.find(Name);
    if (It == OpIds.end())
      return fail(Place, "no op is named '" + Name + "'");
    if (std::exchange(NamedBy[It->second], O) == O)
      return fail(Place, "names op '" + Name + "' a second time");
    P.Ops[O].After.push_back(It->second);
  }

  void readChoices(const Json &J, const std::string &Place, Op &O) {
    const Json *C = array(J, "choices", Place, true);
    if (C && C->empty())
      fail(Place + ".choices", "empty");
    for (size_t I = 0; C && I < C->size() && !failed(); ++I) {
      std::string Here = at(Place + ".choices", I);
      if (object((*C)[I], Here, {"name", "time", "workspace"}))
        O.Choices.push_back({string((*C)[I], "name", Here, false),
                             number((*C)[I], "time", Here),
                             bytes((*C)[I], "workspace", Here, false)});
    }
  }

  void readOutput(const Json &J, const std::string &Place, OpId O, ValueId V) {
    P.Values[V].Producer = O;
    P.Ops[O].Outputs.push_back(V);
    P.Values[V].Reuses = useField(J, "reuses", Place);
    P.Values[V].Alias = useField(J, "alias", Place);
    std::string Policy = string(J, "keep", Place, false);
    if (Policy == "must")
      P.Values[V].Policy = Keep::Must;
    else if (Policy == "never")
      P.Values[V].Policy = Keep::Never;
    else if (Policy == "prefer")
      P.Values[V].Policy = Keep::Prefer;
    else if (J.contains("keep"))
      fail(Place + ".keep", "expected \"must\", \"never\" or \"prefer\"");
  }
};

} // namespace

std::variant<Problem, ReadError>
remat::solver::readProblem(std::string_view Text) {
  return ProblemReader().read(Text);
}
