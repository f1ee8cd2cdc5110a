//===- PointwiseSums.cpp - sums of what printed kernels store -------------===//

#include "PointwiseSums.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

PointwiseSums::PointwiseSums(Operation *Op) {
  auto Kernel = dyn_cast<KernelOp>(Op);
  if (!Kernel)
    return;
  ValueRange Yielded = Kernel.getBody().front().getTerminator()->getOperands();
  int64_t Partials = 0;
  for (unsigned I = 0; I < Kernel.getNumResults(); ++I) {
    Operation *Made = Kernel.getSum(I);
    if (!Made)
      continue;
    auto Summed = llvm::find(Yielded, Made->getOperand(0));
    unsigned Number = std::distance(Yielded.begin(), Summed);
    Plan = getSumPlan(Made);
    Sums.push_back({Made, I, Number, Partials});
    Partials += Plan.getPartials() * 4;
  }
}

bool PointwiseSums::isSum(unsigned Result) const {
  return llvm::any_of(Sums, [&](const Sum &S) { return S.Result == Result; });
}

std::string PointwiseSums::getType(const Sum &S) const {
  if (isJoined())
    return "float";
  return getTypeName(getElementTypeOrSelf(S.Op->getResult(0))).str();
}

static int64_t getTiles(const ReducePlan &Plan, int64_t Width) {
  return llvm::divideCeil(Plan.Inner, 32 * Width);
}

int64_t PointwiseSums::getBlocks(int64_t Width) const {
  return getTiles(Plan, Width) * Plan.Chunks;
}

/// Statements that load the next runs from element `From` on.
static std::string printNext(ArrayRef<PointwiseSums::Ahead> Loaded,
                             int64_t Width, StringRef From) {
  std::string Text;
  for (const PointwiseSums::Ahead &A : Loaded)
    Text += llvm::formatv("    next{0} = Run<{1}, {2}>(in{0} + {3});\n",
                          A.Number, A.Type, Width, From);
  return Text;
}

std::string PointwiseSums::printBegin(int64_t Width, StringRef Index,
                                      ArrayRef<Ahead> Loaded) const {
  int64_t Part = llvm::divideCeil(Plan.Reduced, Plan.Chunks);
  std::string Text = llvm::formatv(
      R"(  uint32 lane = threadIdx.x % 32u, part = threadIdx.x / 32u;
  {0} column = ({0})(blockIdx.x % {1}u * 32u + lane) * {2};
  {0} row = ({0})(blockIdx.x / {1}u) * {3}, end = row + {3};
  if (end > {4})
    end = {4};
)",
      Index, getTiles(Plan, Width), Width, Part, Plan.Reduced);
  for (const Sum &S : Sums)
    Text += llvm::formatv("  float sum{0}[{1}] = {{};\n", S.Result, Width);
  for (const Ahead &A : Loaded)
    Text +=
        llvm::formatv("  Run<{0}, {1}> next{2};\n", A.Type, Width, A.Number);
  Text += "  row += part;\n";
  if (!Loaded.empty())
    Text += llvm::formatv(
        "  if (column < {0} && row < end) {{\n{1}  }\n", Plan.Inner,
        printNext(Loaded, Width,
                  llvm::formatv("(row * {0} + column)", Plan.Inner).str()));
  Text += llvm::formatv(R"(  if (column < {0})
#pragma unroll 2
  for (; row < end; row += 8) {{
  {1} i = row * {0} + column;
)",
                        Plan.Inner, Index);
  for (const Ahead &A : Loaded)
    Text += llvm::formatv("  Run<{0}, {1}> run{2} = next{2};\n", A.Type, Width,
                          A.Number);
  if (!Loaded.empty())
    Text += llvm::formatv(
        "  if (row + 8 < end) {{\n{0}  }\n",
        printNext(Loaded, Width,
                  llvm::formatv("(i + {0})", 8 * Plan.Inner).str()));
  return Text;
}

std::string PointwiseSums::printAdd(unsigned Result, StringRef Place,
                                    StringRef Value) const {
  std::string Text;
  for (const Sum &S : Sums)
    if (S.Summed == Result)
      Text +=
          llvm::formatv("    sum{0}[{1}] += {2};\n", S.Result, Place, Value);
  return Text;
}

std::string PointwiseSums::printEnd(int64_t Width) const {
  std::string Text = llvm::formatv(R"(  }
  __shared__ float totals[8][{0}];
)",
                                   32 * Width);
  for (const Sum &S : Sums) {
    std::string Place = "column + k", Total = "total";
    if (isJoined())
      Place = llvm::formatv("(int64)(blockIdx.x / {0}u) * {1} + column + k",
                            getTiles(Plan, Width), Plan.Inner);
    else
      Total = "fromFloat<" + getType(S) + ">(total)";
    Text += llvm::formatv(R"(  __syncthreads();
  for (int k = 0; k < {0}; ++k)
    totals[part][k * 32 + lane] = sum{1}[k];
  __syncthreads();
  if (part == 0 && column < {2})
    for (int k = 0; k < {0}; ++k) {{
      float total = totals[0][k * 32 + lane];
      for (int p = 1; p < 8; ++p)
        total += totals[p][k * 32 + lane];
      out{1}[{3}] = {4};
    }
)",
                          Width, S.Result, Plan.Inner, Place, Total);
  }
  return Text;
}

void PointwiseSums::addParameters(SmallVectorImpl<std::string> &Parameters,
                                  std::vector<Argument> &Arguments) const {
  for (const Sum &S : Sums) {
    Parameters.push_back(getType(S) + " *out" + std::to_string(S.Result));
    Arguments.push_back(isJoined()
                            ? Argument{Argument::Kind::Workspace, 0, S.Partials}
                            : Argument{Argument::Kind::Result, S.Result});
  }
}

void PointwiseSums::addJoins(SmallVectorImpl<Launch> &Launches) const {
  if (isJoined())
    for (const Sum &S : Sums)
      addSumJoin(S.Op, S.Result, S.Partials, Launches);
}
