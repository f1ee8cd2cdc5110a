/* The graph that the tests of the C interface compile. */

#ifndef REMAT_TEST_CAPI_GRAPH_H
#define REMAT_TEST_CAPI_GRAPH_H

/* loss = mean((x w - y)^2): x is 4x2, w 2x1, y 4x1. */
static const char Graph[] =
    "func.func @main(\n"
    "    %x: tensor<4x2xf32> {remat.role = #remat.role<input>,"
    " remat.name = \"x\"},\n"
    "    %y: tensor<4x1xf32> {remat.role = #remat.role<input>,"
    " remat.name = \"y\"},\n"
    "    %w: tensor<2x1xf32> {remat.role = #remat.role<parameter>,"
    " remat.name = \"w\", remat.init = #remat.init<constant, 0.5>})\n"
    "    -> (tensor<f32> {remat.role = #remat.role<loss>,"
    " remat.name = \"loss\"}) {\n"
    "  %0 = remat.matmul %x, %w : (tensor<4x2xf32>, tensor<2x1xf32>)"
    " -> tensor<4x1xf32>\n"
    "  %loss = remat.mse %0, %y : (tensor<4x1xf32>, tensor<4x1xf32>)"
    " -> tensor<f32>\n"
    "  return %loss : tensor<f32>\n"
    "}\n";

#endif /* REMAT_TEST_CAPI_GRAPH_H */
