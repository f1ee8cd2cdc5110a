//===- JSON.cpp - Reading and writing the exchange formats ----------------===//
#include "remat/Solver/JSON.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <initializer_list>
#include <unordered_map>
#include <unordered_set>

using namespace remat::solver;

namespace {

using Json = nlohmann::ordered_json;

/// Stops at a second field of one name in an object, which would silently
/// replace the first. A pass of its own: the parser with a callback walks over
/// a whole list at each object in it.
struct FieldNames : nlohmann::json_sax<Json> {
  std::vector<std::unordered_set<std::string>> Fields;
  std::string Twice;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override {
    Fields.emplace_back();
    return true;
  }
  bool end_object() override {
    Fields.pop_back();
    return true;
  }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool key(string_t &Name) override {
    bool New = Fields.back().insert(Name).second;
    if (!New)
      Twice = Name;
    return New;
  }
  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &) override {
    return false;
  }
};

/// Walks parsed text; the first error sticks and names its place.
class Reader {
public:
  std::string Error;

  bool failed() const { return !Error.empty(); }
  void fail(const std::string &Place, const std::string &What) {
    if (Error.empty())
      Error = Place + ": " + What;
  }

  bool parse(std::string_view Text, Json &Out) {
    // Deep nesting is refused first: destroying it would recurse as deeply.
    int Depth = 0;
    bool InString = false;
    for (size_t I = 0; I < Text.size(); ++I) {
      char C = Text[I];
      if (InString && C == '\\')
        ++I;
      else if (C == '"')
        InString = !InString;
      else if (!InString)
        Depth += (C == '[' || C == '{') - (C == ']' || C == '}');
      if (Depth > 64) {
        fail("text", "nested too deeply");
        return false;
      }
    }
    FieldNames Names;
    if (Json::sax_parse(Text.begin(), Text.end(), &Names))
      Out = Json::parse(Text.begin(), Text.end(), nullptr, false);
    else if (!Names.Twice.empty())
      fail("text", "two fields '" + Names.Twice + "' in one object");
    else
      Out = Json(Json::value_t::discarded);
    if (Out.is_discarded())
      fail("text", "not valid JSON");
    return !failed();
  }

  bool object(const Json &J, const std::string &Place,
              std::initializer_list<std::string_view> Known) {
    if (!J.is_object()) {
      fail(Place, "expected an object");
      return false;
    }
    for (const auto &[Key, Unused] : J.items()) {
      bool Ok = false;
      for (std::string_view K : Known)
        Ok |= K == Key;
      if (!Ok)
        fail(Place, "unknown field '" + Key + "'");
    }
    return !failed();
  }

  const Json *field(const Json &J, const char *Key, const std::string &Place,
                    bool Required) {
    auto It = J.find(Key);
    if (It != J.end())
      return &*It;
    if (Required)
      fail(Place, std::string("missing field '") + Key + "'");
    return nullptr;
  }

  std::string string(const Json &J, const char *Key, const std::string &Place,
                     bool Required = true) {
    const Json *F = field(J, Key, Place, Required);
    if (!F)
      return {};
    if (!F->is_string()) {
      fail(Place + "." + Key, "expected a string");
      return {};
    }
    return F->get<std::string>();
  }

  int64_t bytes(const Json &J, const char *Key, const std::string &Place,
                bool Required) {
    const Json *F = field(J, Key, Place, Required);
    if (!F)
      return 0;
    std::string Here = Place + "." + Key;
    double D = F->is_number() ? F->get<double>() : -1;
    if (!F->is_number() || std::floor(D) != D)
      fail(Here, "expected a whole number of bytes");
    else if (D < 0)
      fail(Here, "negative");
    else if (D > double(MaxTotalBytes))
      fail(Here, "too large");
    else
      return F->is_number_integer() ? F->get<int64_t>() : int64_t(D);
    return 0;
  }

  double time(const Json &J, const std::string &Place) {
    const Json *F = field(J, "time", Place, true);
    if (!F)
      return 0;
    if (!F->is_number())
      fail(Place + ".time", "expected a number");
    else if (double T = F->get<double>(); !std::isfinite(T) || T < 0)
      fail(Place + ".time", "negative or not finite");
    else
      return T + 0.0; // -0 is 0
    return 0;
  }

  const Json *array(const Json &J, const char *Key, const std::string &Place,
                    bool Required) {
    const Json *F = field(J, Key, Place, Required);
    if (F && !F->is_array()) {
      fail(Place + "." + Key, "expected an array");
      return nullptr;
    }
    return F;
  }
};

std::string at(const std::string &What, size_t I) {
  return What + "[" + std::to_string(I) + "]";
}

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
                 "choices"}))
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
    OpId O = P.addOp(string(J, "name", Place), HasChoices ? 0 : time(J, Place),
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

  void readChoices(const Json &J, const std::string &Place, Op &O) {
    const Json *C = array(J, "choices", Place, true);
    if (C && C->empty())
      fail(Place + ".choices", "empty");
    for (size_t I = 0; C && I < C->size() && !failed(); ++I) {
      std::string Here = at(Place + ".choices", I);
      if (object((*C)[I], Here, {"name", "time", "workspace"}))
        O.Choices.push_back({string((*C)[I], "name", Here, false),
                             time((*C)[I], Here),
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

class PlanReader : Reader {
public:
  std::variant<Plan, ReadError> read(std::string_view Text, const Problem &P) {
    Json J;
    if (!parse(Text, J) ||
        !object(J, "plan", {"format", "sequence", "certificate"}))
      return ReadError{Error};
    if (string(J, "format", "plan") != "remat-plan-1")
      fail("plan.format", "expected \"remat-plan-1\"");
    std::unordered_map<std::string_view, OpId> Ids;
    for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
      Ids.emplace(P.Ops[O].Name, O);
    Plan S;
    const Json *Seq = array(J, "sequence", "plan", true);
    for (size_t I = 0; Seq && I < Seq->size() && !failed(); ++I) {
      std::string Here = at("sequence", I);
      if (!object((*Seq)[I], Here, {"op", "choice"}))
        break;
      std::string Name = string((*Seq)[I], "op", Here);
      auto It = Ids.find(Name);
      if (It == Ids.end()) {
        fail(Here, "no op is named '" + Name + "'");
        break;
      }
      int64_t Choice = (*Seq)[I].contains("choice")
                           ? bytes((*Seq)[I], "choice", Here, true)
                           : P.fastestChoice(It->second);
      if (Choice >= int64_t(P.numChoices(It->second)))
        fail(Here + ".choice", "op '" + Name + "' has no such choice");
      S.Sequence.push_back({It->second, int32_t(Choice)});
    }
    if (failed())
      return ReadError{Error};
    return S;
  }
};

} // namespace

std::variant<Problem, ReadError>
remat::solver::readProblem(std::string_view Text) {
  return ProblemReader().read(Text);
}

std::variant<Plan, ReadError> remat::solver::readPlan(std::string_view Text,
                                                      const Problem &P) {
  return PlanReader().read(Text, P);
}

static Json jsonOf(const Problem &P, const Op &O) {
  Json J = {{"name", O.Name}};
  if (O.Choices.empty())
    J["time"] = O.Time;
  J["inputs"] = Json::array();
  for (ValueId V : O.Inputs)
    J["inputs"].push_back(P.Values[V].Name);
  J["outputs"] = Json::array();
  for (ValueId V : O.Outputs) {
    const Value &X = P.Values[V];
    Json Out = {{"name", X.Name}, {"bytes", X.Bytes}};
    if (X.Reuses != None)
      Out["reuses"] = P.Values[X.Reuses].Name;
    if (X.Alias != None)
      Out["alias"] = P.Values[X.Alias].Name;
    if (X.Policy != Keep::Free)
      Out["keep"] = X.Policy == Keep::Must    ? "must"
                    : X.Policy == Keep::Never ? "never"
                                              : "prefer";
    J["outputs"].push_back(std::move(Out));
  }
  if (O.Choices.empty() && O.Workspace)
    J["workspace"] = O.Workspace;
  for (const Choice &C : O.Choices)
    J["choices"].push_back(
        {{"name", C.Name}, {"time", C.Time}, {"workspace", C.Workspace}});
  if (O.Once)
    J["once"] = true;
  return J;
}

/// One line an op, so that problems can be compared with line tools.
std::string remat::solver::writeProblem(const Problem &P) {
  // Names are arbitrary bytes: what is not UTF-8 is replaced, never thrown on.
  auto Text = [](const Json &J) {
    return J.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string Out = "{\"format\": \"remat-problem-1\",\n \"resident\": [";
  const char *Comma = "\n  ";
  for (const Value &V : P.Values)
    if (V.Producer == None) {
      Out += Comma + Text({{"name", V.Name}, {"bytes", V.Bytes}});
      Comma = ",\n  ";
    }
  Out += "],\n \"ops\": [";
  Comma = "\n  ";
  for (const Op &O : P.Ops) {
    Out += Comma + Text(jsonOf(P, O));
    Comma = ",\n  ";
  }
  Json Results = Json::array();
  for (ValueId V : P.Results)
    Results.push_back(P.Values[V].Name);
  return Out + "],\n \"results\": " + Text(Results) + "}\n";
}

std::string remat::solver::writePlan(const Problem &P, const Plan &S,
                                     const Certificate *C) {
  Json J = {{"format", "remat-plan-1"}, {"sequence", Json::array()}};
  for (const Step &T : S.Sequence) {
    Json Entry = {{"op", P.Ops[T.Op].Name}};
    if (!P.Ops[T.Op].Choices.empty())
      Entry["choice"] = T.Choice;
    J["sequence"].push_back(std::move(Entry));
  }
  if (C)
    J["certificate"] = {{"time", C->Time},
                        {"base_time", C->BaseTime},
                        {"overhead", C->Overhead},
                        {"peak", C->Peak},
                        {"lower_bound", C->LowerBound},
                        {"space", C->ProvenOver == Space::AnyOrder
                                      ? "any-order"
                                      : "base-order"},
                        {"gap", C->Gap},
                        {"min_budget", C->MinBudget},
                        {"min_budget_bound", C->MinBudgetBound},
                        {"seconds", C->Seconds},
                        {"seed", C->Seed}};
  return J.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}
