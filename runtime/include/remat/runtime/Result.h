//===- Result.h - a value or an error ---------------------------*- C++ -*-===//
//
// Every call of the runtime that can fail returns a Result: the runtime neither
// throws nor ends the process, whatever it is given.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_RESULT_H
#define REMAT_RUNTIME_RESULT_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace remat::runtime {

/// What kind of thing went wrong, for callers that act on it.
enum class ErrorCode {
  InvalidArgument, ///< a caller's mistake: unknown name, wrong size
  InvalidProgram,  ///< the program bytes break a rule of the format
  InvalidFile,     ///< a safetensors or token file breaks a rule of its format
  InvalidData,     ///< values that an op refuses, e.g. an id outside a table
  OutOfMemory,     ///< nothing was changed: the call can be made again
  Unavailable,     ///< no such device, library or architecture here
  DeviceFailure,   ///< a launch or a copy failed
  RankFailure,     ///< another rank died, hangs, or gave up
  IO,              ///< the file system refused
  Interrupted,     ///< as was asked for; no parameter or state was changed
};

/// A message in lower case without full stop, and its kind.
class [[nodiscard]] Error {
public:
  Error(ErrorCode Code, std::string Message)
      : Code(Code), Message(std::move(Message)) {}

  ErrorCode getCode() const { return Code; }
  const std::string &getMessage() const { return Message; }

  /// The same error with `Context` and ": " before its message.
  Error within(const std::string &Context) const {
    return Error(Code, Context + ": " + Message);
  }

private:
  ErrorCode Code;
  std::string Message;
};

/// Either a T or an Error. Test it before dereferencing.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T Value) : Storage(std::in_place_index<0>, std::move(Value)) {}
  Result(Error E) : Storage(std::in_place_index<1>, std::move(E)) {}

  explicit operator bool() const { return Storage.index() == 0; }

  T &operator*() & {
    assert(*this && "dereferenced an error");
    return *std::get_if<0>(&Storage);
  }
  const T &operator*() const & {
    assert(*this && "dereferenced an error");
    return *std::get_if<0>(&Storage);
  }
  T &&operator*() && {
    assert(*this && "dereferenced an error");
    return std::move(*std::get_if<0>(&Storage));
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }

  const Error &getError() const {
    assert(!*this && "asked a value for its error");
    return *std::get_if<1>(&Storage);
  }

private:
  std::variant<T, Error> Storage;
};

/// Success, or an Error.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error E) : Storage(std::move(E)) {}

  explicit operator bool() const { return !Storage; }

  const Error &getError() const {
    assert(Storage && "asked a success for its error");
    return *Storage;
  }

private:
  std::optional<Error> Storage;
};

using Status = Result<void>;

} // namespace remat::runtime

#endif // REMAT_RUNTIME_RESULT_H
