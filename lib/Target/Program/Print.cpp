//===- Print.cpp - a program as text --------------------------------------===//
//
// For people and tests. The bytes are not trusted: they are verified first, and
// numbers that name a tensor are printed as they are, whether it exists or not.
//
//===----------------------------------------------------------------------===//

#include "remat/Target/Program.h"
#include "remat/program/Program_generated.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <cstring>

using namespace remat;
namespace fb = flatbuffers;

namespace {

/// Prints one verified program. Every vector and string may be missing.
class Printer {
public:
  explicit Printer(llvm::raw_ostream &OS) : OS(OS) {}
  void print(const program::Program &Program);

private:
  template <typename T> using Offsets = fb::Vector<fb::Offset<T>>;

  void quote(const fb::String *Text) {
    OS << '"';
    if (Text)
      llvm::printEscapedString({Text->c_str(), Text->size()}, OS);
    OS << '"';
  }
  /// An element. The verifier checks the alignment of a vector's size only,
  /// which is less than that of elements of eight bytes.
  template <typename T> static T get(const fb::Vector<T> &Numbers, unsigned I) {
    T Number;
    std::memcpy(&Number, Numbers.Data() + I * sizeof(T), sizeof(T));
    return Number;
  }
  template <typename T>
  void list(const fb::Vector<T> *Numbers, llvm::StringRef Between = ", ") {
    for (unsigned I = 0; Numbers && I < Numbers->size(); ++I)
      OS << (I ? Between : "") << get(*Numbers, I);
  }
  /// Operands by number; `_` is a missing optional one.
  void values(const fb::Vector<uint32_t> *Numbers) {
    llvm::StringRef Separator;
    if (Numbers)
      for (uint32_t Number : *Numbers) {
        OS << Separator;
        if (Number == 0xffffffff)
          OS << '_';
        else
          OS << '%' << Number;
        Separator = ", ";
      }
  }
  void type(program::DType Type, const fb::Vector<int64_t> *Shape) {
    OS << llvm::StringRef(program::EnumNameDType(Type)).lower() << '[';
    list(Shape, "x");
    OS << ']';
  }
  void attributes(const Offsets<program::Attribute> *Attributes);
  void tensor(unsigned Number, const program::Tensor &Tensor);
  void argument(const program::Argument &Argument);
  void step(unsigned Number, const program::Step &Step);
  void body(const program::Step &Step);
  void loop(const program::Loop &Loop);
  void launch(const program::Launch &Launch);
  void plan(const program::Plan &Plan);
  void functions(const program::Program &Program);

  llvm::raw_ostream &OS;
  bool IsFunction = false; ///< what is printed is one of a program's functions
};

void Printer::attributes(const Offsets<program::Attribute> *Attributes) {
  if (!Attributes || Attributes->size() == 0)
    return;
  OS << " {";
  llvm::StringRef Separator;
  for (const program::Attribute *Attribute : *Attributes) {
    OS << Separator << Attribute->name()->str() << " =";
    Separator = ", ";
    if (Attribute->ints() && Attribute->ints()->size()) {
      OS << " [";
      list(Attribute->ints());
      OS << ']';
    }
    if (Attribute->floats())
      for (unsigned I = 0; I < Attribute->floats()->size(); ++I)
        OS << ' ' << llvm::format("%.17g", get(*Attribute->floats(), I));
    if (Attribute->text() && Attribute->text()->size()) {
      OS << ' ';
      quote(Attribute->text());
    }
  }
  OS << '}';
}

void Printer::tensor(unsigned Number, const program::Tensor &Tensor) {
  OS << "tensor %" << Number << ' ';
  type(Tensor.dtype(), Tensor.shape());
  if (Tensor.in_halves())
    OS << " in halves";
  OS << " at " << Tensor.offset() << ' '
     << program::EnumNameMemoryClass(Tensor.memory_class()) << " steps "
     << Tensor.first_step() << " to " << Tensor.last_step() << ' ';
  quote(Tensor.name());
  OS << '\n';
}

void Printer::argument(const program::Argument &Argument) {
  OS << "argument ";
  quote(Argument.name());
  OS << ' ' << program::EnumNameRole(Argument.role()) << " %"
     << Argument.tensor();
  if (Argument.donated_result() >= 0)
    OS << " donated to result " << Argument.donated_result();
  if (Argument.init_kind() && Argument.init_kind()->size()) {
    OS << " init ";
    quote(Argument.init_kind());
    OS << ' ' << llvm::format("%.17g", Argument.init_value());
  }
  if (Argument.data() && Argument.data()->size()) {
    OS << " data ";
    quote(Argument.data());
  }
  if (Argument.bound())
    OS << " bound " << Argument.bound();
  OS << '\n';
}

void Printer::body(const program::Step &Step) {
  unsigned Number = Step.operands() ? Step.operands()->size() : 0;
  OS << "  body\n";
  for (const program::BodyOp *Op : *Step.body()) {
    OS << "    %" << Number++ << " = ";
    quote(Op->name());
    if (Op->operands() && Op->operands()->size())
      OS << ' ';
    values(Op->operands());
    attributes(Op->attributes());
    OS << " : ";
    type(Op->dtype(), Op->shape());
    OS << '\n';
  }
  OS << "  yields ";
  values(Step.yields());
  OS << '\n';
}

/// The verifier bounds how deep loops lie in loops.
void Printer::loop(const program::Loop &Loop) {
  OS << "loop of " << Loop.carries() << " carries, " << Loop.slices()
     << " slices, " << Loop.bound_bytes() << " bound bytes\n";
  if (Loop.body())
    print(*Loop.body());
  OS << "end of loop\n";
}

void Printer::launch(const program::Launch &Launch) {
  OS << "  launch kernel " << Launch.kernel() << " grid (";
  list(Launch.grid());
  OS << ") block (";
  list(Launch.block());
  OS << ") shared " << Launch.shared_bytes() << " arguments (";
  llvm::StringRef Separator;
  if (Launch.arguments())
    for (const program::KernelArgument *Argument : *Launch.arguments()) {
      OS << Separator;
      Separator = ", ";
      switch (Argument->kind()) {
      case program::ArgumentKind::Tensor:
        OS << '%' << Argument->index();
        break;
      case program::ArgumentKind::Workspace:
        OS << "workspace + " << Argument->int_value();
        break;
      case program::ArgumentKind::Int:
        OS << Argument->int_value();
        break;
      default:
        OS << "unknown kind " << static_cast<int>(Argument->kind());
      }
    }
  OS << ")\n";
}

void Printer::step(unsigned Number, const program::Step &Step) {
  OS << "step " << Number << ": ";
  values(Step.results());
  OS << " = ";
  quote(Step.op());
  OS << ' ';
  values(Step.operands());
  attributes(Step.attributes());
  if (Step.phase() && Step.phase()->size()) {
    OS << " phase ";
    quote(Step.phase());
  }
  if (Step.kernel() != program::KernelKind::Own)
    OS << " kernel " << program::EnumNameKernelKind(Step.kernel());
  if (Step.slices() != 1)
    OS << " slices " << Step.slices();
  if (!Step.deterministic())
    OS << " in any order";
  if (Step.workspace_bytes())
    OS << " workspace " << Step.workspace_bytes() << " at "
       << Step.workspace_offset();
  if (Step.recomputes() >= 0)
    OS << " recomputes step " << Step.recomputes();
  OS << " flops " << llvm::format("%.17g", Step.flops());
  if (Step.location() && Step.location()->size()) {
    OS << " from ";
    quote(Step.location());
  }
  OS << '\n';
  if (Step.body() && Step.body()->size())
    body(Step);
  if (Step.loop())
    loop(*Step.loop());
  if (Step.launches())
    for (const program::Launch *Launch : *Step.launches())
      launch(*Launch);
}

void Printer::plan(const program::Plan &Plan) {
  OS << "plan ";
  quote(Plan.strategy());
  OS << " budget " << Plan.budget_bytes() << " unplanned "
     << Plan.unplanned_peak_bytes() << " predicted "
     << Plan.predicted_peak_bytes() << " smallest found "
     << Plan.smallest_feasible_bytes() << " overhead "
     << llvm::format("%.17g", Plan.predicted_overhead()) << " ms "
     << llvm::format("%.17g", Plan.predicted_ms()) << " recomputed "
     << Plan.recomputed_ops() << '\n';
}

/// Functions have none themselves; a file that says otherwise is no program,
/// and what it says there is not printed.
void Printer::functions(const program::Program &Program) {
  if (!Program.functions() || !Program.functions()->list() || IsFunction)
    return;
  IsFunction = true;
  for (const program::Function *Function : *Program.functions()->list()) {
    OS << "function ";
    quote(Function->name());
    OS << '\n';
    if (Function->program())
      print(*Function->program());
  }
}

void Printer::print(const program::Program &Program) {
  OS << "program version " << Program.version() << " device ";
  quote(Program.device());
  OS << " arch ";
  quote(Program.arch());
  OS << " arena " << Program.arena_bytes() << '\n';
  if (Program.plan())
    plan(*Program.plan());
  unsigned Number = 0;
  if (Program.tensors())
    for (const program::Tensor *Tensor : *Program.tensors())
      tensor(Number++, *Tensor);
  if (Program.arguments())
    for (const program::Argument *Argument : *Program.arguments())
      argument(*Argument);
  if (Program.results())
    for (const program::Result *Result : *Program.results()) {
      OS << "result ";
      quote(Result->name());
      OS << ' ' << program::EnumNameRole(Result->role()) << " %"
         << Result->tensor() << '\n';
    }
  if (Program.constants())
    for (const program::Constant *Constant : *Program.constants())
      OS << "constant %" << Constant->tensor() << " of "
         << (Constant->data() ? Constant->data()->size() : 0) << " bytes\n";
  Number = 0;
  if (Program.steps())
    for (const program::Step *Step : *Program.steps())
      step(Number++, *Step);
  Number = 0;
  if (Program.kernels())
    for (const program::Kernel *Kernel : *Program.kernels()) {
      OS << "kernel " << Number++ << ' ';
      quote(Kernel->name());
      OS << " module " << Kernel->module_() << '\n';
    }
  if (Program.kernels_wait())
    OS << "kernels wait for those before them\n";
  size_t CubinBytes = 0;
  if (Program.modules())
    for (const program::Module *Module : *Program.modules())
      CubinBytes += Module->cubin() ? Module->cubin()->size() : 0;
  OS << "cuda source of "
     << (Program.cuda_source() ? Program.cuda_source()->size() : 0)
     << " bytes, cubins of " << CubinBytes << " bytes\n";
  functions(Program);
}

} // namespace

/// The program in `Bytes`, or null with the reason in `Error`.
static const program::Program *verify(llvm::ArrayRef<uint8_t> Bytes,
                                      std::string &Error) {
  // The smallest buffer holds the root offset and the identifier.
  if (Bytes.size() < 2 * sizeof(uint32_t)) {
    Error = "no program: " + std::to_string(Bytes.size()) + " bytes";
    return nullptr;
  }
  if (!program::ProgramBufferHasIdentifier(Bytes.data())) {
    Error = "no program: the identifier is not 'RMAT'";
    return nullptr;
  }
  // Depth and table limits bound what a hostile file costs.
  fb::Verifier Verifier(Bytes.data(), Bytes.size(), /*max_depth=*/32,
                        /*max_tables=*/10'000'000);
  if (!program::VerifyProgramBuffer(Verifier)) {
    Error = "no program: the bytes are malformed or truncated";
    return nullptr;
  }
  return program::GetProgram(Bytes.data());
}

bool remat::printProgram(llvm::ArrayRef<uint8_t> Bytes, llvm::raw_ostream &OS,
                         std::string &Error) {
  const program::Program *Program = verify(Bytes, Error);
  if (Program)
    Printer(OS).print(*Program);
  return Program != nullptr;
}

/// The kernels of the program, then those of its loops' bodies.
static void printSource(const program::Program &Program,
                        llvm::raw_ostream &OS) {
  if (Program.cuda_source())
    OS << llvm::StringRef(Program.cuda_source()->c_str(),
                          Program.cuda_source()->size());
  if (Program.steps())
    for (const program::Step *Step : *Program.steps())
      if (Step->loop() && Step->loop()->body())
        printSource(*Step->loop()->body(), OS);
}

bool remat::printProgramSource(llvm::ArrayRef<uint8_t> Bytes,
                               llvm::raw_ostream &OS, std::string &Error) {
  const program::Program *Program = verify(Bytes, Error);
  if (Program)
    printSource(*Program, OS);
  return Program != nullptr;
}
