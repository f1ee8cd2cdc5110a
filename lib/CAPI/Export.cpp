//===- Export.cpp - values of a session, as DLPack tensors ----------------===//

#include "Common.h"
#include "DLPack.h"
#include "Session.h"

using namespace remat;
using namespace remat::capi;

namespace {

/// The bytes of a value and what keeps them: a session, or memory of its own.
struct Value {
  std::shared_ptr<SharedSession> Session; ///< of a view
  std::unique_ptr<uint8_t[]> Copy;
  void *Data = nullptr;
  dlpack::Device Device;
  dlpack::DataType Type = {};
  std::vector<int64_t> Shape, Strides;
  uint64_t Flags = 0;
};

/// An exported tensor; `Form` is one of the two structures.
template <typename Form> struct Exported {
  Form Managed = {};
  std::shared_ptr<Value> Of;
};

} // namespace

struct RematTensor_ {
  std::shared_ptr<Value> Of;
};

static dlpack::DataType getDataType(ElementType Type) {
  auto Make = [&](dlpack::TypeCode Code) {
    return dlpack::DataType{Code, uint8_t(8 * getByteWidth(Type)), 1};
  };
  switch (Type) {
  case ElementType::F32:
  case ElementType::F16:
    return Make(dlpack::Float);
  case ElementType::BF16:
    return Make(dlpack::BFloat);
  case ElementType::I32:
  case ElementType::I64:
    return Make(dlpack::Int);
  case ElementType::I1:
    return Make(dlpack::Bool);
  case ElementType::F8E4M3FN:
    return Make(dlpack::Float8E4M3FN);
  }
  return {};
}

/// Shape, strides and type of a tensor of a program.
static std::shared_ptr<Value> makeValue(ElementType Type,
                                        std::vector<int64_t> Shape) {
  auto Made = std::make_shared<Value>();
  Made->Type = getDataType(Type);
  Made->Shape = std::move(Shape);
  Made->Strides.resize(Made->Shape.size());
  int64_t Stride = 1;
  for (size_t I = Made->Shape.size(); I-- > 0; Stride *= Made->Shape[I])
    Made->Strides[I] = Stride;
  return Made;
}

/// The whole of an argument; all ranks do this together.
static RematStatus fillWhole(const RematSession_ &Handle,
                             const std::string &Name, ElementType Type,
                             Value &To) {
  if (runtime::Status Waited = Handle.waitForOthers(); !Waited)
    return makeStatus(Waited);
  uint64_t Bytes = getByteWidth(Type);
  for (int64_t Size : To.Shape)
    Bytes *= uint64_t(Size);
  To.Copy.reset(new uint8_t[Bytes]);
  To.Data = To.Copy.get();
  To.Flags = dlpack::IsCopied;
  return makeStatus(
      readWhole(*Handle.operator->(), Name.c_str(), To.Data, Bytes));
}

static RematStatus fillCopy(const RematSession_ &Handle, RematSide Side,
                            const std::string &Name, uint64_t Bytes,
                            Value &To) {
  if (runtime::Status Waited = Handle.waitForOthers(); !Waited)
    return makeStatus(Waited);
  To.Copy.reset(new uint8_t[Bytes]);
  To.Data = To.Copy.get();
  To.Flags = dlpack::IsCopied;
  return makeStatus(Side == REMAT_ARGUMENT
                        ? Handle->readArgument(Name, To.Data, Bytes)
                        : Handle->readResult(Name, To.Data, Bytes));
}

static RematStatus fillView(const RematSession_ &Handle, RematSide Side,
                            const std::string &Name, Value &To) {
  runtime::Result<void *> Address =
      Handle->getAddress(Name, Side == REMAT_ARGUMENT);
  if (!Address)
    return makeStatus(Address.getError());
  To.Data = *Address;
  To.Session = Handle.Shared;
  if (Handle.Shared->Device->getName() != "host")
    To.Device.Type = dlpack::CUDA;
  if (Side == REMAT_RESULT)
    To.Flags = dlpack::ReadOnly;
  return nullptr;
}

RematStatus rematSessionGetTensor(RematSession Session, RematSide Side,
                                  size_t Number, RematAccess Access,
                                  RematTensor *Tensor) {
  return guard([&]() -> RematStatus {
    if (!Session || !Tensor)
      return makeNullError("session and tensor");
    *Tensor = nullptr;
    const runtime::Program &P = (*Session)->getProgram();
    size_t Count =
        Side == REMAT_ARGUMENT ? P.Arguments.size() : P.Results.size();
    if (Number >= Count)
      return makeNumberError(Side, Number, Count);
    auto [Name, Index] =
        Side == REMAT_ARGUMENT
            ? std::pair(P.Arguments[Number].Name, P.Arguments[Number].Tensor)
            : std::pair(P.Results[Number].Name, P.Results[Number].Tensor);
    const runtime::Tensor &T = P.Tensors[Index];
    bool IsWhole = Access == REMAT_WHOLE && Side == REMAT_ARGUMENT;
    bool IsCut = IsWhole && !P.Arguments[Number].Cuts.empty();
    std::shared_ptr<Value> Made =
        makeValue(T.Type, IsCut ? P.Arguments[Number].Whole : T.Shape);
    RematStatus Failed =
        IsWhole ? fillWhole(*Session, Name, T.Type, *Made)
        : Access == REMAT_COPY
            ? fillCopy(*Session, Side, Name, P.Tensors[Index].Bytes, *Made)
            : fillView(*Session, Side, Name, *Made);
    if (Failed)
      return Failed;
    *Tensor = new RematTensor_{std::move(Made)};
    return nullptr;
  });
}

void rematTensorDestroy(RematTensor Tensor) { delete Tensor; }

void *rematTensorGetData(RematTensor Tensor) {
  return Tensor ? Tensor->Of->Data : nullptr;
}

static dlpack::Tensor describe(Value &Of) {
  dlpack::Tensor T = {};
  T.Data = Of.Data;
  T.Device = Of.Device;
  T.Rank = int32_t(Of.Shape.size());
  T.Type = Of.Type;
  T.Shape = Of.Shape.data();
  T.Strides = Of.Strides.data();
  return T;
}

template <typename Form>
static Form *makeExport(const std::shared_ptr<Value> &Of) {
  auto *Made = new Exported<Form>{{}, Of};
  Made->Managed.Tensor = describe(*Of);
  Made->Managed.Context = Made;
  Made->Managed.Delete = [](Form *Managed) {
    delete static_cast<Exported<Form> *>(Managed->Context);
  };
  return &Made->Managed;
}

RematStatus rematTensorExport(RematTensor Tensor, int Versioned,
                              void **Managed) {
  return guard([&]() -> RematStatus {
    if (!Tensor || !Managed)
      return makeNullError("tensor and managed");
    *Managed = nullptr;
    if (Tensor->Of->Session)
      Tensor->Of->Session->Shown = true;
    if (!Versioned) {
      *Managed = makeExport<dlpack::Managed>(Tensor->Of);
      return nullptr;
    }
    auto *Made = makeExport<dlpack::ManagedVersioned>(Tensor->Of);
    Made->Version = {1, 1};
    Made->Flags = Tensor->Of->Flags;
    *Managed = Made;
    return nullptr;
  });
}
