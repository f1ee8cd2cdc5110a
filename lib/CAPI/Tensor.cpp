//===- Tensor.cpp - what a program's tensors are --------------------------===//

#include "Common.h"

using namespace remat;
using namespace remat::capi;

// The C interface's numbers are the runtime's.
static_assert(int(runtime::Role::Parameter) == REMAT_ROLE_PARAMETER &&
              int(runtime::Role::Input) == REMAT_ROLE_INPUT &&
              int(runtime::Role::State) == REMAT_ROLE_STATE &&
              int(runtime::Role::Seed) == REMAT_ROLE_SEED &&
              int(runtime::Role::Step) == REMAT_ROLE_STEP &&
              int(runtime::Role::LearningRate) == REMAT_ROLE_LEARNING_RATE &&
              int(runtime::Role::Loss) == REMAT_ROLE_LOSS &&
              int(runtime::Role::Output) == REMAT_ROLE_OUTPUT &&
              int(runtime::Role::Gradient) == REMAT_ROLE_GRADIENT);
static_assert(int(ElementType::F32) == REMAT_TYPE_F32 &&
              int(ElementType::BF16) == REMAT_TYPE_BF16 &&
              int(ElementType::F16) == REMAT_TYPE_F16 &&
              int(ElementType::I32) == REMAT_TYPE_I32 &&
              int(ElementType::I64) == REMAT_TYPE_I64 &&
              int(ElementType::I1) == REMAT_TYPE_I1 &&
              int(ElementType::F8E4M3FN) == REMAT_TYPE_F8E4M3FN &&
              NumElementTypes == REMAT_TYPE_F8E4M3FN + 1);

RematStatus capi::makeNumberError(RematSide Side, size_t Number, size_t Count) {
  return makeStatus(REMAT_ERROR,
                    std::string("there is no ") +
                        (Side == REMAT_ARGUMENT ? "argument #" : "result #") +
                        std::to_string(Number) + ": the program has " +
                        std::to_string(Count));
}

RematTensorInfo capi::describe(const runtime::Program &P, RematSide Side,
                               size_t Number) {
  RematTensorInfo Info = {};
  auto Fill = [&](const auto &Value) {
    const runtime::Tensor &T = P.Tensors[Value.Tensor];
    Info.name = Value.Name.c_str();
    Info.role = RematRole(Value.Role);
    Info.type = RematType(T.Type);
    Info.rank = T.Shape.size();
    Info.shape = T.Shape.data();
    Info.bytes = T.Bytes;
    Info.in_halves = T.InHalves;
    Info.result = -1;
    Info.whole_rank = Info.rank;
    Info.whole_shape = Info.shape;
  };
  if (Side == REMAT_ARGUMENT) {
    Fill(P.Arguments[Number]);
    Info.result = P.Arguments[Number].DonatedResult;
    Info.survives = P.Arguments[Number].Survives;
    if (const auto &A = P.Arguments[Number]; !A.Cuts.empty()) {
      Info.whole_rank = A.Whole.size();
      Info.whole_shape = A.Whole.data();
    }
  } else {
    Fill(P.Results[Number]);
  }
  return Info;
}
