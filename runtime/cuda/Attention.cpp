//===- Attention.cpp - attention by cuDNN ---------------------------------===//
//
// A slice of the batch, or of the heads of one of its elements, has a graph
// with a plan of its own: each head is computed for itself, or with those that
// share its keys, so that the number of slices changes the workspace and
// nothing else. A slice's tensors have the strides of the whole ones.
//
//===----------------------------------------------------------------------===//

#include "cuda/Attention.h"
#include "cuda/CudnnGraph.h"
#include <unordered_map>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

namespace {

enum Id : int64_t { Q = 1, K, V, O, Lse, G, QGrad, KGrad, VGrad };
using TensorPtr = std::shared_ptr<fe::graph::Tensor_attributes>;

class CudnnAttention : public Attention {
public:
  CudnnAttention(cudnnHandle_t Handle, const AttentionProblem &P)
      : Handle(Handle), P(P), SliceBatch(P.getSliceBatch()),
        SliceHeads(P.Heads / P.getHeadParts()),
        SliceKeyHeads(P.KeyHeads / P.getHeadParts()) {}

  Status build();
  Status run(const AttentionAddresses &Where) override;

private:
  int64_t getRowStride(Id Which) const;
  std::vector<int64_t> getDims(Id Which) const;
  std::vector<int64_t> getStrides(Id Which) const;
  TensorPtr addInput(Id Which);
  void setOutput(const TensorPtr &T, Id Which);
  TensorPtr addStatistics();
  void addForward();
  void addBackward();

  cudnnHandle_t Handle;
  AttentionProblem P;
  int64_t SliceBatch, SliceHeads, SliceKeyHeads;
  fe::graph::Graph Graph;
};

} // namespace

static std::string describe(const AttentionProblem &P) {
  return std::string(P.IsBackward ? "attention_backward" : "attention") + " [" +
         std::to_string(P.getSliceBatch()) + ", " + std::to_string(P.Queries) +
         ", " + std::to_string(P.Heads / P.getHeadParts()) + ", " +
         std::to_string(P.Width) + "] with " + std::to_string(P.Keys) +
         " keys of " + std::to_string(P.KeyHeads / P.getHeadParts()) +
         " heads in " + std::string(getName(P.Type));
}

/// Keys, values and their gradients, which may have other rows and heads.
static bool isOfKeys(Id Which) {
  return Which == K || Which == V || Which == KGrad || Which == VGrad;
}

/// Elements from row to row. Query, key, value and their gradients may lie in
/// one packed tensor.
int64_t CudnnAttention::getRowStride(Id Which) const {
  bool InQkv = isOfKeys(Which) || Which == Q || Which == QGrad;
  return (isOfKeys(Which) ? P.KeyHeads : P.Heads) * P.Width *
         (InQkv && P.IsPacked ? 3 : 1);
}

/// In cuDNN's order: batch, head, row, element.
std::vector<int64_t> CudnnAttention::getDims(Id Which) const {
  return isOfKeys(Which)
             ? std::vector{SliceBatch, SliceKeyHeads, P.Keys, P.Width}
             : std::vector{SliceBatch, SliceHeads, P.Queries, P.Width};
}

std::vector<int64_t> CudnnAttention::getStrides(Id Which) const {
  int64_t Row = getRowStride(Which);
  return {(isOfKeys(Which) ? P.Keys : P.Queries) * Row, P.Width, Row, 1};
}

TensorPtr CudnnAttention::addInput(Id Which) {
  return Graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(Which)
                          .set_dim(getDims(Which))
                          .set_stride(getStrides(Which)));
}

void CudnnAttention::setOutput(const TensorPtr &T, Id Which) {
  T->set_output(true)
      .set_uid(Which)
      .set_dim(getDims(Which))
      .set_stride(getStrides(Which));
}

/// Those of a slice lie one after the other: cuDNN takes no other layout.
TensorPtr CudnnAttention::addStatistics() {
  return Graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(Lse)
                          .set_dim({SliceBatch, SliceHeads, P.Queries, 1})
                          .set_stride({SliceHeads * P.Queries, P.Queries, 1, 1})
                          .set_data_type(fe::DataType_t::FLOAT));
}

void CudnnAttention::addForward() {
  auto Options = fe::graph::SDPA_attributes()
                     .set_name("attention")
                     .set_generate_stats(true)
                     .set_causal_mask(P.IsCausal)
                     .set_attn_scale(static_cast<float>(P.Scale));
  if (P.Window)
    Options.set_diagonal_band_left_bound(static_cast<int>(P.Window));
  auto [Output, Statistics] =
      Graph.sdpa(addInput(Q), addInput(K), addInput(V), Options);
  setOutput(Output, O);
  Statistics->set_output(true)
      .set_uid(Lse)
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim({SliceBatch, SliceHeads, P.Queries, 1})
      .set_stride({SliceHeads * P.Queries, P.Queries, 1, 1});
}

void CudnnAttention::addBackward() {
  auto Options = fe::graph::SDPA_backward_attributes()
                     .set_name("attention_backward")
                     .set_causal_mask(P.IsCausal)
                     .set_attn_scale(static_cast<float>(P.Scale))
                     .set_deterministic_algorithm(P.Deterministic);
  if (P.Window)
    Options.set_diagonal_band_left_bound(static_cast<int>(P.Window));
  auto [GradQ, GradK, GradV] =
      Graph.sdpa_backward(addInput(Q), addInput(K), addInput(V), addInput(O),
                          addInput(G), addStatistics(), Options);
  setOutput(GradQ, QGrad);
  setOutput(GradK, KGrad);
  setOutput(GradV, VGrad);
}

Status CudnnAttention::build() {
  Graph.set_io_data_type(getCudnnType(P.Type))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  if (P.IsBackward)
    addBackward();
  else
    addForward();
  fe::error_t Built = Graph.build(Handle, {fe::HeurMode_t::A});
  if (Built.is_bad())
    return Error(ErrorCode::Unavailable, "cuDNN cannot run " + describe(P) +
                                             ": " + Built.get_message());
  int64_t Needed = 0;
  if (fe::error_t E = Graph.get_workspace_size(Needed); E.is_bad())
    return Error(ErrorCode::Unavailable, E.get_message());
  if (static_cast<uint64_t>(Needed) > P.WorkspaceBytes)
    return Error(ErrorCode::Unavailable,
                 "cuDNN asks for " + std::to_string(Needed) +
                     " bytes of workspace for " + describe(P) +
                     ", the program has " + std::to_string(P.WorkspaceBytes) +
                     "; compile it with own attention kernels");
  return {};
}

Status CudnnAttention::run(const AttentionAddresses &Where) {
  int64_t Parts = P.getHeadParts();
  for (int64_t Slice = 0; Slice < P.Slices; ++Slice) {
    int64_t Batch = Slice / Parts * SliceBatch, Part = Slice % Parts;
    auto Place = [&](Id Which, char *Whole) -> std::pair<int64_t, void *> {
      int64_t Head = Part * (isOfKeys(Which) ? SliceKeyHeads : SliceHeads);
      int64_t Elements = Batch * getStrides(Which)[0] + Head * P.Width;
      return {Which, Whole + Elements * getByteWidth(P.Type)};
    };
    int64_t Rows = (Batch * P.Heads + Part * SliceHeads) * P.Queries;
    std::unordered_map<int64_t, void *> Tensors = {Place(Q, Where.Query),
                                                   Place(K, Where.Key),
                                                   Place(V, Where.Value),
                                                   Place(O, Where.Output),
                                                   {Lse, Where.Lse + Rows * 4}};
    if (P.IsBackward)
      Tensors.insert({Place(G, Where.Grad), Place(QGrad, Where.QueryGrad),
                      Place(KGrad, Where.KeyGrad),
                      Place(VGrad, Where.ValueGrad)});
    try {
      fe::error_t Ran = Graph.execute(Handle, Tensors, Where.Workspace);
      if (Ran.is_bad())
        return Error(ErrorCode::DeviceFailure,
                     describe(P) + " failed: " + Ran.get_message());
    } catch (const std::exception &E) {
      return Error(ErrorCode::DeviceFailure, describe(P) + ": " + E.what());
    }
  }
  return {};
}

Result<std::unique_ptr<Attention>>
remat::runtime::cuda::makeAttention(cudnnHandle_t Handle,
                                    const AttentionProblem &P) {
  try {
    auto Made = std::make_unique<CudnnAttention>(Handle, P);
    if (Status Built = Made->build(); !Built)
      return Built.getError();
    return std::unique_ptr<Attention>(std::move(Made));
  } catch (const std::exception &E) {
    return Error(ErrorCode::Unavailable, describe(P) + ": " + E.what());
  }
}
