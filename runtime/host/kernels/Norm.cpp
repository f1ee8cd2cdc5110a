//===- Norm.cpp - softmax and normalisations ------------------------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "host/Rows.h"
#include "ops/Scalar.h"

using namespace remat::runtime;

/// Rows of a task.
static int64_t getRowGrain(int64_t Columns) {
  return std::max<int64_t>(1, 16 * BlockSize / Columns);
}

/// Calls `Run` with a null pointer of the rows' type and each row, several rows
/// at the same time.
template <typename Function>
static void forRows(Context &C, DType Type, int64_t Rows, int64_t Columns,
                    Function Run) {
  dispatchFloat(Type, [&](auto *Null) {
    C.forBlocks(Rows, getRowGrain(Columns), [&](int64_t First, int64_t Last) {
      for (int64_t Row = First; Row < Last; ++Row)
        Run(Null, Row);
    });
  });
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

static Status runSoftmax(const OpCall &Op, Context &C) {
  const Value &In = Op.Operands[0], &Out = Op.Results[0];
  int64_t Columns = In.Shape.back(), Rows = In.NumElements / Columns;
  forRows(C, In.Type, Rows, Columns, [&](auto *Null, int64_t Row) {
    using T = std::remove_pointer_t<decltype(Null)>;
    int64_t I = Row * Columns;
    softmaxRow(In.as<T>() + I, Out.as<T>() + I, Columns);
  });
  return {};
}

static Status runSoftmaxBackward(const OpCall &Op, Context &C) {
  const Value &Y = Op.Operands[0], &G = Op.Operands[1], &Out = Op.Results[0];
  int64_t Columns = Y.Shape.back(), Rows = Y.NumElements / Columns;
  forRows(C, Y.Type, Rows, Columns, [&](auto *Null, int64_t Row) {
    using T = std::remove_pointer_t<decltype(Null)>;
    int64_t I = Row * Columns;
    softmaxBackwardRow(Y.as<T>() + I, G.as<T>() + I, Out.as<T>() + I, Columns);
  });
  return {};
}

//===----------------------------------------------------------------------===//
// Layer normalisation
//===----------------------------------------------------------------------===//

/// `Scale` and `Bias` are the operands as f32.
template <typename T>
static void normaliseRow(const OpCall &Op, int64_t Row, double Epsilon,
                         const float *Scale, const float *Bias) {
  int64_t Columns = Op.Operands[1].NumElements;
  const T *In = Op.Operands[0].as<T>() + Row * Columns;
  T *Out = Op.Results[0].as<T>() + Row * Columns;
  double Mean = sum(Columns, [&](int64_t I) { return double(widen(In[I])); }) /
                static_cast<double>(Columns);
  double Variance = sum(Columns,
                        [&](int64_t I) {
                          double Centred = widen(In[I]) - Mean;
                          return Centred * Centred;
                        }) /
                    static_cast<double>(Columns);
  auto M = static_cast<float>(Mean);
  auto Rstd = static_cast<float>(1.0 / std::sqrt(Variance + Epsilon));
  for (int64_t I = 0; I < Columns; ++I)
    Out[I] = narrow<T>((widen(In[I]) - M) * Rstd * Scale[I] + Bias[I]);
  Op.Results[1].as<float>()[Row] = M;
  Op.Results[2].as<float>()[Row] = Rstd;
}

/// Fills `Out` with a whole operand as f32.
static void widenAll(const Value &V, ScratchArray<float> &Out) {
  loadFloats(V.Type, V.Data, 0, V.NumElements, Out.data());
}

static Status runLayerNorm(const OpCall &Op, Context &C) {
  double Epsilon = Op.Attributes->getFloat("epsilon", 0);
  int64_t Columns = Op.Operands[1].NumElements;
  ScratchArray<float> Scale(C, Columns), Bias(C, Columns);
  widenAll(Op.Operands[1], Scale);
  widenAll(Op.Operands[2], Bias);
  forRows(C, Op.Operands[0].Type, Op.Results[1].NumElements, Columns,
          [&](auto *Null, int64_t Row) {
            normaliseRow<std::remove_pointer_t<decltype(Null)>>(
                Op, Row, Epsilon, Scale.data(), Bias.data());
          });
  return {};
}

//===----------------------------------------------------------------------===//
// Division by the root mean square
//===----------------------------------------------------------------------===//

static Status runRMSNorm(const OpCall &Op, Context &C) {
  double Epsilon = Op.Attributes->getFloat("epsilon", 0);
  const Value &X = Op.Operands[0], &Rstds = Op.Results[1];
  int64_t Columns = Op.Operands[1].NumElements;
  ScratchArray<float> Weight(C, Columns);
  widenAll(Op.Operands[1], Weight);
  forRows(C, X.Type, Rstds.NumElements, Columns, [&](auto *Null, int64_t Row) {
    using T = std::remove_pointer_t<decltype(Null)>;
    const T *In = X.as<T>() + Row * Columns;
    T *Out = Op.Results[0].as<T>() + Row * Columns;
    double Squares = sum(Columns, [&](int64_t I) {
      return double(widen(In[I])) * double(widen(In[I]));
    });
    auto Rstd = static_cast<float>(
        1.0 / std::sqrt(Squares / static_cast<double>(Columns) + Epsilon));
    for (int64_t I = 0; I < Columns; ++I)
      Out[I] = narrow<T>(widen(In[I]) * Rstd * Weight.data()[I]);
    Rstds.as<float>()[Row] = Rstd;
  });
  return {};
}

//===----------------------------------------------------------------------===//
// Their gradients
//===----------------------------------------------------------------------===//

/// Layer norm has a mean and a bias, division by the root mean square has not.
static bool hasMean(const OpCall &Op) { return Op.Results.size() >= 3; }

/// What a row was normalised with; a mean of 0 changes no bit.
static std::pair<float, float> getMeanAndRstd(const OpCall &Op, int64_t Row) {
  return {hasMean(Op) ? Op.Operands[3].as<float>()[Row] : 0.0f,
          Op.Operands[hasMean(Op) ? 4 : 3].as<float>()[Row]};
}

/// What is added to the gradient of the operand, perhaps missing: stands last.
static const Value &getAddend(const OpCall &Op) { return Op.Operands.back(); }

/// The gradient of the operand's row. `Scratch` holds two rows: the scaled
/// gradient and the normalised operand, read before anything is written.
static void differentiateRow(const OpCall &Op, int64_t Row, const float *Scale,
                             float *Scratch) {
  const Value &Grad = Op.Operands[0], &X = Op.Operands[1], &Out = Op.Results[0];
  auto [Mean, Rstd] = getMeanAndRstd(Op, Row);
  int64_t Columns = Op.Operands[2].NumElements, Base = Row * Columns;
  float *Scaled = Scratch, *Normalised = Scratch + Columns;
  loadFloats(Grad.Type, Grad.Data, Base, Columns, Scaled);
  loadFloats(X.Type, X.Data, Base, Columns, Normalised);
  for (int64_t I = 0; I < Columns; ++I) {
    Scaled[I] *= Scale[I];
    Normalised[I] = (Normalised[I] - Mean) * Rstd;
  }
  float MeanGrad = 0;
  if (hasMean(Op))
    MeanGrad = sumFloats(Reduction::Mean, Columns,
                         [&](int64_t I) { return double(Scaled[I]); });
  float MeanDot = sumFloats(Reduction::Mean, Columns, [&](int64_t I) {
    return double(Scaled[I]) * double(Normalised[I]);
  });
  for (int64_t I = 0; I < Columns; ++I)
    Scaled[I] = Rstd * (Scaled[I] - MeanGrad - Normalised[I] * MeanDot);
  if (getAddend(Op).Present) {
    roundFloats(Out.Type, Scaled, Columns);
    addRow(getAddend(Op), Base, Columns, Scaled);
  }
  storeFloats(Out.Type, Out.Data, Base, Columns, Scaled);
}

/// Columns whose sums are made together.
static constexpr int64_t ColumnGrain = 32;

/// Rounds sums of columns from `First` on to elements of `To`.
static void storeSums(const Value &To, int64_t First,
                      std::span<const double> Sums) {
  float Rounded[ColumnGrain];
  std::ranges::transform(Sums, Rounded,
                         [](double Sum) { return static_cast<float>(Sum); });
  storeFloats(To.Type, To.Data, First, static_cast<int64_t>(Sums.size()),
              Rounded);
}

/// The gradients of scale and bias in columns [First, Last).
static void sumColumns(const OpCall &Op, int64_t First, int64_t Last) {
  const Value &Grad = Op.Operands[0], &X = Op.Operands[1];
  int64_t Columns = Op.Operands[2].NumElements, Count = Last - First;
  int64_t Rows = Op.Operands[3].NumElements;
  double Sums[2][ColumnGrain] = {}; // of each result but the first
  float G[ColumnGrain], V[ColumnGrain];
  for (int64_t Row = 0; Row < Rows; ++Row) {
    auto [Mean, Rstd] = getMeanAndRstd(Op, Row);
    loadFloats(Grad.Type, Grad.Data, Row * Columns + First, Count, G);
    loadFloats(X.Type, X.Data, Row * Columns + First, Count, V);
    for (int64_t I = 0; I < Count; ++I) {
      Sums[0][I] += double(G[I]) * double((V[I] - Mean) * Rstd);
      Sums[1][I] += double(G[I]);
    }
  }
  for (size_t Result = 1; Result <= (hasMean(Op) ? 2 : 1); ++Result)
    storeSums(Op.Results[Result], First, std::span(Sums[Result - 1], Count));
}

/// The sums of the operand's gradient, as it is stored, in columns
/// [First, Last).
static void sumGradient(const OpCall &Op, int64_t First, int64_t Last) {
  const Value &Grad = Op.Results[0];
  int64_t Columns = Op.Operands[2].NumElements,
          Rows = Op.Operands[3].NumElements;
  double Sums[ColumnGrain] = {};
  float G[ColumnGrain];
  for (int64_t Row = 0; Row < Rows; ++Row) {
    loadFloats(Grad.Type, Grad.Data, Row * Columns + First, Last - First, G);
    for (int64_t I = 0; I < Last - First; ++I)
      Sums[I] += double(G[I]);
  }
  storeSums(Op.Results[3], First, std::span(Sums, Last - First));
}

/// Operand 2 has a weight a column, operand 3 a number a row.
static Status runNormBackward(const OpCall &Op, Context &C) {
  int64_t Columns = Op.Operands[2].NumElements;
  // First the sums over rows: the operand's gradient may overwrite what they
  // read.
  C.forBlocks(Columns, ColumnGrain, [&](int64_t First, int64_t Last) {
    sumColumns(Op, First, Last);
  });
  ScratchArray<float> Scale(C, Columns);
  widenAll(Op.Operands[2], Scale);
  REMAT_TRY(C.reserveScratch(2 * sizeof(float) * uint64_t(Columns)));
  int64_t Rows = Op.Operands[3].NumElements, Grain = getRowGrain(Columns);
  C.parallelFor((Rows + Grain - 1) / Grain, [&](int64_t Task, unsigned Worker) {
    for (int64_t Row = Task * Grain; Row < std::min(Rows, (Task + 1) * Grain);
         ++Row)
      differentiateRow(Op, Row, Scale.data(), C.getScratch<float>(Worker));
  });
  if (Op.Results.size() == 4)
    C.forBlocks(Columns, ColumnGrain, [&](int64_t First, int64_t Last) {
      sumGradient(Op, First, Last);
    });
  return {};
}

std::span<const HostKernel> remat::runtime::getNormKernels() {
  static const HostKernel Kernels[] = {
      {"softmax", runSoftmax},      {"softmax_backward", runSoftmaxBackward},
      {"layer_norm", runLayerNorm}, {"layer_norm_backward", runNormBackward},
      {"rms_norm", runRMSNorm},     {"rms_norm_backward", runNormBackward},
  };
  return Kernels;
}
