//===- KernelTable.cpp - the kernels of a program, each once --------------===//

#include "remat/Target/CUDA/Emission.h"
#include "llvm/ADT/StringExtras.h"

using namespace remat::cuda;

std::string remat::cuda::sanitizeComment(llvm::StringRef Text) {
  // Quotes, backslashes, question marks, stars and everything that is not
  // plain ASCII could end the comment, continue its line or be a trigraph.
  constexpr llvm::StringLiteral Plain = " _.,:;/<>#%()[]=+-@$";
  std::string Safe;
  for (char C : Text.take_front(120))
    Safe += llvm::isAlnum(C) || Plain.contains(C) ? C : '_';
  return Safe;
}

unsigned KernelTable::add(const Launch &Launch, llvm::StringRef User) {
  auto [It, IsNew] = NumberOfSource.try_emplace(Launch.Source, Names.size());
  unsigned Number = It->second;
  if (!IsNew) {
    ++UserCounts[Number];
    return Number;
  }
  // "add", "add_2", "add_3": the same operations over other shapes.
  std::string Name = Launch.Name;
  for (unsigned Count = 2; !UsedNames.insert(Name).second; ++Count)
    Name = Launch.Name + "_" + std::to_string(Count);
  Names.push_back(Name);
  std::string Source = Launch.Source;
  for (size_t At = 0; (At = Source.find("@NAME@", At)) != std::string::npos;
       At += Name.size())
    Source.replace(At, 6, Name);
  Sources.push_back(std::move(Source));
  FirstUsers.push_back(sanitizeComment(User));
  UserCounts.push_back(1);
  return Number;
}

std::string KernelTable::getSource(bool WithPrelude) const {
  if (Names.empty())
    return "";
  std::string Text =
      WithPrelude ? getPrelude() + getPointwisePrelude().str() : "";
  for (size_t I = 0; I < Names.size(); ++I) {
    Text += "\n// " + FirstUsers[I];
    if (UserCounts[I] > 1)
      Text += ", and " + std::to_string(UserCounts[I] - 1) + " more";
    Text += '\n' + Sources[I];
  }
  return Text;
}
