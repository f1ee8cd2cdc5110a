//===- TypeUtilsTest.cpp - shapes, bytes and broadcasting -------*- C++ -*-===//

#include "remat/IR/TypeUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace remat;

namespace {

constexpr int64_t Max = std::numeric_limits<int64_t>::max();

TEST(TypeUtils, CountsElementsInSixtyFourBits) {
  EXPECT_EQ(getNumElements({}), 1);
  EXPECT_EQ(getNumElements({2, 3}), 6);
  EXPECT_EQ(getNumElements({Max}), Max);
  EXPECT_EQ(getNumElements({Max, 2}), std::nullopt);
  EXPECT_EQ(getNumElements({Max, Max, 0}), 0);
  EXPECT_EQ(getNumElements({ShapedType::kDynamic}), std::nullopt);
}

TEST(TypeUtils, CountsBytes) {
  MLIRContext Context;
  Builder B(&Context);
  auto Bytes = [&](ArrayRef<int64_t> Shape, Type Element) {
    return getByteSize(RankedTensorType::get(Shape, Element));
  };
  EXPECT_EQ(Bytes({3}, B.getI1Type()), 3);
  EXPECT_EQ(Bytes({3}, B.getBF16Type()), 6);
  EXPECT_EQ(Bytes({}, B.getI64Type()), 8);
  EXPECT_EQ(Bytes({Max / 4}, B.getF32Type()), Max / 4 * 4);
  EXPECT_EQ(Bytes({Max / 4 + 1}, B.getF32Type()), std::nullopt);
  EXPECT_EQ(getByteSize(B.getF32Type()), std::nullopt);
}

TEST(TypeUtils, BroadcastsAsNumPy) {
  using Shape = SmallVector<int64_t>;
  EXPECT_EQ(broadcastShapes({2, 3}, {3}), (Shape{2, 3}));
  EXPECT_EQ(broadcastShapes({3}, {2, 1}), (Shape{2, 3}));
  EXPECT_EQ(broadcastShapes({}, {4}), (Shape{4}));
  EXPECT_EQ(broadcastShapes({1}, {1, 1}), (Shape{1, 1}));
  EXPECT_EQ(broadcastShapes({2}, {3}), std::nullopt);
  EXPECT_EQ(broadcastShapes({2, 3}, {2}), std::nullopt);
}

} // namespace
