//===- Mesh.h - names of the axes of ranks ----------------------*- C++ -*-===//

#ifndef REMAT_SUPPORT_MESH_H
#define REMAT_SUPPORT_MESH_H

namespace remat {

/// The axis of ranks that each have a batch and share nothing else.
inline constexpr char DataAxis[] = "data";

/// The axis along which ranks share one computation. Along all others each rank
/// has rows of the batch of its own.
inline constexpr char TensorAxis[] = "tensor";

} // namespace remat

#endif // REMAT_SUPPORT_MESH_H
