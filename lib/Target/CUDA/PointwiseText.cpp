//===- PointwiseText.cpp - names and literals of printed kernels ----------===//

#include "PointwiseText.h"
#include "Kernels/KernelTemplate.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace remat;

std::string cuda::printFloatLiteral(const APFloat &Number) {
  bool Lossy;
  APFloat Single = Number;
  Single.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &Lossy);
  if (!Single.isFinite()) {
    std::string Bits = llvm::utohexstr(Single.bitcastToAPInt().getZExtValue(),
                                       /*LowerCase=*/true);
    return "__int_as_float(0x" + Bits + ")";
  }
  return printFloat(Single.convertToFloat());
}

std::string cuda::substitute(StringRef Expression,
                             ArrayRef<std::string> Names) {
  std::string Text;
  for (size_t I = 0; I < Expression.size();) {
    if (!llvm::isAlnum(Expression[I]) && Expression[I] != '_') {
      Text += Expression[I++];
      continue;
    }
    // A name or a number, with its suffix.
    size_t End = I;
    while (End < Expression.size() &&
           (llvm::isAlnum(Expression[End]) || Expression[End] == '_' ||
            (Expression[End] == '.' && llvm::isDigit(Expression[I]))))
      ++End;
    StringRef Word = Expression.slice(I, End);
    unsigned Operand = Word[0] - 'a';
    Text += Word.size() == 1 && Operand < Names.size() ? Names[Operand]
                                                       : Word.str();
    I = End;
  }
  return Text;
}

std::string cuda::printShape(ArrayRef<int64_t> Shape) {
  if (Shape.empty())
    return "scalar";
  return llvm::join(
      llvm::map_range(Shape, [](int64_t Size) { return std::to_string(Size); }),
      "x");
}

/// The names of the operations that say what a kernel does.
static SmallVector<StringRef> getTelling(ArrayRef<Operation *> Ops) {
  SmallVector<StringRef> Parts;
  for (Operation *Op : Ops)
    if (!isa<ConstantOp, BroadcastOp>(Op) || Ops.size() == 1)
      Parts.push_back(Op->getName().stripDialect());
  return Parts;
}

std::string cuda::getPointwiseName(ArrayRef<Operation *> Ops,
                                   ArrayRef<int64_t> Shape) {
  SmallVector<StringRef> Parts = getTelling(Ops);
  if (Parts.empty())
    Parts.push_back("broadcast");
  std::string Name = llvm::join(ArrayRef(Parts).take_front(4), "_");
  if (Parts.size() > 4)
    Name += "_and_" + std::to_string(Parts.size() - 4) + "_more";
  return Name + "_" + printShape(Shape);
}

std::string cuda::printPointwiseComment(ArrayRef<Operation *> Ops,
                                        ArrayRef<int64_t> Shape, bool HasSums) {
  return "// " + llvm::join(getTelling(Ops), ", ") + " over " +
         (Shape.empty() ? "one element" : printShape(Shape)) +
         (HasSums ? ", with sums over rows.\n" : ".\n");
}
