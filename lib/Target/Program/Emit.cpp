//===- Emit.cpp - arguments, results and steps ----------------------------===//

#include "ProgramBuilder.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/CostTable.h"
#include "remat/Analysis/ScanBody.h"

using namespace mlir;
using namespace remat;

static constexpr uint32_t NoTensor = 0xffffffff;

static program::Role convertRole(Attribute Attr) {
  auto Role = dyn_cast_or_null<RoleAttr>(Attr);
  if (!Role)
    return program::Role::Temporary;
  switch (Role.getValue()) {
  case Role::parameter:
    return program::Role::Parameter;
  case Role::input:
    return program::Role::Input;
  case Role::state:
    return program::Role::State;
  case Role::seed:
    return program::Role::Seed;
  case Role::step:
    return program::Role::Step;
  case Role::learning_rate:
    return program::Role::LearningRate;
  case Role::loss:
    return program::Role::Loss;
  case Role::output:
    return program::Role::Output;
  case Role::gradient:
    return program::Role::Gradient;
  }
  return program::Role::Temporary;
}

static std::string textOf(Attribute Attr) {
  auto String = dyn_cast_or_null<StringAttr>(Attr);
  return String ? String.str() : std::string();
}

static int64_t numberOf(Attribute Attr, int64_t Default) {
  auto Integer = dyn_cast_or_null<IntegerAttr>(Attr);
  return Integer ? Integer.getInt() : Default;
}

void ProgramBuilder::addMesh() {
  MeshAttr Mesh = getMesh(Func);
  if (!Mesh)
    return;
  for (auto [Name, Size] : llvm::zip_equal(Mesh.getNames(), Mesh.getSizes())) {
    auto Axis = std::make_unique<program::MeshAxisT>();
    Axis->name = Name.str();
    Axis->size = Size;
    Program.mesh.push_back(std::move(Axis));
  }
}

void ProgramBuilder::addPart(PartAttr Part,
                             program::ArgumentT &Argument) const {
  Argument.whole = Part.getWhole().vec();
  for (auto Cut : Part.getCuts().getAsRange<CutAttr>()) {
    auto Out = std::make_unique<program::CutT>();
    Out->dim = Cut.getDim();
    Out->blocks = Cut.getBlocks();
    llvm::append_range(Out->group, getMesh(Func).getGroup(Cut.getAxes()));
    Argument.cuts.push_back(std::move(Out));
  }
}

void ProgramBuilder::addArguments() {
  for (BlockArgument Argument : Func.getArguments()) {
    auto Get = [&](StringRef Name) {
      return Func.getArgAttr(Argument.getArgNumber(), Name);
    };
    auto Out = std::make_unique<program::ArgumentT>();
    Out->tensor = getTensor(Argument);
    Out->name = textOf(Get(NameAttrName));
    if (Out->name.empty())
      Out->name = Program.tensors[Out->tensor]->name;
    Out->role = convertRole(Get(RoleAttrName));
    Out->donated_result = numberOf(Get(DonatedAttrName), -1);
    if (auto Init = dyn_cast_or_null<InitAttr>(Get(InitAttrName))) {
      Out->init_kind = stringifyEnum(Init.getKind()).str();
      Out->init_value = Init.getValue();
    }
    if (auto Data = dyn_cast_or_null<DataSourceAttr>(Get(DataAttrName)))
      Out->data = stringifyEnum(Data.getValue()).str();
    Out->bound = numberOf(Get(BoundAttrName), 0);
    if (auto Part = dyn_cast_or_null<PartAttr>(Get(PartAttrName)))
      addPart(Part, *Out);
    Program.arguments.push_back(std::move(Out));
  }
}

void ProgramBuilder::addResults() {
  Operation *Return = Func.getBody().front().getTerminator();
  for (OpOperand &Operand : Return->getOpOperands()) {
    unsigned Number = Operand.getOperandNumber();
    auto Out = std::make_unique<program::ResultT>();
    Out->tensor = getTensor(Operand.get());
    Out->role = convertRole(Func.getResultAttr(Number, RoleAttrName));
    Out->name = textOf(Func.getResultAttr(Number, NameAttrName));
    if (Out->name.empty())
      Out->name = "result." + std::to_string(Number);
    Program.results.push_back(std::move(Out));
  }
}

void ProgramBuilder::addBody(KernelOp Kernel, program::StepT &Step) {
  Block &Body = Kernel.getBody().front();
  llvm::DenseMap<Value, uint32_t> Numbers;
  for (BlockArgument Argument : Body.getArguments())
    Numbers[Argument] = Argument.getArgNumber();
  for (Operation &Op : Body.without_terminator()) {
    auto Out = std::make_unique<program::BodyOpT>();
    Out->name = Op.getName().stripDialect().str();
    for (Value Operand : getProgramOperands(&Op))
      Out->operands.push_back(Operand ? Numbers.at(Operand) : NoTensor);
    Out->attributes = convertAttributes(&Op);
    auto Type = cast<RankedTensorType>(Op.getResult(0).getType());
    Out->dtype = convertElementType(Type);
    Out->shape = Type.getShape().vec();
    for (Value Result : Op.getResults()) {
      uint32_t Number = Numbers.size();
      Numbers[Result] = Number;
    }
    Step.body.push_back(std::move(Out));
  }
  for (Value Yielded : Body.getTerminator()->getOperands())
    Step.yields.push_back(Numbers.at(Yielded));
}

/// The body is a program of its own, with its own kernels.
LogicalResult ProgramBuilder::addLoop(ScanOp Scan, program::StepT &Step) const {
  FailureOr<int64_t> Bound = getBoundBytes(Scan);
  FailureOr<OwningOpRef<func::FuncOp>> Body = outlineBody(Scan);
  if (failed(Bound) || failed(Body))
    return failure();
  // Times are asked for of whole steps.
  EmitOptions Untimed = Options;
  Untimed.Times = nullptr;
  ProgramBuilder Builder(**Body, Untimed);
  if (failed(Builder.build()))
    return failure();
  Step.loop = std::make_unique<program::LoopT>();
  Step.loop->body =
      std::make_unique<program::ProgramT>(std::move(Builder.Program));
  Step.loop->carries = Scan.getNumCarries();
  Step.loop->slices = Scan.getSlices().size();
  Step.loop->bound_bytes = *Bound;
  return success();
}

/// The kernel that memory assignment chose for `Op`, which is the project's own
/// where it named none. It must have its workspace.
FailureOr<KernelAttr> ProgramBuilder::getChosen(Operation *Op,
                                                int64_t Workspace) const {
  FailureOr<KernelAttr> Kernel = verifyKernel(*Where, Op);
  if (failed(Kernel))
    return failure();
  if (!Op->hasAttr(ChoiceAttrName) && Kernel->getKind() != KernelKind::own) {
    InFlightDiagnostic Diag = Op->emitOpError("says no kernel, and on ")
                              << Where->getAttr() << " " << Kernel->getName()
                              << " runs it";
    Diag.attachNote() << "assign memory for the target that emits";
    return Diag;
  }
  if (Kernel->getWorkspace() <= Workspace)
    return Kernel;
  InFlightDiagnostic Diag = Op->emitOpError("has a workspace of ")
                            << Workspace << " bytes, on " << Where->getAttr()
                            << " its kernel takes " << Kernel->getWorkspace();
  Diag.attachNote() << "assign memory for the target that emits";
  return Diag;
}

static program::KernelKind convertKernelKind(KernelKind Kind) {
  switch (Kind) {
  case KernelKind::own:
    return program::KernelKind::Own;
  case KernelKind::cublaslt:
    return program::KernelKind::CublasLt;
  case KernelKind::cudnn:
    return program::KernelKind::Cudnn;
  case KernelKind::nccl:
    return program::KernelKind::Nccl;
  }
  llvm_unreachable("a kernel is of a kind that is listed");
}

LogicalResult ProgramBuilder::addStep(Operation &Op) {
  auto Step = std::make_unique<program::StepT>();
  Step->op = Op.getName().stripDialect().str();
  for (Value Operand : getProgramOperands(&Op))
    Step->operands.push_back(Operand ? getTensor(Operand) : NoTensor);
  for (Value Result : Op.getResults())
    Step->results.push_back(getTensor(Result));
  Step->attributes = convertAttributes(&Op);
  if (auto Kernel = dyn_cast<KernelOp>(Op))
    addBody(Kernel, *Step);
  if (auto Scan = dyn_cast<ScanOp>(Op); Scan && failed(addLoop(Scan, *Step)))
    return failure();

  if (auto Workspace = Op.getAttrOfType<DenseI64ArrayAttr>(WorkspaceAttrName)) {
    auto Arena = static_cast<int64_t>(Program.arena_bytes);
    if (Workspace.size() != 2 || Workspace[0] < 0 || Workspace[1] < 0 ||
        Workspace[1] > Arena || Workspace[0] > Arena - Workspace[1])
      return Op.emitOpError("has a workspace outside the arena of ")
             << Arena << " bytes";
    Step->workspace_offset = Workspace[0];
    Step->workspace_bytes = Workspace[1];
  }
  FailureOr<KernelAttr> Kernel = getChosen(&Op, Step->workspace_bytes);
  if (failed(Kernel))
    return failure();
  Step->kernel = convertKernelKind(Kernel->getKind());
  Step->slices = static_cast<int32_t>(Kernel->getSlices());
  Step->deterministic = Kernel->getDeterministic();
  Step->location = describeLocation(Op.getLoc());
  if (auto Phase = Op.getAttrOfType<PhaseAttr>(PhaseAttrName))
    Step->phase = stringifyEnum(Phase.getValue()).str();
  if (auto Cost = dyn_cast<CostOpInterface>(Op))
    Step->flops = Cost.getFlops();
  if (Options.Times) {
    Target::Ceilings Least = Where->getCeilings(&Op);
    Options.Times->push_back({getCostKey(&Op, *Kernel),
                              Kernel->getMicroseconds(),
                              Least.ArithmeticMicroseconds,
                              Least.TrafficMicroseconds, getCost(&Op).Bytes});
  }
  Program.steps.push_back(std::move(Step));
  return success();
}

LogicalResult ProgramBuilder::addSteps() {
  for (Operation *Op : StepOps)
    if (failed(addStep(*Op)))
      return failure();
  setOrigins();
  return success();
}

void ProgramBuilder::setOrigins() {
  // A fused group stands for every op inside it.
  llvm::DenseMap<Attribute, int32_t> StepOfId;
  for (auto [Number, Op] : llvm::enumerate(StepOps))
    Op->walk<WalkOrder::PreOrder>([&](Operation *Inner) {
      // A body numbers its own.
      if (isa<ScanOp>(Inner->getParentOp()))
        return WalkResult::skip();
      if (Attribute Id = Inner->getAttr(IdAttrName))
        StepOfId.try_emplace(Id, Number);
      return WalkResult::advance();
    });
  for (auto [Number, Op] : llvm::enumerate(StepOps)) {
    auto It = StepOfId.find(Op->getAttr(OriginAttrName));
    if (Op->hasAttr(OriginAttrName) && It != StepOfId.end())
      Program.steps[Number]->recomputes = It->second;
  }
}

void ProgramBuilder::setPlan() {
  auto Plan = std::make_unique<program::PlanT>();
  if (auto From = Func->getAttrOfType<PlanAttr>(PlanAttrName)) {
    Plan->strategy = From.getStrategy().str();
    Plan->budget_bytes = From.getBudget();
    Plan->unplanned_peak_bytes = From.getUnplanned();
    Plan->predicted_peak_bytes = From.getPeak();
    Plan->smallest_feasible_bytes = From.getSmallest();
    Plan->predicted_overhead = From.getOverhead().convertToDouble();
    Plan->predicted_ms = From.getPredicted().convertToDouble();
    Plan->recomputed_ops = static_cast<int32_t>(From.getRecomputed());
  }
  Program.plan = std::move(Plan);
}

LogicalResult ProgramBuilder::build() {
  if (!Func.getBody().hasOneBlock())
    return Func.emitOpError("must have one block to be a program");
  TargetAttr Attr = Where->getAttr();
  Program.device = stringifyDeviceKind(Attr.getDevice()).str();
  Program.arch = Attr.getArch().str();
  if (failed(numberSteps()) || failed(addTensors()))
    return failure();
  setLifetimes();
  addMesh();
  addArguments();
  addResults();
  if (failed(addConstants()) || failed(addSteps()))
    return failure();
  setPlan();
  return Attr.getDevice() == DeviceKind::cuda ? addKernels() : success();
}

LogicalResult ProgramBuilder::addFunction(func::FuncOp Other,
                                          const EmitOptions &How) {
  ProgramBuilder Builder(Other, How);
  if (failed(Builder.build()))
    return failure();
  auto Out = std::make_unique<program::FunctionT>();
  Out->name = Other.getName().str();
  Out->program =
      std::make_unique<program::ProgramT>(std::move(Builder.Program));
  Program.arena_bytes =
      std::max(Program.arena_bytes, Out->program->arena_bytes);
  if (!Program.functions)
    Program.functions = std::make_unique<program::FunctionsT>();
  Program.functions->list.push_back(std::move(Out));
  return success();
}

LogicalResult remat::emitProgram(ArrayRef<func::FuncOp> Functions,
                                 const EmitOptions &Options,
                                 std::vector<uint8_t> &Program) {
  ProgramBuilder Builder(Functions.front(), Options);
  if (failed(Builder.build()))
    return failure();
  // Times are asked for of what is shown, which is the first function.
  EmitOptions Untimed = Options;
  Untimed.Times = nullptr;
  for (func::FuncOp Func : Functions.drop_front())
    if (failed(Builder.addFunction(Func, Untimed)))
      return failure();
  flatbuffers::FlatBufferBuilder Buffer;
  program::FinishProgramBuffer(
      Buffer, program::Program::Pack(Buffer, &Builder.getProgram()));
  Program.assign(Buffer.GetBufferPointer(),
                 Buffer.GetBufferPointer() + Buffer.GetSize());
  return success();
}
