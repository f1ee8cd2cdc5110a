//===- Convolution.cpp - convolutions by cuDNN ----------------------------===//
//
// Of the plans that cuDNN thinks best, the first that fits the workspace and
// gives the same bits at every run. f32 is computed as f32: no plan rounds its
// factors to fewer bits for the matrix units.
//
//===----------------------------------------------------------------------===//

#include "cuda/Convolution.h"
#include "cuda/CudnnGraph.h"
#include <unordered_map>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

namespace {

enum Id : int64_t { X = 1, Weight, Y };
using TensorPtr = std::shared_ptr<fe::graph::Tensor_attributes>;
using Kind = ConvolutionProblem::Kind;

class CudnnConvolution : public Convolution {
public:
  CudnnConvolution(cudnnHandle_t Handle, const ConvolutionProblem &P)
      : Handle(Handle), P(P) {}

  Status build();
  Status run(const ConvolutionAddresses &Where) override;

private:
  TensorPtr addInput(Id Which, const std::vector<int64_t> &Shape);
  void setOutput(const TensorPtr &T, Id Which,
                 const std::vector<int64_t> &Shape);
  void addOperation();
  Status explain(fe::error_t E) const;

  cudnnHandle_t Handle;
  ConvolutionProblem P;
  fe::graph::Graph Graph;
};

} // namespace

/// cuDNN takes windows over two or three dimensions: over one, a dimension of
/// one element comes before it.
static std::vector<int64_t> widen(std::vector<int64_t> Numbers, size_t Wanted,
                                  int64_t Missing) {
  if (Numbers.size() < Wanted)
    Numbers.insert(Numbers.end() - 1, Missing);
  return Numbers;
}
static std::vector<int64_t> getSizes(const std::vector<int64_t> &Shape) {
  return widen(Shape, 4, 1);
}

/// The order in which dimensions follow each other, the innermost one last, is
/// theirs, or has the channels last.
static std::vector<int64_t> getStrides(const std::vector<int64_t> &Sizes,
                                       bool ChannelsLast) {
  std::vector<int64_t> Strides(Sizes.size(), 1);
  int64_t Stride = ChannelsLast ? Sizes[1] : 1;
  for (size_t I = Sizes.size(); I-- > 0;)
    if (!ChannelsLast || I != 1) {
      Strides[I] = Stride;
      Stride *= Sizes[I];
    }
  return Strides;
}

TensorPtr CudnnConvolution::addInput(Id Which,
                                     const std::vector<int64_t> &Shape) {
  std::vector<int64_t> Sizes = getSizes(Shape);
  return Graph.tensor(
      fe::graph::Tensor_attributes().set_uid(Which).set_dim(Sizes).set_stride(
          getStrides(Sizes, P.ChannelsLast)));
}

void CudnnConvolution::setOutput(const TensorPtr &T, Id Which,
                                 const std::vector<int64_t> &Shape) {
  std::vector<int64_t> Sizes = getSizes(Shape);
  T->set_output(true).set_uid(Which).set_dim(Sizes).set_stride(
      getStrides(Sizes, P.ChannelsLast));
}

/// The same options for each of the three.
template <typename Attributes>
static Attributes getOptions(const ConvolutionProblem &P) {
  return Attributes()
      .set_pre_padding(widen(P.Low, 2, 0))
      .set_post_padding(widen(P.High, 2, 0))
      .set_stride(widen(P.Strides, 2, 1))
      .set_dilation(widen(P.Dilation, 2, 1));
}

void CudnnConvolution::addOperation() {
  switch (P.TheKind) {
  case Kind::Forward:
    return setOutput(
        Graph.conv_fprop(addInput(X, P.X), addInput(Weight, P.Weight),
                         getOptions<fe::graph::Conv_fprop_attributes>(P)),
        Y, P.Y);
  case Kind::InputGrad:
    return setOutput(
        Graph.conv_dgrad(addInput(Y, P.Y), addInput(Weight, P.Weight),
                         getOptions<fe::graph::Conv_dgrad_attributes>(P)),
        X, P.X);
  case Kind::WeightGrad:
    return setOutput(
        Graph.conv_wgrad(addInput(Y, P.Y), addInput(X, P.X),
                         getOptions<fe::graph::Conv_wgrad_attributes>(P)),
        Weight, P.Weight);
  }
}

Status CudnnConvolution::explain(fe::error_t E) const {
  if (E.is_good())
    return {};
  return Error(ErrorCode::Unavailable,
               "cuDNN cannot run " + P.describe() + " in " +
                   std::to_string(P.WorkspaceBytes) +
                   " bytes of workspace: " + E.get_message() +
                   "; compile the program with --attention own");
}

Status CudnnConvolution::build() {
  Graph.set_io_data_type(getCudnnType(P.Type))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  addOperation();
  fe::error_t E = Graph.validate();
  if (E.is_good())
    E = Graph.build_operation_graph(Handle);
  if (E.is_good())
    E = Graph.create_execution_plans(
        {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
  if (E.is_good()) {
    std::vector<fe::NumericalNote_t> Unwanted;
    if (P.Deterministic)
      Unwanted.push_back(fe::NumericalNote_t::NONDETERMINISTIC);
    if (P.Type == DType::F32) {
      Unwanted.push_back(fe::NumericalNote_t::TENSOR_CORE);
      Unwanted.push_back(fe::NumericalNote_t::DOWN_CONVERT_INPUTS);
    }
    Graph.deselect_numeric_notes(Unwanted);
    Graph.deselect_workspace_greater_than(
        static_cast<int64_t>(P.WorkspaceBytes));
    E = Graph.build_plans(Handle, fe::BuildPlanPolicy_t::HEURISTICS_CHOICE);
  }
  return explain(E);
}

Status CudnnConvolution::run(const ConvolutionAddresses &Where) {
  std::unordered_map<int64_t, void *> Tensors = {
      {X, Where.X}, {Weight, Where.Weight}, {Y, Where.Y}};
  try {
    fe::error_t Ran = Graph.execute(Handle, Tensors, Where.Workspace);
    if (Ran.is_bad())
      return Error(ErrorCode::DeviceFailure,
                   P.describe() + " failed: " + Ran.get_message());
  } catch (const std::exception &E) {
    return Error(ErrorCode::DeviceFailure, P.describe() + ": " + E.what());
  }
  return {};
}

Result<std::unique_ptr<Convolution>>
remat::runtime::cuda::makeConvolution(cudnnHandle_t Handle,
                                      const ConvolutionProblem &P) {
  try {
    auto Made = std::make_unique<CudnnConvolution>(Handle, P);
    if (Status Built = Made->build(); !Built)
      return Built.getError();
    return std::unique_ptr<Convolution>(std::move(Made));
  } catch (const std::exception &E) {
    return Error(ErrorCode::Unavailable, P.describe() + ": " + E.what());
  }
}
