//===- KernelTable.cpp - the kernels of a program, each once --------------===//

#include "remat/Target/CUDA/Emission.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

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
  auto [It, IsNew] =
      NumberOfText.try_emplace(printKernel(Launch, ""), Names.size());
  unsigned Number = It->second;
  if (!IsNew) {
    ++UserCounts[Number];
    return Number;
  }
  // "add", "add_2", "add_3": the same operations over other shapes.
  std::string Name = Launch.Name;
  for (unsigned Count = 2; !UsedNames.insert(Name).second; ++Count)
    Name = Launch.Name + "_" + std::to_string(Count);
  addSource(*Launch.Source, Sources);
  Texts.push_back(printKernel(Launch, Name));
  Names.push_back(std::move(Name));
  FirstUsers.push_back(sanitizeComment(User));
  UserCounts.push_back(1);
  return Number;
}

std::string KernelTable::getSource(bool WithPrelude) const {
  return getText(WithPrelude, 0, 1);
}

std::vector<std::string> KernelTable::getParts() const {
  // The code before the kernels takes as long to compile as one of them.
  constexpr size_t KernelsPerPart = 4, MostParts = 16;
  size_t Count =
      std::min(llvm::divideCeil(Names.size(), KernelsPerPart), MostParts);
  std::vector<std::string> Parts;
  for (size_t I = 0; I < Count; ++I)
    Parts.push_back(getText(/*WithPrelude=*/true, I, Count));
  return Parts;
}

std::string KernelTable::getText(bool WithPrelude, size_t First,
                                 size_t Stride) const {
  std::string Text;
  if (WithPrelude)
    for (const KernelSource *Source : Sources)
      Text += (Text.empty() ? "" : "\n") + std::string(Source->Text);
  for (size_t I = First; I < Names.size(); I += Stride) {
    Text += "\n// " + FirstUsers[I];
    if (UserCounts[I] > 1)
      Text += ", and " + std::to_string(UserCounts[I] - 1) + " more";
    Text += '\n' + Texts[I];
  }
  return Text;
}
