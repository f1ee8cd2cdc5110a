//===- ConvolutionProblem.cpp - what a step asks of cuDNN -----------------===//

#include "cuda/Convolution.h"
#include <algorithm>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

bool ConvolutionProblem::isConvolution(std::string_view Op) {
  return Op == "convolution" || Op == "convolution_input_grad" ||
         Op == "convolution_weight_grad";
}

ConvolutionProblem ConvolutionProblem::of(const Program &P, const Step &S) {
  ConvolutionProblem Out;
  const Tensor &First = P.Tensors[S.Operands[0]],
               &Second = P.Tensors[S.Operands[1]],
               &Result = P.Tensors[S.Results[0]];
  Out.Type = Result.Type;
  Out.X = First.Shape;
  Out.Weight = Second.Shape;
  Out.Y = Result.Shape;
  if (S.Op == "convolution_input_grad") {
    Out.TheKind = Kind::InputGrad;
    std::swap(Out.X, Out.Y);
  } else if (S.Op == "convolution_weight_grad") {
    Out.TheKind = Kind::WeightGrad;
    Out.Y = First.Shape;
    Out.X = Second.Shape;
    Out.Weight = Result.Shape;
  }
  auto Get = [&](std::string_view Name) {
    std::span<const int64_t> Entries = S.Attributes.getInts(Name);
    return std::vector<int64_t>(Entries.begin(), Entries.end());
  };
  Out.Strides = Get("strides");
  Out.Low = Get("low");
  Out.High = Get("high");
  Out.Dilation = Get("dilation");
  Out.ChannelsLast = S.Attributes.getFlag("channels_last");
  if (Out.ChannelsLast)
    for (std::vector<int64_t> *Sizes : {&Out.X, &Out.Weight, &Out.Y})
      std::rotate(Sizes->begin() + 1, Sizes->end() - 1, Sizes->end());
  Out.WorkspaceBytes = S.Workspace.Bytes;
  Out.Deterministic = S.IsDeterministic;
  return Out;
}

static std::string join(const std::vector<int64_t> &Numbers) {
  std::string Text = "[";
  for (size_t I = 0; I < Numbers.size(); ++I)
    Text += (I ? ", " : "") + std::to_string(Numbers[I]);
  return Text + "]";
}

std::string ConvolutionProblem::getKey() const {
  std::string Key(getName(Type));
  Key += " " + std::to_string(static_cast<int>(TheKind));
  for (const auto *List : {&X, &Weight, &Y, &Strides, &Low, &High, &Dilation})
    Key += " " + join(*List);
  return Key + (Deterministic ? " 1 " : " 0 ") + (ChannelsLast ? "1 " : "0 ") +
         std::to_string(WorkspaceBytes);
}

std::string ConvolutionProblem::describe() const {
  static constexpr const char *Names[] = {
      "convolution", "convolution_input_grad", "convolution_weight_grad"};
  return std::string(Names[static_cast<int>(TheKind)]) + " of " + join(X) +
         " with " + join(Weight) + " to " + join(Y) + " in " +
         std::string(getName(Type)) +
         (ChannelsLast ? " with the channels last" : "");
}
