# LLVM/MLIR as Debian ships it. The shared libraries by default; REMAT_STATIC
# links the archives, for tools that are carried to a machine without MLIR.

list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-22)
if(REMAT_STATIC)
  find_package(zstd REQUIRED)
endif()
find_package(MLIR 22.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
