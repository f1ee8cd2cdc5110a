//===- KernelTemplate.h - calls of the templates in *.cuh -------*- C++ -*-===//
//
// embed-kernels.py makes a struct of each kernel template and of each struct
// template that stands for one of its arguments: a member for every template
// argument and every parameter, named as in the .cuh file but with a capital.
// The members' types have no default, so that a struct in braces with a member
// too many or too few does not compile. Nothing of LLVM is included.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_KERNELS_KERNELTEMPLATE_H
#define REMAT_LIB_TARGET_CUDA_KERNELS_KERNELTEMPLATE_H

#include "remat/Target/CUDA/Launch.h"
#include <concepts>
#include <optional>

namespace remat::cuda {

/// A number as a CUDA literal that reads back to the same float or double.
std::string printFloat(double Number);
std::string printDouble(double Number);

/// A `typename` argument.
struct TypeName {
  std::string Text;
  TypeName(std::string Text) : Text(std::move(Text)) {}
  TypeName(const char *Text) : Text(Text) {}
};
/// A `typename...` argument, last of its template.
struct TypeList {
  std::vector<TypeName> Types;
  TypeList(std::vector<TypeName> Types) : Types(std::move(Types)) {}
};
/// An `int` or `int64` argument.
struct Integer {
  int64_t Value;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Integer(T Value) : Value(static_cast<int64_t>(Value)) {}
};
/// A `bool` argument.
struct Flag {
  bool Value;
  template <std::same_as<bool> T> Flag(T Value) : Value(Value) {}
};
/// An argument of an enum of the .cuh file.
template <typename T> struct Choice {
  T Value;
  Choice(T Value) : Value(Value) {}
};
/// A `float` or `double` parameter: a number of the kernel's text.
struct Number {
  double Value;
  Number(double Value) : Value(Value) {}
};
/// A pointer or `int64` parameter: an argument of the launch. Where the
/// template does not read it, it is null or 0 and no argument.
struct Passed {
  std::optional<Argument> Given;
  explicit Passed(std::optional<Argument> Given) : Given(Given) {}
};
inline Passed operand(unsigned Index) {
  return Passed(Argument{Argument::Kind::Operand, Index});
}
inline Passed result(unsigned Index) {
  return Passed(Argument{Argument::Kind::Result, Index});
}
inline Passed workspace(int64_t Offset = 0) {
  return Passed(Argument{Argument::Kind::Workspace, 0, Offset});
}
inline Passed integer(int64_t Number) {
  return Passed(Argument{Argument::Kind::Int, 0, Number});
}
inline Passed absent() { return Passed(std::nullopt); }

/// A template's name with its arguments, under construction.
class TemplateText {
public:
  explicit TemplateText(std::string Name) : Text(std::move(Name)) {}

  void add(const char *Name, const TypeName &Value) { put(Name, Value.Text); }
  void add(const char *Name, const TypeList &Value);
  void add(const char *Name, Integer Value) {
    put(Name, std::to_string(Value.Value));
  }
  void add(const char *Name, Flag Value) {
    put(Name, Value.Value ? "true" : "false");
  }
  template <typename T> void add(const char *Name, Choice<T> Value) {
    put(Name, nameOf(Value.Value));
  }
  std::string finish() const { return Text + (IsEmpty ? "<>" : ">"); }

private:
  void put(const char *Name, const std::string &Value);

  std::string Text;
  bool IsEmpty = true;
};

/// A kernel's function whose body calls a template, under construction.
class CallText {
public:
  /// A parameter `Const Type *Name`, or null in the call.
  void addPointer(const char *Const, const std::string &Type, const char *Name,
                  const Passed &Value);
  /// A parameter `int64 Name`, or 0 in the call.
  void addInteger(const char *Name, const Passed &Value);
  /// Numbers of the text.
  void addFloat(const char *Name, Number Value) {
    putNamed(Name, printFloat(Value.Value));
  }
  void addDouble(const char *Name, Number Value) {
    putNamed(Name, printDouble(Value.Value));
  }
  /// Makes `Out` the kernel that calls `Callee` with what was added.
  void finish(const std::string &Callee, Launch &Out) const;

private:
  void put(const std::string &Value);
  void putNamed(const char *Name, const std::string &Value) {
    put("/*" + std::string(Name) + "=*/" + Value);
  }
  void pass(const std::string &Declared, const char *Name,
            const Argument &Value);

  std::string Parameters, Values;
  std::vector<Argument> Arguments;
};

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_KERNELS_KERNELTEMPLATE_H
