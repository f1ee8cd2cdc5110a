//===- KernelLibrary.cpp - which kernels run an operation -----------------===//

#include "remat/Target/CUDA/KernelLibrary.h"
#include "KernelWriter.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "remat/IR/ElementTypes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

llvm::StringRef remat::cuda::getTypeName(Type Element) {
  switch (*getElementType(Element)) {
  case ElementType::F32:
    return "float";
  case ElementType::BF16:
    return "bf16";
  case ElementType::F16:
    return "f16";
  case ElementType::I32:
    return "int";
  case ElementType::I64:
    return "int64";
  case ElementType::I1:
    return "bool";
  case ElementType::F8E4M3FN:
    return "f8e4m3";
  }
  llvm_unreachable("all types are handled");
}

/// The offset that memory assignment gave `V`, or 0.
static int64_t getAssignedOffset(Value V) {
  if (auto Argument = dyn_cast<BlockArgument>(V)) {
    auto Func =
        dyn_cast<FunctionOpInterface>(Argument.getOwner()->getParentOp());
    if (!Func)
      return 0;
    auto Offset = Func.getArgAttrOfType<IntegerAttr>(Argument.getArgNumber(),
                                                     OffsetAttrName);
    return Offset ? Offset.getInt() : 0;
  }
  auto Result = cast<OpResult>(V);
  auto Offsets =
      Result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(OffsetsAttrName);
  return Offsets && Result.getResultNumber() < Offsets.size()
             ? Offsets[Result.getResultNumber()]
             : 0;
}

int64_t remat::cuda::getAlignment(Value V) {
  constexpr int64_t BufferAlignment = 256;
  int64_t Bits = BufferAlignment | getAssignedOffset(V);
  while (auto View = V.getDefiningOp<ViewOpInterface>()) {
    std::optional<int64_t> Offset = View.getViewOffset();
    if (!Offset)
      break;
    Bits |= *Offset;
    V = View->getOperand(0);
  }
  return Bits & -Bits;
}

int64_t remat::cuda::getAccessWidth(llvm::ArrayRef<Value> Values, int64_t Run) {
  int64_t Widest = 1;
  for (Value V : Values)
    Widest = std::max(Widest, getBytes(V));
  int64_t Width = 16 / Widest;
  while (Width > 1 && Run % Width != 0)
    Width /= 2;
  for (Value V : Values)
    Width =
        std::min(Width, std::max<int64_t>(1, getAlignment(V) / getBytes(V)));
  return Width;
}

/// The own kernels of `Op`, null if it has none.
static const OwnKernels *findKernels(Operation *Op) {
  static const auto Table = [] {
    llvm::StringMap<OwnKernels> All;
    for (auto Get :
         {getAttentionKernels, getEmbeddingKernels, getIndexKernels,
          getLossKernels, getMomentKernels, getOptimizerKernels,
          getReduceKernels, getRowKernels, getShapeKernels, getWindowKernels})
      for (const OwnKernels &Row : Get())
        All[Row.Operation] = Row;
    return All;
  }();
  auto It = Table.find(Op->getName().getStringRef());
  return It == Table.end() ? nullptr : &It->second;
}

bool remat::cuda::hasKernels(Operation *Op) {
  if (isa<AttentionOp, AttentionBackwardOp>(Op))
    return hasAttentionKernels(getType(Op->getOperand(0)).getShape().back());
  return findKernels(Op);
}

KernelNeeds remat::cuda::getKernelNeeds(Operation *Op) {
  if (auto Kernel = dyn_cast<KernelOp>(Op))
    return getSumNeeds(Kernel);
  const OwnKernels *Kernels = findKernels(Op);
  return Kernels ? Kernels->GetNeeds(Op) : KernelNeeds();
}

void remat::cuda::getLaunches(Operation *Op, Launches &Out) {
  findKernels(Op)->AddLaunches(Op, Out);
}
