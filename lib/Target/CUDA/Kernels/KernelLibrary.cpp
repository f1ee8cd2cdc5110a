//===- KernelLibrary.cpp - which kernels run an operation -----------------===//

#include "remat/Target/CUDA/KernelLibrary.h"
#include "KernelWriter.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "remat/Analysis/CUDAKernelPlan.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

llvm::StringRef remat::cuda::getTypeName(Type ElementType) {
  if (ElementType.isF32())
    return "float";
  if (ElementType.isBF16())
    return "bf16";
  if (ElementType.isF16())
    return "f16";
  if (ElementType.isInteger(1))
    return "bool";
  return ElementType.isInteger(32) ? "int" : "int64";
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

std::string remat::cuda::printFloat(double Number) {
  std::string Text;
  llvm::raw_string_ostream(Text)
      << llvm::format("%.9g", static_cast<double>(static_cast<float>(Number)));
  if (llvm::StringRef(Text).contains("inf"))
    return Number < 0 ? "-infinity()" : "infinity()";
  if (llvm::StringRef(Text).contains("nan"))
    return "(infinity() - infinity())";
  if (llvm::StringRef(Text).find_first_of(".e") == llvm::StringRef::npos)
    Text += ".0";
  return Text + "f";
}

Writer::Writer(llvm::StringRef Name, llvm::StringRef Template) {
  Result.Name = Name;
  Result.Source = Template.ltrim('\n');
}

Writer &Writer::set(llvm::StringRef Key, std::string Text) {
  Values[Key] = std::move(Text);
  return *this;
}
Writer &Writer::set(llvm::StringRef Key, int64_t Number) {
  return set(Key, std::to_string(Number));
}

Writer &Writer::grid(int64_t X, int64_t Y, int64_t Z) {
  Result.Grid = {X, Y, Z};
  return *this;
}
Writer &Writer::block(int64_t Threads) {
  Result.Block = {static_cast<uint32_t>(Threads), 1, 1};
  return set("BLOCK", Threads);
}
Writer &Writer::shared(int64_t Bytes) {
  Result.SharedBytes = static_cast<uint32_t>(Bytes);
  return *this;
}

Writer &Writer::operand(unsigned Index) {
  Result.Arguments.push_back({Argument::Kind::Operand, Index});
  return *this;
}
Writer &Writer::result(unsigned Index) {
  Result.Arguments.push_back({Argument::Kind::Result, Index});
  return *this;
}
Writer &Writer::workspace(int64_t Offset) {
  Result.Arguments.push_back({Argument::Kind::Workspace, 0, Offset});
  return *this;
}
Writer &Writer::integer(int64_t Number) {
  Result.Arguments.push_back({Argument::Kind::Int, 0, Number});
  return *this;
}

void Writer::finish(Launches &Out) {
  std::string Text;
  llvm::StringRef Rest = Result.Source;
  while (true) {
    auto [Before, After] = Rest.split('@');
    Text += Before;
    if (After.empty())
      break;
    auto [Key, Behind] = After.split('@');
    if (Key == "NAME")
      Text += "@NAME@";
    else
      Text += Values.lookup(Key);
    Rest = Behind;
  }
  Result.Source = std::move(Text);
  Out.push_back(std::move(Result));
}

/// Whether memory assignment left attention to cuDNN.
static bool runsOnLibrary(Operation *Op) {
  auto Choice = Op->getAttrOfType<StringAttr>(ChoiceAttrName);
  return Choice && Choice.getValue().starts_with("cudnn");
}

bool remat::cuda::hasKernels(Operation *Op) {
  if (isa<AttentionOp, AttentionBackwardOp>(Op))
    return !runsOnLibrary(Op) &&
           hasAttentionKernels(getType(Op->getOperand(0)).getShape().back());
  return isa<ReduceOp, SoftmaxOp, SoftmaxBackwardOp, LayerNormOp,
             LayerNormBackwardOp, CrossEntropyOp, CrossEntropyBackwardOp, MseOp,
             EmbeddingOp, EmbeddingBackwardOp, TransposeOp, SliceOp, PadOp,
             ConcatOp, BroadcastOp, ReshapeOp, SgdOp, AdamWOp, GlobalNormOp>(
      Op);
}

void remat::cuda::getLaunches(Operation *Op, Launches &Out) {
  llvm::TypeSwitch<Operation *>(Op)
      .Case([&](ReduceOp Op) { addReduce(Op, Out); })
      .Case([&](SoftmaxOp Op) { addSoftmax(Op, Out); })
      .Case([&](SoftmaxBackwardOp Op) { addSoftmaxBackward(Op, Out); })
      .Case([&](LayerNormOp Op) { addLayerNorm(Op, Out); })
      .Case([&](LayerNormBackwardOp Op) { addLayerNormBackward(Op, Out); })
      .Case([&](CrossEntropyOp Op) { addCrossEntropy(Op, Out); })
      .Case(
          [&](CrossEntropyBackwardOp Op) { addCrossEntropyBackward(Op, Out); })
      .Case([&](MseOp Op) { addMse(Op, Out); })
      .Case([&](EmbeddingOp Op) { addEmbedding(Op, Out); })
      .Case([&](EmbeddingBackwardOp Op) { addEmbeddingBackward(Op, Out); })
      .Case([&](TransposeOp Op) { addTranspose(Op, Out); })
      .Case([&](SliceOp Op) { addSlice(Op, Out); })
      .Case([&](PadOp Op) { addPad(Op, Out); })
      .Case([&](ConcatOp Op) { addConcat(Op, Out); })
      .Case([&](BroadcastOp Op) { addBroadcast(Op, Out); })
      .Case([&](ReshapeOp Op) { addReshape(Op, Out); })
      .Case([&](SgdOp Op) { addSgd(Op, Out); })
      .Case([&](AdamWOp Op) { addAdamW(Op, Out); })
      .Case([&](GlobalNormOp Op) { addGlobalNorm(Op, Out); })
      .Case([&](AttentionOp Op) { addAttention(Op, Out); })
      .Case([&](AttentionBackwardOp Op) { addAttentionBackward(Op, Out); });
}

int64_t remat::cuda::getWorkspaceBytes(Operation *Op) {
  return getKernelWorkspace(Op);
}
