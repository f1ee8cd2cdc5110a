//===- Program.h - a verified program ---------------------------*- C++ -*-===//
//
// The runtime's own form of the program format (runtime/Program/Program.fbs).
// A Program exists only if every check has passed:
//  - the bytes are well formed and of this version;
//  - every index is in range; every tensor, view and workspace lies inside the
//    arena (64-bit arithmetic, no overflow);
//  - every op is known, with the right operands, results, attributes, element
//    types and shapes, so that no kernel can reach outside its operands;
//  - a result shares bytes with an operand only where the op works in place,
//    and then exactly; the results of a step share none with each other;
//  - whatever a step reads was written, and nothing overwrote it in between;
//  - constants, and arguments that are not donated, are intact at the end
//    (inputs: or are marked to be given anew for each step);
//  - the body of a loop is such a program itself, and reaches nothing but its
//    step's operands, results and workspace;
//  - each function beside the program's own steps is such a program itself, has
//    all that survives a step as arguments at the same bytes, and writes none.
// So devices need not check a Program again.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_PROGRAM_H
#define REMAT_RUNTIME_PROGRAM_H

#include "remat/Support/ElementTypes.h"
#include "remat/runtime/Pool.h"
#include "remat/runtime/Result.h"
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remat::runtime {

using DType = ElementType;
using remat::ElementKind;
using remat::NumElementTypes;

enum class Role : uint8_t {
  Parameter,
  Input,
  State,
  Seed,
  Step,
  LearningRate,
  Loss,
  Output,
  Gradient,
  Temporary
};

/// Who runs a step: the project's own code or a library.
enum class KernelKind : uint8_t { Own, CublasLt, Cudnn, Nccl };

/// The operand number of an optional operand that is not there.
inline constexpr uint32_t NoTensor = 0xffffffff;

/// Tensors have no more dimensions.
inline constexpr size_t MaxRank = 64;

/// The text of a type as graphs have it: "tensor<2x3xf32>".
std::string describeTensor(std::string_view Element,
                           std::span<const int64_t> Shape);

/// A contiguous row-major run of the arena. Dimensions are at least 1.
struct Tensor {
  DType Type = DType::F32;
  std::vector<int64_t> Shape;
  uint64_t Offset = 0; ///< from the arena's begin; a multiple of 256 unless it
                       ///< is a view, then of the element's bytes
  uint64_t Bytes = 0;  ///< elements * byte width
  int64_t NumElements = 0;
  MemoryClass Class = MemoryClass::Temporaries;
  std::string Name;
  /// The step that wrote these bytes (of the base, for a view) and the last one
  /// that needs them, found by the verifier, not taken from the file. -1 and
  /// number of steps: before the first, and to the end.
  int64_t FirstStep = -1, LastStep = -1;
  bool IsView = false;
  bool InHalves = false; ///< of f32; see Program.fbs
};

struct Attribute {
  std::string Name;
  std::vector<int64_t> Ints;
  std::vector<double> Floats;
  std::string Text;
};

/// Attributes by name. A missing one gives the default.
class AttributeList {
public:
  AttributeList() = default;
  explicit AttributeList(std::vector<Attribute> List) : List(std::move(List)) {}

  const Attribute *find(std::string_view Name) const;
  bool getFlag(std::string_view Name) const; ///< ints = [nonzero]
  int64_t getInt(std::string_view Name, int64_t Default) const;
  double getFloat(std::string_view Name, double Default) const;
  std::string_view getText(std::string_view Name) const; ///< "" if missing
  std::span<const int64_t> getInts(std::string_view Name) const;
  const std::vector<Attribute> &getList() const { return List; }

private:
  std::vector<Attribute> List;
};

/// An op inside a fused kernel; see Program.fbs for value numbers.
struct BodyOp {
  std::string Name;
  std::vector<uint32_t> Operands;
  AttributeList Attributes;
  DType Type = DType::F32;
  std::vector<int64_t> Shape;
};

struct KernelArgument {
  enum class Kind : uint8_t { Tensor, Workspace, Int };
  Kind Kind = Kind::Tensor;
  uint32_t Index = 0;
  int64_t Int = 0;
};

/// One launch of a compiled kernel (CUDA).
struct Launch {
  uint32_t Kernel = 0;
  std::array<uint32_t, 3> Grid = {1, 1, 1}, Block = {1, 1, 1};
  uint32_t SharedBytes = 0;
  std::vector<KernelArgument> Arguments;
};

/// A run of bytes of the arena.
struct ByteRange {
  uint64_t Offset = 0, Bytes = 0;
};

struct Program;

/// A run of bytes that an argument of a loop's body stands for.
struct LoopSlot {
  uint64_t Offset = 0, Bytes = 0; ///< in the body's arena
  bool IsResult = false; ///< of the results of the step, else of its operands
  uint32_t Number = 0;   ///< which of them
  bool IsRow = false;    ///< a row of it, else all of it
  bool IsCopied = false; ///< it lies in the workspace
};

/// The body of a step of "scan"; see Program.fbs.
struct Loop {
  std::shared_ptr<Program> Body;
  uint32_t Carries = 0, Slices = 0;
  uint64_t BoundBytes = 0;
  /// One for each argument of the body, found by the verifier, in order.
  std::vector<LoopSlot> Slots;
};

struct Step {
  std::string Op;
  std::vector<uint32_t> Operands; ///< tensor numbers or NoTensor
  std::vector<uint32_t> Results;
  AttributeList Attributes;
  std::vector<BodyOp> Body;
  std::vector<uint32_t> Yields;
  ByteRange Workspace;
  KernelKind Kernel = KernelKind::Own;
  int32_t Slices = 1;          ///< of Cudnn: equal parts
  bool IsDeterministic = true; ///< false: of Cudnn, adds in any order
  std::string Location, Phase; ///< a phase of "" is the forward
  std::vector<Launch> Launches;
  int32_t Recomputes = -1;
  double Flops = 0;
  std::shared_ptr<Loop> TheLoop; ///< of "scan"
  /// Bytes that hold nothing any more once this step is done: what a device
  /// poisons when it is asked to.
  std::vector<ByteRange> Freed;

  /// Whether there is such an operand: one that may be missing is NoTensor, or
  /// left out at the end.
  bool hasOperand(size_t Number) const {
    return Number < Operands.size() && Operands[Number] != NoTensor;
  }
  /// "forward", "backward" or "optimizer"; ends with a zero.
  std::string_view getPhase() const {
    return Phase.empty() ? std::string_view("forward") : Phase;
  }
};

/// How a rank's part lies in a tensor that several ranks hold; see Program.fbs.
struct Cut {
  int32_t Dim = -1; ///< -1: of the flattened and padded tensor
  std::vector<int64_t> Group;
  int64_t Blocks = 1; ///< equal ones, side by side, each of which is cut
};

struct Argument {
  std::string Name;
  Role Role = Role::Input;
  uint32_t Tensor = 0;
  int32_t DonatedResult = -1; ///< this result replaces it at each step
  std::string InitKind;       ///< "constant", "normal", "uniform" or ""
  double InitValue = 0;
  std::string Data; ///< "tokens", "targets" or ""
  int64_t Bound = 0;
  std::vector<int64_t> Whole; ///< the shape before `Cuts`, where there are some
  std::vector<Cut> Cuts;
  /// Its bytes still hold it after a step. False only for inputs, which are
  /// then written before each step.
  bool Survives = true;
};

struct ProgramResult {
  std::string Name;
  Role Role = Role::Output;
  uint32_t Tensor = 0;
};

/// An axis along which ranks are numbered.
struct MeshAxis {
  std::string Name;
  uint32_t Size = 1;
  bool operator==(const MeshAxis &) const = default;
};

/// Ranks of a program, at most.
inline constexpr uint32_t MaxRanks = 65536;

struct Constant {
  uint32_t Tensor = 0;
  std::vector<uint8_t> Data;
};

/// The compiler's promises, as written in the file.
struct PlanSummary {
  std::string Strategy;
  int64_t BudgetBytes = -1; ///< -1: unlimited
  int64_t UnplannedPeakBytes = 0, PredictedPeakBytes = 0;
  int64_t SmallestFeasibleBytes = 0;
  double PredictedOverhead = 0, PredictedMs = 0;
  int32_t RecomputedOps = 0;
};

/// An entry of one of the program's cubins.
struct Kernel {
  std::string Name;
  uint32_t Module = 0; ///< index into Cubins
};

/// What runs between two runs of a program's own steps, over the same arena.
struct ProgramFunction {
  std::string Name;
  std::shared_ptr<const Program> Body; ///< has no functions
};

struct Program {
  std::string Device, Arch;
  uint64_t ArenaBytes = 0; ///< the largest of it and its functions
  std::vector<Tensor> Tensors;
  std::vector<Argument> Arguments;
  std::vector<ProgramResult> Results;
  std::vector<Constant> Constants;
  std::vector<Step> Steps;
  std::vector<Kernel> Kernels;
  std::string CudaSource;
  std::vector<std::vector<uint8_t>> Cubins; ///< empty: the text only
  bool KernelsWait = false; ///< each by itself for those before it
  PlanSummary Plan;
  std::vector<ProgramFunction> Functions;
  std::vector<MeshAxis> Mesh; ///< empty: one rank
  /// Bytes that hold nothing before the first step.
  std::vector<ByteRange> UnusedAtStart;

  /// Reads and verifies untrusted bytes; they are not kept. InvalidProgram
  /// names the step, the tensor and both numbers.
  static Result<std::shared_ptr<const Program>>
  load(std::span<const uint8_t> Bytes);

  /// Whether no step adds in another order at each run, the bodies of loops
  /// included.
  bool isDeterministic() const;

  /// How many processes run it side by side.
  uint32_t getNumRanks() const;

  /// Indices by name, or nothing.
  std::optional<uint32_t> findArgument(std::string_view Name) const;
  std::optional<uint32_t> findResult(std::string_view Name) const;
  std::optional<uint32_t> findFunction(std::string_view Name) const;

  /// What people call what a step makes: the name of its first result; nothing
  /// where it has none.
  std::optional<std::string_view> getResultName(const Step &S) const {
    if (S.Results.empty())
      return std::nullopt;
    return Tensors[S.Results.front()].Name;
  }

  /// Bytes by class that are live before the first step (entry 0), while each
  /// step runs (entry step + 1), and at the end.
  using ClassBytes = std::array<uint64_t, NumMemoryClasses>;
  std::vector<ClassBytes> getLiveBytes() const;

  /// Bytes by class while the step with the most live bytes runs, and that
  /// step. The sum of live bytes is at most ArenaBytes; the rest is slack.
  struct PeakProfile {
    int64_t Step = -1;
    uint64_t LiveBytes = 0;
    ClassBytes BytesByClass = {};
  };
  PeakProfile getPeakProfile() const;
};

/// Whether a step reads the bytes of an argument, or a view of them. The
/// argument survives a step.
bool readsArgument(const Program &Program, uint32_t Argument);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_PROGRAM_H
