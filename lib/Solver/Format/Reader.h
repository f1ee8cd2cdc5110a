//===- Reader.h - Walks JSON text, names the place of the first error -----===//
#ifndef REMAT_LIB_SOLVER_FORMAT_READER_H
#define REMAT_LIB_SOLVER_FORMAT_READER_H

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace remat::solver {

using Json = nlohmann::ordered_json;

/// Walks parsed text; the first error sticks and names its place. A field that
/// is absent or wrong gives an empty value, so that callers need not stop.
class Reader {
public:
  std::string Error;

  bool failed() const { return !Error.empty(); }
  void fail(const std::string &Place, const std::string &What) {
    if (Error.empty())
      Error = Place + ": " + What;
  }

  bool parse(std::string_view Text, Json &Out);
  /// True for an object that has no other fields than the known ones.
  bool object(const Json &J, const std::string &Place,
              std::initializer_list<std::string_view> Known);
  const Json *field(const Json &J, const char *Key, const std::string &Place,
                    bool Required);
  std::string string(const Json &J, const char *Key, const std::string &Place,
                     bool Required = true);
  /// A whole number from 0 to `MaxTotalBytes`.
  int64_t bytes(const Json &J, const char *Key, const std::string &Place,
                bool Required);
  /// A finite number; not negative unless `Signed`.
  double number(const Json &J, const char *Key, const std::string &Place,
                bool Signed = false);
  const Json *array(const Json &J, const char *Key, const std::string &Place,
                    bool Required);
};

/// "What[I]".
std::string at(const std::string &What, size_t I);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_FORMAT_READER_H
