//===- ProgramMutator.cpp - changes the fields of programs ----------------===//

#include "ProgramMutator.h"
#include <cmath>

using namespace remat;
using namespace remat::fuzz;

static int64_t drawNumber(Random &R) {
  const int64_t Odd[] = {0,         1,         2,         3,
                         -1,        8,         64,        256,
                         INT32_MAX, INT64_MAX, INT64_MIN, int64_t(1) << 32};
  return R.draw(3) ? R.pick(Odd) : static_cast<int64_t>(R.draw(4096));
}

static std::string drawName(Random &R) {
  const char *Names[] = {"neg",     "add",        "matmul",    "reduce",
                         "softmax", "kernel",     "slice",     "transpose",
                         "adamw",   "sgd",        "attention", "layer_norm",
                         "concat",  "pad",        "embedding", "constant",
                         "random",  "select",     "cast",      "",
                         "sum",     "max",        "normal",    "value",
                         "copy",    "join_halves"};
  return R.pick(Names);
}

static void mutateAttribute(program::AttributeT &A, Random &R) {
  if (!A.ints.empty())
    R.pick(A.ints) = drawNumber(R);
  else if (!A.floats.empty()) {
    const double Odd[] = {0.0, -1.0, 1e300, HUGE_VAL, NAN, 0.5};
    R.pick(A.floats) = R.oneIn(2) ? R.pick(Odd) : double(drawNumber(R));
  } else
    A.text = drawName(R);
}

static void mutateTensor(program::TensorT &T, Random &R) {
  int64_t Number = drawNumber(R);
  switch (R.draw(5)) {
  case 0:
    T.offset = static_cast<uint64_t>(Number) * (R.draw(2) ? 256 : 1);
    break;
  case 1:
    if (!T.shape.empty())
      R.pick(T.shape) = Number;
    break;
  case 2:
    T.dtype = static_cast<program::DType>(R.draw(6));
    break;
  case 3:
    T.in_halves = !T.in_halves;
    break;
  default:
    T.shape.insert(T.shape.begin(), 1);
  }
}

static void mutateBody(program::StepT &S, Random &R) {
  if (S.body.empty())
    return;
  program::BodyOpT &B = *R.pick(S.body);
  if (R.draw(2) && !B.operands.empty())
    R.pick(B.operands) = static_cast<uint32_t>(R.draw(8));
  else if (R.draw(2) && !B.attributes.empty())
    mutateAttribute(*R.pick(B.attributes), R);
  else if (R.draw(2))
    B.name = drawName(R);
  else
    B.shape = R.pick(S.body)->shape;
}

static void mutateStep(program::StepT &S, uint64_t Tensors, Random &R) {
  switch (R.draw(7)) {
  case 0:
    if (!S.operands.empty())
      R.pick(S.operands) = static_cast<uint32_t>(R.draw(Tensors + 1));
    break;
  case 1:
    if (!S.results.empty())
      R.pick(S.results) = static_cast<uint32_t>(R.draw(Tensors));
    break;
  case 2:
    S.op = drawName(R);
    break;
  case 3:
    if (!S.attributes.empty())
      mutateAttribute(*R.pick(S.attributes), R);
    break;
  case 4:
    S.workspace_bytes = static_cast<uint64_t>(drawNumber(R));
    S.workspace_offset = 256 * R.draw(8);
    break;
  case 5:
    if (!S.attributes.empty())
      S.attributes.erase(S.attributes.begin() +
                         static_cast<ptrdiff_t>(R.draw(S.attributes.size())));
    break;
  default:
    mutateBody(S, R);
  }
}

static void mutateArgument(program::ArgumentT &A, Random &R) {
  switch (R.draw(4)) {
  case 0:
    A.donated_result = static_cast<int32_t>(R.draw(4)) - 1;
    break;
  case 1:
    A.role = static_cast<program::Role>(R.draw(10));
    break;
  case 2:
    A.bound = drawNumber(R);
    break;
  default:
    A.init_value = double(drawNumber(R));
  }
}

/// Of a program with functions, half of the changes are of one of these.
static bool mutateFunction(program::ProgramT &P, Random &R) {
  if (!P.functions || P.functions->list.empty() || R.draw(2))
    return false;
  program::FunctionT &F = *R.pick(P.functions->list);
  if (F.program && R.draw(8))
    fuzz::mutateField(*F.program, R);
  else
    F.name = drawName(R);
  return true;
}

void fuzz::mutateField(program::ProgramT &P, Random &R) {
  if (mutateFunction(P, R))
    return;
  switch (R.draw(8)) {
  case 0:
  case 1:
    if (!P.tensors.empty())
      mutateTensor(*R.pick(P.tensors), R);
    break;
  case 2:
    if (!P.arguments.empty())
      mutateArgument(*R.pick(P.arguments), R);
    break;
  case 3:
    if (!P.steps.empty())
      std::swap(R.pick(P.steps), R.pick(P.steps));
    break;
  case 4:
    if (!P.constants.empty() && R.draw(2))
      R.pick(P.constants)->data.push_back(0);
    else if (!P.results.empty())
      R.pick(P.results)->tensor =
          static_cast<uint32_t>(R.draw(P.tensors.size() + 1));
    break;
  default:
    if (!P.steps.empty())
      mutateStep(*R.pick(P.steps), P.tensors.size(), R);
  }
}

template <typename T> static bool isAligned(const flatbuffers::Vector<T> *V) {
  return !V || reinterpret_cast<uintptr_t>(V->Data()) % alignof(T) == 0;
}

static bool areAligned(
    const flatbuffers::Vector<flatbuffers::Offset<program::Attribute>> *List) {
  for (unsigned I = 0; List && I < List->size(); ++I)
    if (!isAligned(List->Get(I)->ints()) || !isAligned(List->Get(I)->floats()))
      return false;
  return true;
}

static std::vector<const program::Program *>
getFunctions(const program::Program &P) {
  std::vector<const program::Program *> All;
  if (P.functions() && P.functions()->list())
    for (const program::Function *F : *P.functions()->list())
      if (F->program())
        All.push_back(F->program());
  return All;
}

/// Whether all numbers of eight bytes are aligned: the verifier of the bytes
/// does not ask, and what unpacks them relies on it.
static bool isAligned(const program::Program &P) {
  for (unsigned I = 0; P.tensors() && I < P.tensors()->size(); ++I)
    if (!isAligned(P.tensors()->Get(I)->shape()))
      return false;
  for (unsigned I = 0; P.steps() && I < P.steps()->size(); ++I) {
    const program::Step &S = *P.steps()->Get(I);
    if (!areAligned(S.attributes()))
      return false;
    for (unsigned J = 0; S.body() && J < S.body()->size(); ++J)
      if (const program::BodyOp &B = *S.body()->Get(J);
          !isAligned(B.shape()) || !areAligned(B.attributes()))
        return false;
  }
  for (const program::Program *F : getFunctions(P))
    if (!isAligned(*F))
      return false;
  return true;
}

void fuzz::mutateProgram(std::string &Input, Random &R) {
  flatbuffers::Verifier Verifier(
      reinterpret_cast<const uint8_t *>(Input.data()), Input.size(), 16, 10000);
  if (R.oneIn(6) || !program::VerifyProgramBuffer(Verifier) ||
      !isAligned(*program::GetProgram(Input.data()))) {
    if (!Input.empty())
      Input[R.draw(Input.size())] = static_cast<char>(R.draw(256));
    return;
  }
  program::ProgramT Program;
  program::GetProgram(Input.data())->UnPackTo(&Program);
  mutateField(Program, R);
  flatbuffers::FlatBufferBuilder Buffer;
  program::FinishProgramBuffer(Buffer,
                               program::Program::Pack(Buffer, &Program));
  Input.assign(reinterpret_cast<const char *>(Buffer.GetBufferPointer()),
               Buffer.GetSize());
}
