//===- Index.cpp - elements by index, order and scans ---------------------===//
//
// The kernels are in Index.cuh.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

/// The distance of neighbours along a dimension.
static int64_t getInner(Value V, int64_t Dim) {
  return ShapedType::getNumElements(getType(V).getShape().drop_front(Dim + 1));
}

static LaunchSize getSize(int64_t Count) {
  return {.Block = 256,
          .GridX = static_cast<int64_t>(llvm::divideCeil(Count, 256))};
}

static void addGather(GatherOp Op, Launches &Out) {
  int64_t Dim = Op.getDim(), Count = getCount(Op.getResult());
  addLaunch("gather",
            kernels::Gather{.T = getName(Op.getOperand()),
                            .I = getName(Op.getIndices()),
                            .Size = getType(Op.getOperand()).getDimSize(Dim),
                            .Taken = getType(Op.getIndices()).getDimSize(Dim),
                            .Inner = getInner(Op.getOperand(), Dim),
                            .Count = Count,
                            .X = operand(0),
                            .Indices = operand(1),
                            .Y = result(0)},
            getSize(Count), Out);
}

static void addScatterAdd(ScatterAddOp Op, Launches &Out) {
  int64_t Dim = Op.getDim(), Count = getCount(Op.getResult());
  addLaunch(
      "scatter_add",
      kernels::ScatterAdd{.T = getName(Op.getUpdates()),
                          .I = getName(Op.getIndices()),
                          .Size = getType(Op.getResult()).getDimSize(Dim),
                          .Taken = getType(Op.getIndices()).getDimSize(Dim),
                          .Inner = getInner(Op.getResult(), Dim),
                          .Count = Count,
                          .Indices = operand(0),
                          .Updates = operand(1),
                          .Y = result(0)},
      getSize(Count), Out);
}

static void addTopK(TopKOp Op, Launches &Out) {
  int64_t Dim = Op.getDim();
  int64_t Size = getType(Op.getOperand()).getDimSize(Dim);
  addLaunch(
      "top_k",
      kernels::TopK{.T = getName(Op.getOperand()),
                    .Order = kernels::SortOrder{.Smallest = Op.getSmallest()},
                    .Size = Size,
                    .K = Op.getK(),
                    .Inner = getInner(Op.getOperand(), Dim),
                    .X = operand(0),
                    .Values = result(0),
                    .Indices = result(1)},
      {.Block = 256, .GridX = getCount(Op.getOperand()) / Size}, Out);
}

static void addCumsum(CumsumOp Op, Launches &Out) {
  int64_t Size = getType(Op.getOperand()).getDimSize(Op.getDim());
  int64_t Lines = getCount(Op.getOperand()) / Size;
  addLaunch("cumsum",
            kernels::Cumsum{.T = getName(Op.getOperand()),
                            .Lines = Lines,
                            .Size = Size,
                            .Inner = getInner(Op.getOperand(), Op.getDim()),
                            .Reverse = Op.getReverse(),
                            .X = operand(0),
                            .Y = result(0)},
            getSize(Lines * 32), Out);
}

llvm::ArrayRef<OwnKernels> remat::cuda::getIndexKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<GatherOp, addGather>(),
      kernelsOf<ScatterAddOp, addScatterAdd>(),
      kernelsOf<TopKOp, addTopK>(),
      kernelsOf<CumsumOp, addCumsum>(),
  };
  return Table;
}
