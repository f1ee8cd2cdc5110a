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
    case Kind::Float:
      Out->kind = program::ArgumentKind::Float;
      break;
    }
    Out->int_value = From.Int;
    Out->float_value = From.Float;
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
    for (const cuda::Launch &From : getLaunches(Op, Step.choice)) {
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
