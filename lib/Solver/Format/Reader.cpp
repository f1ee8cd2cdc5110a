//===- Reader.cpp - Walks JSON text, names the place of the first error ---===//
#include "Format/Reader.h"

#include "remat/Solver/Problem.h"

#include <cmath>
#include <unordered_set>
#include <vector>

using namespace remat::solver;

namespace {

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

} // namespace

bool Reader::parse(std::string_view Text, Json &Out) {
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

bool Reader::object(const Json &J, const std::string &Place,
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

const Json *Reader::field(const Json &J, const char *Key,
                          const std::string &Place, bool Required) {
  auto It = J.find(Key);
  if (It != J.end())
    return &*It;
  if (Required)
    fail(Place, std::string("missing field '") + Key + "'");
  return nullptr;
}

std::string Reader::string(const Json &J, const char *Key,
                           const std::string &Place, bool Required) {
  const Json *F = field(J, Key, Place, Required);
  if (!F)
    return {};
  if (!F->is_string()) {
    fail(Place + "." + Key, "expected a string");
    return {};
  }
  return F->get<std::string>();
}

int64_t Reader::bytes(const Json &J, const char *Key, const std::string &Place,
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

double Reader::number(const Json &J, const char *Key, const std::string &Place,
                      bool Signed) {
  const Json *F = field(J, Key, Place, true);
  if (!F)
    return 0;
  if (!F->is_number())
    fail(Place + "." + Key, "expected a number");
  else if (double X = F->get<double>(); !std::isfinite(X) || (X < 0 && !Signed))
    fail(Place + "." + Key, "negative or not finite");
  else
    return X + 0.0; // -0 is 0
  return 0;
}

const Json *Reader::array(const Json &J, const char *Key,
                          const std::string &Place, bool Required) {
  const Json *F = field(J, Key, Place, Required);
  if (F && !F->is_array()) {
    fail(Place + "." + Key, "expected an array");
    return nullptr;
  }
  return F;
}

std::string remat::solver::at(const std::string &What, size_t I) {
  return What + "[" + std::to_string(I) + "]";
}
