//===- Kernels.cpp - the launches of each step and their kernels ----------===//

#include "ProgramBuilder.h"
#include "remat/Analysis/Liveness.h"
#include "remat/Target/CUDA/Emission.h"

using namespace mlir;
using namespace remat;

/// The launches of `Op`; none if a library runs it.
static SmallVector<cuda::Launch> getLaunches(Operation *Op, StringRef Choice) {
  SmallVector<cuda::Launch> Launches;
  if (cuda::isPointwiseKernel(Op))
    Launches.push_back(cuda::getPointwiseLaunch(Op));
  else if (cuda::hasKernels(Op) && !Choice.starts_with("cudnn") &&
           !Choice.starts_with("cublas"))
    cuda::getLaunches(Op, Launches);
  return Launches;
}

/// cuBLASLt adds a bias of the result's type only, and counts batches in 32
/// bits.
static LogicalResult verifyMatmul(MatmulOp Op) {
  RankedTensorType Result = Op.getResult().getType();
  if (Value Bias = Op.getBias()) {
    auto Type = cast<RankedTensorType>(Bias.getType());
    if (Type.getElementType() != Result.getElementType()) {
      InFlightDiagnostic Diag = Op.emitOpError()
                                << "cannot run on CUDA: no kernel adds a bias "
                                << Type << " to a result " << Result;
      Diag.attachNote() << "cast the bias to " << Result.getElementType();
      return Diag;
    }
  }
  int64_t Batches = getNumElements(Result.getShape().drop_back(2)).value_or(0);
  if (Batches > std::numeric_limits<int32_t>::max())
    return Op.emitOpError()
           << "cannot run on CUDA: " << Batches
           << " products are more than the "
           << std::numeric_limits<int32_t>::max() << " of one call";
  return success();
}

/// The largest grid of compute capability 3.0 and later, as the CUDA C++
/// programming guide has it.
static LogicalResult verifyGrid(Operation *Op, const cuda::Launch &Launch) {
  constexpr std::array<int64_t, 3> Most = {2147483647, 65535, 65535};
  for (auto [Blocks, Limit] : llvm::zip_equal(Launch.Grid, Most))
    if (Blocks > Limit)
      return Op->emitOpError()
             << "cannot run on CUDA: its kernel has " << Blocks
             << " blocks, more than the " << Limit << " of one launch";
  return success();
}

/// Refuses an operation that neither `Launches` nor a library runs.
static LogicalResult verifyRunnable(Operation *Op, StringRef Choice,
                                    ArrayRef<cuda::Launch> Launches) {
  if (auto Matmul = dyn_cast<MatmulOp>(Op))
    return verifyMatmul(Matmul);
  for (const cuda::Launch &Launch : Launches)
    if (failed(verifyGrid(Op, Launch)))
      return failure();
  if (!Launches.empty() || Choice.starts_with("cudnn"))
    return success();
  if (isa<AttentionOp, AttentionBackwardOp>(Op)) {
    auto Query = cast<RankedTensorType>(Op->getOperand(0).getType());
    InFlightDiagnostic Diag =
        Op->emitOpError() << "cannot run on CUDA: heads of "
                          << Query.getShape().back() << " elements of "
                          << Query.getElementType() << ", where kernels take "
                          << cuda::getWidestAttention();
    Diag.attachNote() << "matmul and softmax take heads of any width";
    return Diag;
  }
  InFlightDiagnostic Diag = Op->emitOpError()
                            << "cannot run on CUDA: no kernel takes ";
  llvm::interleaveComma(Op->getOperandTypes(), Diag);
  if (isa<KernelOp>(Op))
    Diag.attachNote() << "run --canonicalize, which takes a kernel apart that "
                         "is not elementwise over one shape";
  return Diag;
}

/// "step 3: gelu, model.py:12:3", with what the op's first result is called.
static std::string describeUser(Operation *Op, unsigned Step) {
  std::string Text = "step " + std::to_string(Step) + ": " +
                     Op->getName().stripDialect().str();
  if (std::string Place = describeLocation(Op->getLoc()); !Place.empty())
    Text += ", " + Place;
  return Text;
}

namespace {

/// Converts a launch's arguments, which name operands and results of one op.
class ArgumentConverter {
public:
  ArgumentConverter(Operation *Op,
                    const llvm::DenseMap<Value, uint32_t> &Tensors)
      : Op(Op), Tensors(Tensors) {}

  std::unique_ptr<program::KernelArgumentT>
  convert(const cuda::Argument &From) const {
    auto Out = std::make_unique<program::KernelArgumentT>();
    using Kind = decltype(From.Kind);
    switch (From.Kind) {
    case Kind::Operand:
      Out->index = Tensors.at(Op->getOperand(From.Index));
      break;
    case Kind::Result:
      Out->index = Tensors.at(Op->getResult(From.Index));
      break;
    case Kind::Workspace:
      Out->kind = program::ArgumentKind::Workspace;
      break;
    case Kind::Int:
      Out->kind = program::ArgumentKind::Int;
      break;
    }
    Out->int_value = From.Int;
    return Out;
  }

private:
  Operation *Op;
  const llvm::DenseMap<Value, uint32_t> &Tensors;
};

} // namespace

LogicalResult ProgramBuilder::addKernels() {
  cuda::KernelTable Table;
  for (auto [Number, Op] : llvm::enumerate(StepOps)) {
    program::StepT &Step = *Program.steps[Number];
    ArgumentConverter Arguments(Op, Tensors);
    SmallVector<cuda::Launch> Launches = getLaunches(Op, Step.choice);
    if (failed(verifyRunnable(Op, Step.choice, Launches)))
      return failure();
    for (const cuda::Launch &From : Launches) {
      auto Launch = std::make_unique<program::LaunchT>();
      Launch->kernel = Table.add(From, describeUser(Op, Number));
      Launch->grid.assign(From.Grid.begin(), From.Grid.end());
      Launch->block.assign(From.Block.begin(), From.Block.end());
      Launch->shared_bytes = From.SharedBytes;
      for (const cuda::Argument &Argument : From.Arguments)
        Launch->arguments.push_back(Arguments.convert(Argument));
      Step.launches.push_back(std::move(Launch));
    }
  }
  for (const std::string &Name : Table.getNames()) {
    Program.kernels.push_back(std::make_unique<program::KernelT>());
    Program.kernels.back()->name = Name;
  }
  Program.cuda_source = Table.getSource();
  std::string Error;
  if (Options.CompileKernels && !Program.cuda_source.empty() &&
      !cuda::compileSource(Program.cuda_source, Options.Arch, Program.cubin,
                           Error))
    return emitError(Func.getLoc(), "kernels do not compile for '")
           << Options.Arch << "': " << Error;
  return success();
}

LogicalResult remat::printCUDA(func::FuncOp Func,
                               const CUDATextOptions &Options,
                               llvm::raw_ostream &OS) {
  if (!Func.getBody().hasOneBlock())
    return Func.emitOpError("must have one block to be a program");
  cuda::KernelTable Table;
  std::string Steps;
  unsigned Number = 0;
  for (Operation &Op : Func.getBody().front().without_terminator()) {
    if (isView(&Op) || isResidentConstant(&Op))
      continue;
    std::string User = describeUser(&Op, Number++);
    Steps += "// " + cuda::sanitizeComment(User) + '\n';
    SmallVector<cuda::Launch> Launches = getLaunches(&Op, "");
    if (Launches.empty())
      Steps += "//   a library\n";
    for (const cuda::Launch &Launch : Launches) {
      unsigned Kernel = Table.add(Launch, User);
      Steps += "//   " + Table.getNames()[Kernel] + "<<<" +
               std::to_string(Launch.Grid[0]) + ", " +
               std::to_string(Launch.Block[0]) + ">>>\n";
    }
  }
  OS << Table.getSource(Options.Prelude) << "\n// Launches\n" << Steps;
  for (const std::string &Arch : Options.CompileFor) {
    std::string Error;
    std::vector<uint8_t> Cubin;
    if (!cuda::compileSource(Table.getSource(), Arch, Cubin, Error))
      return emitError(Func.getLoc(), "kernels do not compile for '")
             << Arch << "': " << Error;
  }
  return success();
}
