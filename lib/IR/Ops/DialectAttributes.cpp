//===- DialectAttributes.cpp - checks of remat.* attributes -----*- C++ -*-===//

#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

LogicalResult RematDialect::verifyOperationAttribute(Operation *,
                                                     NamedAttribute) {
  return success();
}

LogicalResult RematDialect::verifyRegionArgAttribute(Operation *, unsigned,
                                                     unsigned, NamedAttribute) {
  return success();
}

LogicalResult RematDialect::verifyRegionResultAttribute(Operation *, unsigned,
                                                        unsigned,
                                                        NamedAttribute) {
  return success();
}
