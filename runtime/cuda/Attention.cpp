//===- Attention.cpp - attention by cuDNN ---------------------------------===//
//
// A slice of the batch is its own graph with its own plan: each element of the
// batch is computed for itself, so that the number of slices changes the
// workspace and nothing else.
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
      : Handle(Handle), P(P), SliceBatch(P.Batch / P.Slices) {}

  Status build();
  Status run(const AttentionAddresses &Where) override;

private:
  std::vector<int64_t> getStrides(int64_t Rows, bool InQkv) const;
  TensorPtr addInput(Id Which, int64_t Rows, bool InQkv);
  void setOutput(const TensorPtr &T, Id Which, int64_t Rows, bool InQkv);
  TensorPtr addStatistics();
  void addForward();
  void addBackward();

  cudnnHandle_t Handle;
  AttentionProblem P;
  int64_t SliceBatch;
  fe::graph::Graph Graph;
};

} // namespace

static std::string describe(const AttentionProblem &P) {
  return std::string(P.IsBackward ? "attention_backward" : "attention") + " [" +
         std::to_string(P.Batch / P.Slices) + ", " + std::to_string(P.Queries) +
         ", " + std::to_string(P.Heads) + ", " + std::to_string(P.Width) +
         "] with " + std::to_string(P.Keys) + " keys in " +
         std::string(getName(P.Type));
}

/// Strides of cuDNN's order (batch, head, row, element). With `InQkv` the
/// tensor is one of query, key and value or of their gradients, which may lie
/// in one packed tensor.
std::vector<int64_t> CudnnAttention::getStrides(int64_t Rows,
                                                bool InQkv) const {
  int64_t Row = P.Heads * P.Width * (InQkv && P.IsPacked ? 3 : 1);
  return {Rows * Row, P.Width, Row, 1};
}

TensorPtr CudnnAttention::addInput(Id Which, int64_t Rows, bool InQkv) {
  return Graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(Which)
                          .set_dim({SliceBatch, P.Heads, Rows, P.Width})
                          .set_stride(getStrides(Rows, InQkv)));
}

void CudnnAttention::setOutput(const TensorPtr &T, Id Which, int64_t Rows,
                               bool InQkv) {
  T->set_output(true)
      .set_uid(Which)
      .set_dim({SliceBatch, P.Heads, Rows, P.Width})
      .set_stride(getStrides(Rows, InQkv));
}

TensorPtr CudnnAttention::addStatistics() {
  return Graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(Lse)
                          .set_dim({SliceBatch, P.Heads, P.Queries, 1})
                          .set_stride({P.Heads * P.Queries, P.Queries, 1, 1})
                          .set_data_type(fe::DataType_t::FLOAT));
}

void CudnnAttention::addForward() {
  auto Options = fe::graph::SDPA_attributes()
                     .set_name("attention")
                     .set_generate_stats(true)
                     .set_causal_mask(P.IsCausal)
                     .set_attn_scale(static_cast<float>(P.Scale));
  auto [Output, Statistics] =
      Graph.sdpa(addInput(Q, P.Queries, true), addInput(K, P.Keys, true),
                 addInput(V, P.Keys, true), Options);
  setOutput(Output, O, P.Queries, false);
  Statistics->set_output(true)
      .set_uid(Lse)
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim({SliceBatch, P.Heads, P.Queries, 1})
      .set_stride({P.Heads * P.Queries, P.Queries, 1, 1});
}

void CudnnAttention::addBackward() {
  auto Options = fe::graph::SDPA_backward_attributes()
                     .set_name("attention_backward")
                     .set_causal_mask(P.IsCausal)
                     .set_attn_scale(static_cast<float>(P.Scale))
                     .set_deterministic_algorithm(P.Deterministic);
  auto [GradQ, GradK, GradV] = Graph.sdpa_backward(
      addInput(Q, P.Queries, true), addInput(K, P.Keys, true),
      addInput(V, P.Keys, true), addInput(O, P.Queries, false),
      addInput(G, P.Queries, false), addStatistics(), Options);
  setOutput(GradQ, QGrad, P.Queries, true);
  setOutput(GradK, KGrad, P.Keys, true);
  setOutput(GradV, VGrad, P.Keys, true);
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
  uint64_t Width = getByteWidth(P.Type);
  int64_t Query = SliceBatch * P.Queries * P.Heads * P.Width * Width;
  int64_t Key = SliceBatch * P.Keys * P.Heads * P.Width * Width;
  int64_t Packing = P.IsPacked ? 3 : 1;
  int64_t Statistics = SliceBatch * P.Heads * P.Queries * 4;
  for (int64_t Slice = 0; Slice < P.Slices; ++Slice) {
    std::unordered_map<int64_t, void *> Tensors = {
        {Q, Where.Query + Slice * Query * Packing},
        {K, Where.Key + Slice * Key * Packing},
        {V, Where.Value + Slice * Key * Packing},
        {O, Where.Output + Slice * Query},
        {Lse, Where.Lse + Slice * Statistics}};
    if (P.IsBackward) {
      Tensors[G] = Where.Grad + Slice * Query;
      Tensors[QGrad] = Where.QueryGrad + Slice * Query * Packing;
      Tensors[KGrad] = Where.KeyGrad + Slice * Key * Packing;
      Tensors[VGrad] = Where.ValueGrad + Slice * Key * Packing;
    }
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
