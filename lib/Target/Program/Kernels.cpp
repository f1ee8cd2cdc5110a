//===- Kernels.cpp - the launches of each step and their kernels ----------===//

#include "ProgramBuilder.h"
#include "remat/Analysis/Liveness.h"
#include "remat/Target/CUDA/Emission.h"

using namespace mlir;
using namespace remat;

/// The launches of the own kernels of `Op`; none if there are none.
static SmallVector<cuda::Launch> getLaunches(Operation *Op) {
  SmallVector<cuda::Launch> Launches;
  if (cuda::isPointwiseKernel(Op))
    cuda::getPointwiseLaunches(Op, Launches);
  else if (cuda::hasKernels(Op))
    cuda::getLaunches(Op, Launches);
  return Launches;
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
    if (Step.kernel != program::KernelKind::Own)
      continue;
    SmallVector<cuda::Launch> Launches = getLaunches(Op);
    int64_t Predicted = getKernel(*Where, Op).getLaunches();
    if (static_cast<int64_t>(Launches.size()) != Predicted)
      return Op->emitOpError()
             << "has " << Launches.size()
             << " launches, and its kernel is said to have " << Predicted;
    for (const cuda::Launch &From : Launches) {
      if (failed(verifyGrid(Op, From)))
        return failure();
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
  Program.kernels_wait = true;
  return Options.CompileKernels ? compileKernels(Table) : success();
}

LogicalResult ProgramBuilder::compileKernels(const cuda::KernelTable &Table) {
  std::vector<std::vector<uint8_t>> Cubins;
  std::string Error;
  if (!cuda::compileSources(Table.getParts(), Program.arch, Cubins, Error))
    return emitError(Func.getLoc(), "kernels do not compile for '")
           << Program.arch << "': " << Error;
  for (std::vector<uint8_t> &Cubin : Cubins) {
    Program.modules.push_back(std::make_unique<program::ModuleT>());
    Program.modules.back()->cubin = std::move(Cubin);
  }
  for (auto [Number, Kernel] : llvm::enumerate(Program.kernels))
    Kernel->module_ = static_cast<uint32_t>(Number % Cubins.size());
  return success();
}

namespace {

/// Prints the launches of operations, those in the bodies of scans further in,
/// and collects their kernels.
class CUDAPrinter {
public:
  void print(Block &Body, unsigned Depth);

  cuda::KernelTable Table;
  std::string Steps;

private:
  unsigned Number = 0;
};

} // namespace

void CUDAPrinter::print(Block &Body, unsigned Depth) {
  std::string Indent = "// " + std::string(size_t(Depth) * 4, ' ');
  for (Operation &Op : Body.without_terminator()) {
    if (isView(&Op) || isResidentConstant(&Op))
      continue;
    std::string User = describeUser(&Op, Number++);
    Steps += Indent + cuda::sanitizeComment(User) + '\n';
    if (auto Scan = dyn_cast<ScanOp>(Op)) {
      print(Scan.getBlock(), Depth + 1);
      continue;
    }
    SmallVector<cuda::Launch> Launches;
    auto Chosen = Op.getAttrOfType<KernelAttr>(ChoiceAttrName);
    if (!Chosen || Chosen.getKind() == KernelKind::own)
      Launches = getLaunches(&Op);
    if (Launches.empty())
      Steps += Indent + "  a library\n";
    for (const cuda::Launch &Launch : Launches) {
      unsigned Kernel = Table.add(Launch, User);
      Steps += Indent + "  " + Table.getNames()[Kernel] + "<<<" +
               std::to_string(Launch.Grid[0]) + ", " +
               std::to_string(Launch.Block[0]) + ">>>\n";
    }
  }
}

LogicalResult remat::printCUDA(func::FuncOp Func,
                               const CUDATextOptions &Options,
                               llvm::raw_ostream &OS) {
  if (!Func.getBody().hasOneBlock())
    return Func.emitOpError("must have one block to be a program");
  CUDAPrinter Printer;
  Printer.print(Func.getBody().front(), 0);
  OS << Printer.Table.getSource(Options.Prelude) << "\n// Launches\n"
     << Printer.Steps;
  for (const std::string &Arch : Options.CompileFor) {
    std::string Error;
    std::vector<std::vector<uint8_t>> Cubins;
    if (!cuda::compileSources(Printer.Table.getParts(), Arch, Cubins, Error))
      return emitError(Func.getLoc(), "kernels do not compile for '")
             << Arch << "': " << Error;
  }
  return success();
}
