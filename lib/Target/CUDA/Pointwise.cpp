//===- Pointwise.cpp - kernels of elementwise operations ------------------===//
//
// A thread has one run of neighbouring elements: it loads its run of every
// operand with accesses of up to 16 bytes, computes, and stores its run of
// every result. All loads come before all stores and no pointer is
// `__restrict__`, so a result may lie over an operand of the kernel's shape.
// With sums over rows (PointwiseSums.h) a thread has runs of several rows.
//
//===----------------------------------------------------------------------===//

#include "Expressions.h"
#include "PointwiseIndex.h"
#include "PointwiseSums.h"
#include "PointwiseText.h"
#include "remat/IR/RematOps.h"
#include "remat/Target/CUDA/Emission.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

static constexpr unsigned ThreadsPerBlock = 256;

static bool isPointwise(Operation *Op) {
  if (auto Constant = dyn_cast<ConstantOp>(Op))
    return Constant.getValue().isSplat();
  return Op->hasTrait<Pointwise>() || isa<RollOp>(Op);
}

static RankedTensorType typeOf(Value V) {
  return cast<RankedTensorType>(V.getType());
}
static Type elementOf(Value V) { return typeOf(V).getElementType(); }
static bool isFloat(Value V) { return isa<FloatType>(elementOf(V)); }

bool remat::cuda::isPointwiseKernel(Operation *Op) {
  if (auto Kernel = dyn_cast<KernelOp>(Op))
    return Kernel.getPointwiseShape().has_value();
  return isPointwise(Op) && !isa<BroadcastOp>(Op);
}

namespace {

/// Prints one kernel. Operations are those of a group's body, or the one
/// operation that stands alone.
class PointwisePrinter {
public:
  explicit PointwisePrinter(Operation *Op);
  void print(SmallVectorImpl<Launch> &Launches);

private:
  struct Input {
    Value Inner; ///< as the operations know it
    unsigned Operand;
    BroadcastIndex Index;
    std::optional<RollIndex> Roll = {}; ///< of what is read by a roll
    bool Vector = false;                ///< a whole run is loaded at once
    bool IsAhead = false;               ///< and that while one is worked on
  };
  struct Output {
    Value Inner;
    unsigned Result;
  };

  void addInput(Value Inner, Value Outer, unsigned Operand);
  void addRoll(RollOp Op, unsigned Operand);
  void chooseWidth(Operation *Op);
  void line(const llvm::Twine &Text, unsigned Depth = 1) {
    Body += std::string(size_t(2) * Depth, ' ') + Text.str() + '\n';
  }

  SmallVector<PointwiseSums::Ahead> chooseAhead();
  void printBegin();
  void printLoads();
  void printRun();
  void printElement(const Input &In);
  void printOp(Operation *Op);
  void printConstant(ConstantOp Op);
  void printRandomWords(Operation *Op, Value Seed, Value Step);
  std::string getUniform(Operation *Op) const;
  /// Declares the value of `Result` as `Expression`, rounded to its type.
  void define(Value Result, const std::string &Expression, StringRef Comment);
  std::string literal(int64_t Number) const {
    return std::to_string(Number) + Suffix.str();
  }
  std::string element(StringRef Vector) const {
    return (Vector + "[" + (Width > 1 ? "k" : "0") + "]").str();
  }

  PointwiseSums Sums;
  SmallVector<Operation *> Ops; ///< that compute elements
  SmallVector<Input> Inputs;
  SmallVector<Output> Outputs;
  ArrayRef<int64_t> Shape;
  int64_t Count = 1, Width = 1;
  StringRef IndexType = "uint32", Suffix = "u";
  llvm::DenseMap<Value, std::string> Names;
  SmallVector<std::string> Parameters;
  unsigned NextValue = 0;
  std::string Body;
  Launch Result;
};

PointwisePrinter::PointwisePrinter(Operation *Op) : Sums(Op) {
  if (auto Kernel = dyn_cast<KernelOp>(Op)) {
    Shape = *Kernel.getPointwiseShape();
    Block &Block = Kernel.getBody().front();
    for (Operation &Inner : Block.without_terminator())
      if (!isColumnSum(&Inner))
        Ops.push_back(&Inner);
    for (auto [Number, Argument] : llvm::enumerate(Block.getArguments())) {
      addInput(Argument, Op->getOperand(Number), Number);
      for (Operation *Reader : Argument.getUsers())
        if (auto Roll = dyn_cast<RollOp>(Reader))
          addRoll(Roll, Number);
    }
    for (auto [Number, Yielded] :
         llvm::enumerate(Block.getTerminator()->getOperands()))
      if (!Sums.isSum(Number))
        Outputs.push_back({Yielded, static_cast<unsigned>(Number)});
  } else {
    Shape = typeOf(Op->getResult(0)).getShape();
    Ops.push_back(Op);
    if (auto Roll = dyn_cast<RollOp>(Op))
      addRoll(Roll, 0);
    for (OpOperand &Operand : Op->getOpOperands())
      if (!llvm::is_contained(
              llvm::map_range(Inputs, [](const Input &In) { return In.Inner; }),
              Operand.get()))
        addInput(Operand.get(), Operand.get(), Operand.getOperandNumber());
    Outputs.push_back({Op->getResult(0), 0});
  }
  Count = ShapedType::getNumElements(Shape);
  chooseWidth(Op);
  // The largest index formed is below Count + one block's elements.
  if (Count > (int64_t(1) << 32) - int64_t(2) * ThreadsPerBlock * 16) {
    IndexType = "int64";
    Suffix = "ll";
  }
}

void PointwisePrinter::addInput(Value Inner, Value Outer, unsigned Operand) {
  if (llvm::all_of(Inner.getUsers(),
                   [](Operation *Reader) { return isa<RollOp>(Reader); }))
    return;
  Inputs.push_back(
      {Inner, Operand, BroadcastIndex(typeOf(Outer).getShape(), Shape)});
}

/// What a roll makes of an operand is loaded like another operand.
void PointwisePrinter::addRoll(RollOp Op, unsigned Operand) {
  Inputs.push_back({Op.getResult(), Operand, BroadcastIndex(Shape, Shape),
                    RollIndex(Shape, Op.getDim(), Op.getShift())});
}

/// As many elements a thread as the narrowest full tensor can move in 16 bytes,
/// at most eight, dividing every run of a broadcast operand.
void PointwisePrinter::chooseWidth(Operation *Op) {
  int64_t Narrowest = 8;
  auto Narrow = [&](Value V) {
    Narrowest = std::min(Narrowest, getElementBytes(elementOf(V)));
  };
  for (const Input &In : Inputs)
    if (In.Index.isFull())
      Narrow(In.Inner);
  for (const Output &Out : Outputs)
    Narrow(Out.Inner);
  Width = std::min<int64_t>(8, 16 / Narrowest);

  auto Divides = [&](int64_t Number) {
    while (Number % Width != 0)
      Width /= 2;
  };
  Divides(Sums.empty() ? Count : Sums.getColumns());
  for (const Input &In : Inputs)
    if (In.Roll)
      Divides(In.Roll->getRun());
    else if (!In.Index.isFull() && !In.Index.isScalar())
      Divides(In.Index.getRun());
  // A run of wide elements is several accesses of 16 bytes.
  auto Align = [&](Value Outer) {
    int64_t Bytes = getElementBytes(elementOf(Outer));
    while (Width > 1 &&
           getAlignment(Outer) % std::min<int64_t>(16, Width * Bytes) != 0)
      Width /= 2;
  };
  for (Input &In : Inputs) {
    In.Vector = In.Index.isFull() || In.Index.isContiguous();
    if (In.Vector)
      Align(Op->getOperand(In.Operand));
  }
  for (const Output &Out : Outputs)
    Align(Op->getResult(Out.Result));
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void PointwisePrinter::printLoads() {
  for (auto [Number, In] : llvm::enumerate(Inputs)) {
    std::string Type = getTypeName(elementOf(In.Inner)).str();
    std::string Pointer = "in" + std::to_string(Number);
    std::string Name = "x" + std::to_string(Number);
    Parameters.push_back("const " + Type + " *" + Pointer);
    Result.Arguments.push_back({Argument::Kind::Operand, In.Operand});
    Names[In.Inner] = Name;
    std::string Index =
        In.Roll ? In.Roll->print("i", Suffix) : In.Index.print("i", Suffix);
    if (In.IsAhead)
      continue;
    if (In.Vector && Width > 1)
      line("Run<" + Type + ", " + llvm::Twine(Width) + "> run" +
           llvm::Twine(Number) + "(" + Pointer + " + " +
           (Index == "i" ? "i" : "(" + Index + ")") + ");");
    else if (isFloat(In.Inner))
      line("Exact " + Name + " = toFloat(" + Pointer + "[" + Index + "]);");
    else
      line(Type + " " + Name + " = " + Pointer + "[" + Index + "];");
  }
}

void PointwisePrinter::printConstant(ConstantOp Op) {
  auto Elements = cast<SplatElementsAttr>(Op.getValue());
  Type Element = Elements.getElementType();
  std::string Text;
  if (isa<FloatType>(Element))
    Text = printFloatLiteral(Elements.getSplatValue<APFloat>());
  else if (Element.isInteger(1))
    Text = Elements.getSplatValue<bool>() ? "true" : "false";
  else
    // The smallest number has no literal of its own.
    Text = "(" + getTypeName(Element).str() + ")" +
           std::to_string(static_cast<uint64_t>(
               Elements.getSplatValue<APInt>().getSExtValue())) +
           "ull";
  define(Op.getResult(), Text, "");
}

void PointwisePrinter::define(Value Result, const std::string &Expression,
                              StringRef Comment) {
  std::string Name = "v" + std::to_string(NextValue++);
  Names[Result] = Name;
  Type Element = elementOf(Result);
  std::string Type = getTypeName(Element).str(), Text = Expression;
  if (isFloat(Result)) {
    if (!Element.isF32() && !isa<ConstantOp>(Result.getDefiningOp()))
      Text = "rounded<" + Type + ">(" + Text + ")";
    Type = "Exact";
  }
  line("const " + Type + " " + Name + " = " + Text + ";" +
           (Comment.empty() ? "" : " // " + Comment.str()),
       Width > 1 ? 2 : 1);
}

std::string PointwisePrinter::getUniform(Operation *Op) const {
  std::string Words = "words" + Names.lookup(Op->getResult(0));
  if (Width >= 4)
    return "uniformOf(wordOf(" + Words + "[k / 4], k % 4))";
  return "randomUniform(" + Words + "Seed, " + Words + "Id, " + Words +
         "Step, i + " + (Width > 1 ? "k" : "0") + ")";
}

/// Draws the words of a thread's run: one Philox call gives those of four
/// elements.
void PointwisePrinter::printRandomWords(Operation *Op, Value Seed, Value Step) {
  std::string Id = "id" + std::to_string(NextValue);
  std::string Words = "words" + std::to_string(NextValue++);
  Names[Op->getResult(0)] = StringRef(Words).drop_front(5).str();
  Parameters.push_back("int64 " + Id);
  Result.Arguments.push_back(
      {Argument::Kind::Int, 0, cast<RandomOpInterface>(Op).getRandomId()});
  auto Random = dyn_cast<RandomOp>(Op);
  bool Normal = Random && Random.getDistribution() == Distribution::normal;
  if (Width >= 4 && !Normal) {
    line("uint4 " + Words + "[" + llvm::Twine(Width / 4) + "];");
    for (int64_t Quad = 0; Quad < Width / 4; ++Quad)
      line(Words + "[" + llvm::Twine(Quad) + "] = philox(" + Names[Seed] +
           ", " + Id + ", " + Names[Step] + ", (int64)(i / 4)" +
           (Quad == 0 ? "" : " + " + std::to_string(Quad)) + ");");
    return;
  }
  line("int64 " + Words + "Seed = " + Names[Seed] + ", " + Words +
       "Id = " + Id + ", " + Words + "Step = " + Names[Step] + ";");
}

void PointwisePrinter::printOp(Operation *Op) {
  std::string Comment = Op->getName().stripDialect().str();
  SmallVector<std::string> Operands;
  for (Value Operand : Op->getOperands())
    Operands.push_back(Names[Operand]);
  llvm::TypeSwitch<Operation *>(Op)
      .Case([&](ConstantOp Constant) { printConstant(Constant); })
      .Case([&](RollOp) { /* loaded */ })
      .Case([&](BroadcastOp Broadcast) {
        Names[Broadcast.getResult()] = Operands[0];
      })
      .Case([&](DropoutOp Dropout) {
        double P = Dropout.getP().convertToDouble();
        std::string Keep = getUniform(Op) + " >= " +
                           printFloatLiteral(APFloat(static_cast<float>(P)));
        std::string Scale =
            printFloatLiteral(APFloat(static_cast<float>(1.0 / (1.0 - P))));
        define(Dropout.getResult(),
               Keep + " ? " + Operands[0] + " * " + Scale + " : Exact(0.0f)",
               Comment);
      })
      .Case([&](RandomOp Random) {
        std::string Words = "words" + Names[Random.getResult()];
        std::string Element = std::string("i + ") + (Width > 1 ? "k" : "0");
        define(Random.getResult(),
               Random.getDistribution() == Distribution::uniform
                   ? getUniform(Op)
                   : "randomNormal(" + Words + "Seed, " + Words + "Id, " +
                         Words + "Step, " + Element + ")",
               Comment);
      })
      .Case([&](CastOp Cast) {
        std::string Type = getTypeName(elementOf(Cast.getResult())).str();
        define(Cast.getResult(),
               isFloat(Cast.getResult()) ? "(float)" + Operands[0]
                                         : "(" + Type + ")" + Operands[0],
               Comment);
      })
      .Default([&](Operation *) {
        if (std::optional<std::string> Expression = getExpression(Op))
          define(Op->getResult(0), substitute(*Expression, Operands), Comment);
      });
}

/// Names an element of a vector operand inside the loop.
void PointwisePrinter::printElement(const Input &In) {
  if (!In.Vector || Width == 1)
    return;
  std::string Number = StringRef(Names[In.Inner]).drop_front().str();
  std::string Type =
      isFloat(In.Inner) ? "Exact" : getTypeName(elementOf(In.Inner)).str();
  std::string Element = "run" + Number + "[k]";
  line("const " + Type + " x" + Number + " = " +
           (isFloat(In.Inner) ? "toFloat(" + Element + ")" : Element) + ";",
       2);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Operands of the kernel's shape, as many as registers have room for.
SmallVector<PointwiseSums::Ahead> PointwisePrinter::chooseAhead() {
  constexpr int64_t MostBytes = 64;
  SmallVector<PointwiseSums::Ahead> Chosen;
  int64_t Left = MostBytes;
  for (auto [Number, In] : llvm::enumerate(Inputs)) {
    int64_t Run = Width * getElementBytes(elementOf(In.Inner));
    In.IsAhead = Width > 1 && !In.Roll && In.Index.isFull() && Run <= Left;
    Left -= In.IsAhead ? Run : 0;
    if (In.IsAhead)
      Chosen.push_back({getTypeName(elementOf(In.Inner)).str(), Number});
  }
  return Chosen;
}

/// The block, the grid and `i`, the first element of the thread's run.
void PointwisePrinter::printBegin() {
  if (!Sums.empty()) {
    Result.Block[0] = ThreadsPerBlock;
    Result.Grid[0] = Sums.getBlocks(Width);
    Body += Sums.printBegin(Width, IndexType, chooseAhead());
    return;
  }
  int64_t Threads = Count / Width;
  int64_t Block = Threads >= ThreadsPerBlock
                      ? ThreadsPerBlock
                      : std::max<int64_t>(32, (Threads + 31) / 32 * 32);
  Result.Block[0] = Block;
  Result.Grid[0] = (Threads + Block - 1) / Block;
  line(IndexType + " i = ((" + IndexType + ")blockIdx.x * " + literal(Block) +
       " + threadIdx.x)" + (Width > 1 ? " * " + literal(Width) : "") + ";");
  line("if (i >= " + literal(Count) + ")");
  line("return;", 2);
}

/// From the loads to the stores of one run.
void PointwisePrinter::printRun() {
  std::string Run = std::to_string(Width);
  printLoads();
  for (Operation *Op : Ops)
    if (auto Dropout = dyn_cast<DropoutOp>(Op))
      printRandomWords(Op, Dropout.getSeed(), Dropout.getStep());
    else if (auto Random = dyn_cast<RandomOp>(Op))
      printRandomWords(Op, Random.getSeed(), Random.getStep());
  for (const Output &Out : Outputs) {
    std::string Type = getTypeName(elementOf(Out.Inner)).str();
    std::string Number = std::to_string(Out.Result);
    Parameters.push_back(Type + " *out" + Number);
    Result.Arguments.push_back({Argument::Kind::Result, Out.Result});
    line("Run<" + Type + ", " + Run + "> y" + Number + ";");
  }
  if (Width > 1) {
    Body += "#pragma unroll\n";
    line("for (int k = 0; k < " + Run + "; ++k) {");
  }
  for (const Input &In : Inputs)
    printElement(In);
  for (Operation *Op : Ops)
    printOp(Op);
  for (const Output &Out : Outputs) {
    std::string Name = Names[Out.Inner], Value = Name;
    if (isFloat(Out.Inner)) {
      Value = "stored<" + getTypeName(elementOf(Out.Inner)).str() + ">(" +
              Name + ")";
      Name += ".value";
    }
    line(element("y" + std::to_string(Out.Result)) + " = " + Value + ";",
         Width > 1 ? 2 : 1);
    Body += Sums.printAdd(Out.Result, Width > 1 ? "k" : "0", Name);
  }
  if (Width > 1)
    line("}");
  for (const Output &Out : Outputs) {
    std::string Number = std::to_string(Out.Result);
    line("y" + Number + ".store(out" + Number + " + i);");
  }
}

void PointwisePrinter::print(SmallVectorImpl<Launch> &Launches) {
  printBegin();
  printRun();
  if (!Sums.empty()) {
    Body += Sums.printEnd(Width);
    Sums.addParameters(Parameters, Result.Arguments);
  }
  Result.Name = getPointwiseName(Ops, Shape) + (Sums.empty() ? "" : "_sums");
  Result.Comment = printPointwiseComment(Ops, Shape, !Sums.empty());
  Result.Parameters = llvm::join(Parameters, ", ");
  Result.Body = Body;
  Result.Source = &getExactSource();
  Launches.push_back(std::move(Result));
  Sums.addJoins(Launches);
}

} // namespace

void remat::cuda::getPointwiseLaunches(Operation *Op,
                                       SmallVectorImpl<Launch> &Launches) {
  PointwisePrinter(Op).print(Launches);
}
