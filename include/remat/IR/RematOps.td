//===- RematOps.td - all operations of the dialect -------------*- tablegen -*-===//

#ifndef REMAT_IR_REMATOPS_TD
#define REMAT_IR_REMATOPS_TD

include "remat/IR/RematCollectiveOps.td"
include "remat/IR/RematElementwiseOps.td"
include "remat/IR/RematShapeOps.td"
include "remat/IR/RematIndexOps.td"
include "remat/IR/RematLoopOps.td"
include "remat/IR/RematNetworkOps.td"
include "remat/IR/RematTrainingOps.td"
include "remat/IR/RematWindowOps.td"

#endif // REMAT_IR_REMATOPS_TD
