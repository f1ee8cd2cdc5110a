//===- PadClasses.cpp - rows of logits that matrix units can read ---------===//
//
// A matrix product whose rows are no multiple of 16 bytes runs at a seventh of
// the rate, and so do both products of its gradient. Where nobody but a cross
// entropy reads the rows they may be longer: a class whose logit is far below
// all others has the probability 0, adds nothing to a sum of exponentials, and
// has the gradient 0.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "remat/IR/RematOps.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_PADCLASSES
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

/// What the products of a GPU read at once, and a line of its memory.
constexpr int64_t AccessBytes = 16, LineBytes = 128;
/// With fewer, the classes that are added are more than a sixteenth.
constexpr int64_t LeastClasses = 1024;

static ArrayRef<int64_t> getShape(Value V) {
  return cast<RankedTensorType>(V.getType()).getShape();
}

/// `V`'s type with rows of `Columns` elements.
static RankedTensorType withColumns(Value V, int64_t Columns) {
  auto Type = cast<RankedTensorType>(V.getType());
  SmallVector<int64_t> Shape(Type.getShape());
  Shape.back() = Columns;
  return RankedTensorType::get(Shape, Type.getElementType());
}

namespace {

/// A product of logits, what leaves their rows as they are, and the loss that
/// reads them; nothing else does.
struct Head {
  MatmulOp Product;
  SmallVector<Operation *> Between;
  CrossEntropyOp Loss;

  static std::optional<Head> of(MatmulOp Product);
  void pad();

private:
  Value buildProduct(ImplicitLocOpBuilder &B, int64_t Columns);
  Value buildTargets(ImplicitLocOpBuilder &B);
  int64_t getIgnored() { return static_cast<int64_t>(Loss.getIgnoreIndex()); }
};

struct PadClassesPass : remat::impl::PadClassesBase<PadClassesPass> {
  void runOnGraph() override {
    func::FuncOp Func = getOperation();
    if (getTargetAttr(Func).getDevice() != DeviceKind::cuda)
      return;
    SmallVector<Head> Heads;
    Func.walk([&](MatmulOp Product) {
      if (std::optional<Head> Found = Head::of(Product))
        Heads.push_back(*Found);
    });
    for (Head &Found : Heads)
      Found.pad();
  }
};

} // namespace

static bool isSlow(MatmulOp Product) {
  RankedTensorType Type = Product.getResult().getType();
  int64_t Classes = Type.getShape().back();
  return !Product.getAddend() && Type.getElementTypeBitWidth() == 16 &&
         Classes >= LeastClasses && Classes * 2 % AccessBytes != 0 &&
         getShape(Product.getRhs()).size() == 2;
}

/// Whether the operation gives the rows of `Columns` elements as it reads them.
static bool keepsRows(Operation *Op, int64_t Columns) {
  return llvm::TypeSwitch<Operation *, bool>(Op)
      .Case([](CastOp) { return true; })
      .Case([&](ReshapeOp Reshape) {
        ArrayRef<int64_t> Shape = getShape(Reshape.getResult());
        return !Shape.empty() && Shape.back() == Columns;
      })
      .Case([&](SliceOp Slice) { return Slice.getSizes().back() == Columns; })
      .Default(false);
}

std::optional<Head> Head::of(MatmulOp Product) {
  if (!isSlow(Product))
    return std::nullopt;
  Head Found{Product, {}, {}};
  Value Logits = Product.getResult();
  int64_t Columns = getShape(Logits).back();
  while (Logits.hasOneUse()) {
    OpOperand &Use = *Logits.getUses().begin();
    if (auto Loss = dyn_cast<CrossEntropyOp>(Use.getOwner())) {
      Found.Loss = Loss;
      if (Use.getOperandNumber() != 0 || Found.getIgnored() >= Columns)
        return std::nullopt;
      return Found;
    }
    if (!keepsRows(Use.getOwner(), Columns))
      return std::nullopt;
    Found.Between.push_back(Use.getOwner());
    Logits = Use.getOwner()->getResult(0);
  }
  return std::nullopt;
}

/// With zeros for the weights of the classes that are added, and a bias that
/// says how far below the others they are. Any real logit is above it by more
/// than f32's exponentials reach down, and multiples of it are exact enough
/// that sums of them alone stay finite.
Value Head::buildProduct(ImplicitLocOpBuilder &B, int64_t Columns) {
  Value Weight = Product.getRhs(), Bias = Product.getBias();
  int64_t Classes = getShape(Product.getResult()).back();
  int64_t Dim = Product.getTransposeRhs() ? 0 : 1;
  SmallVector<int64_t> High(2, 0);
  High[Dim] = Columns - Classes;
  Weight = PadOp::create(B, Weight, /*low=*/SmallVector<int64_t>(2, 0), High);

  Type Element = Bias ? getElementTypeOrSelf(Bias.getType())
                      : Product.getResult().getType().getElementType();
  auto MakeConstant = [&](int64_t Size, double Number) -> Value {
    auto Type = RankedTensorType::get({Size}, Element);
    return ConstantOp::create(
        B, DenseElementsAttr::get(Type, B.getFloatAttr(Element, Number)));
  };
  double Far = Element.isF16() ? -0x1p15 : -0x1p20;
  if (!Bias)
    Bias = MakeConstant(Classes, 0);
  Bias = ConcatOp::create(
      B, ValueRange{Bias, MakeConstant(Columns - Classes, Far)}, /*dim=*/0);
  return MatmulOp::create(B, withColumns(Product.getResult(), Columns),
                          Product.getLhs(), Weight, Bias, /*addend=*/Value(),
                          Product.getTransposeLhs(), Product.getTransposeRhs());
}

/// What was no class is none among more classes either.
Value Head::buildTargets(ImplicitLocOpBuilder &B) {
  Value Targets = Loss.getTargets();
  auto Element = cast<RankedTensorType>(Targets.getType()).getElementType();
  auto MakeScalar = [&](int64_t Number) -> Value {
    auto Type = RankedTensorType::get({}, Element);
    return ConstantOp::create(
        B, DenseElementsAttr::get(Type, B.getIntegerAttr(Element, Number)));
  };
  int64_t Classes = getShape(Product.getResult()).back();
  Value IsClass =
      CompareOp::create(B, Predicate::lt, Targets, MakeScalar(Classes));
  int64_t None = getIgnored() == -1 ? -2 : -1;
  return SelectOp::create(B, IsClass, Targets, MakeScalar(None));
}

void Head::pad() {
  int64_t Classes = getShape(Product.getResult()).back();
  int64_t Columns = llvm::alignTo(Classes, LineBytes / 2);
  ImplicitLocOpBuilder B(Product.getLoc(), Product);
  Value Logits = buildProduct(B, Columns);
  for (Operation *Op : Between) {
    B.setInsertionPoint(Op);
    B.setLoc(Op->getLoc());
    RankedTensorType Type = withColumns(Op->getResult(0), Columns);
    Logits =
        llvm::TypeSwitch<Operation *, Value>(Op)
            .Case([&](CastOp) { return CastOp::create(B, Type, Logits); })
            .Case([&](ReshapeOp) { return ReshapeOp::create(B, Type, Logits); })
            .Case([&](SliceOp Slice) {
              return SliceOp::create(B, Logits, Slice.getOffsets(),
                                     Type.getShape());
            });
  }
  B.setInsertionPoint(Loss);
  B.setLoc(Loss.getLoc());
  Loss.getTargetsMutable().assign(buildTargets(B));
  Loss.getLogitsMutable().assign(Logits);
  for (Operation *Op : llvm::reverse(Between))
    Op->erase();
  Product->erase();
}
