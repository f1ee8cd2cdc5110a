//===- KernelTemplate.cpp - calls of the templates in *.cuh ---------------===//

#include "KernelTemplate.h"
#include <algorithm>
#include <cstdio>

using namespace remat::cuda;

std::string remat::cuda::printFloat(double Number) {
  char Text[32];
  std::snprintf(Text, sizeof(Text), "%.9g",
                static_cast<double>(static_cast<float>(Number)));
  std::string_view View = Text;
  if (View.find("inf") != View.npos)
    return Number < 0 ? "-infinity()" : "infinity()";
  if (View.find("nan") != View.npos)
    return "(infinity() - infinity())";
  bool IsFloat = View.find_first_of(".e") != View.npos;
  return std::string(View) + (IsFloat ? "f" : ".0f");
}

std::string remat::cuda::printDouble(double Number) {
  char Text[40];
  std::snprintf(Text, sizeof(Text), "%.17e", Number);
  return Text;
}

void TemplateText::put(const char *Name, const std::string &Value) {
  Text += IsEmpty ? "<" : ", ";
  if (*Name)
    Text += "/*" + std::string(Name) + "=*/";
  Text += Value;
  IsEmpty = false;
}

void TemplateText::add(const char *Name, const TypeList &Value) {
  for (const TypeName &Type : Value.Types) {
    put(Name, Type.Text);
    Name = "";
  }
}

void CallText::put(const std::string &Value) {
  Values += (Values.empty() ? "" : ", ") + Value;
}

void CallText::pass(const std::string &Declared, const char *Name,
                    const Argument &Value) {
  put(Name);
  Parameters += (Parameters.empty() ? "" : ", ") + Declared + Name;
  Arguments.push_back(Value);
}

void CallText::addPointer(const char *Const, const std::string &Type,
                          const char *Name, const Passed &Value) {
  if (Value.Given)
    pass(Const + Type + " *", Name, *Value.Given);
  else
    putNamed(Name, "nullptr");
}

void CallText::addInteger(const char *Name, const Passed &Value) {
  if (Value.Given)
    pass("int64 ", Name, *Value.Given);
  else
    putNamed(Name, "0");
}

/// `Text` in lines of at most 80 characters where it has spaces: the first is
/// indented by two, the others by six.
static std::string wrap(std::string_view Text) {
  std::string Lines;
  size_t Indent = 2;
  while (!Text.empty()) {
    size_t End = Text.size();
    if (size_t Room = 80 - Indent; End > Room) {
      End = Text.rfind(' ', Room);
      if (End == Text.npos)
        End = std::min(Text.find(' '), Text.size());
    }
    Lines += std::string(Indent, ' ') + std::string(Text.substr(0, End)) + '\n';
    Text.remove_prefix(std::min(End + 1, Text.size()));
    Indent = 6;
  }
  return Lines;
}

void CallText::finish(const std::string &Callee, Launch &Out) const {
  Out.Parameters = Parameters;
  Out.Arguments = Arguments;
  Out.Body = wrap(Callee + "(" + Values + ");");
}
