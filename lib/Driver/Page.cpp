//===- Page.cpp - the report as one HTML file -----------------------------===//

#include "remat/Driver/Views.h"
#include "llvm/Support/FormatVariadic.h"

using namespace remat;

namespace remat {
/// The page before and after its data (Page/page.html), with style and script.
extern const char PageBegin[], PageEnd[];
} // namespace remat

/// Data inside an element: names come from users, and none may end it.
static std::string escapeForScript(const std::string &JSON) {
  std::string Text;
  Text.reserve(JSON.size());
  for (char C : JSON)
    if (C == '<')
      Text += "\\u003c";
    else
      Text += C;
  return Text;
}

std::string remat::makePage(const Views &V) {
  std::string Data = llvm::formatv("{0}", describeViews(V)).str();
  return PageBegin +
         ("<script id=\"data\" type=\"application/json\">" +
          escapeForScript(Data) + "</script>\n") +
         PageEnd;
}
