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

if(REMAT_STATIC)
  # The imported targets MLIR and LLVM are the shared libraries, and the MLIR
  # archives name LLVM. Pointing both at archives keeps every link line the same.
  set(components Core Support TargetParser BitReader BitWriter Remarks
                 BinaryFormat BitstreamReader Demangle AsmParser Option)
  list(TRANSFORM components PREPEND LLVM)
  set_target_properties(LLVM PROPERTIES
    IMPORTED_LOCATION_RELEASE ${LLVM_LIBRARY_DIR}/libLLVMSupport.a
    IMPORTED_LOCATION_RELWITHDEBINFO ${LLVM_LIBRARY_DIR}/libLLVMSupport.a
    IMPORTED_LOCATION ${LLVM_LIBRARY_DIR}/libLLVMSupport.a
    INTERFACE_LINK_LIBRARIES "${components}")
  set(archives MLIRParser MLIRPass MLIROptLib MLIRTransforms MLIRFuncDialect
               MLIRAnalysis MLIRTransformUtils MLIRTranslateLib MLIRIR
               MLIRInferTypeOpInterface MLIRSideEffectInterfaces
               MLIRControlFlowInterfaces MLIRSupport MLIRDebug MLIRRemarkStreamer)
  set(known)
  foreach(archive ${archives})
    if(TARGET ${archive})
      list(APPEND known ${archive})
    endif()
  endforeach()
  set_target_properties(MLIR PROPERTIES
    IMPORTED_LOCATION_RELEASE ${LLVM_LIBRARY_DIR}/libMLIRSupport.a
    IMPORTED_LOCATION_RELWITHDEBINFO ${LLVM_LIBRARY_DIR}/libMLIRSupport.a
    IMPORTED_LOCATION ${LLVM_LIBRARY_DIR}/libMLIRSupport.a
    INTERFACE_LINK_LIBRARIES "${known}")
  add_link_options(-static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections)
  if(NOT REMAT_FUZZ) # a fuzzer's traces name functions and lines
    add_link_options(-s)
  endif()
endif()

# remat_precompile(TARGET)
# Reads MLIR and the dialect, most of what a file of the compiler includes, once:
# a file then compiles in about a third of the time. The first target makes the
# precompiled header, the others use it.
function(remat_precompile target)
  if(target STREQUAL RematIR)
    remat_precompile_headers(${target}
      <mlir/Dialect/Func/IR/FuncOps.h>
      <mlir/IR/IRMapping.h>
      <mlir/IR/PatternMatch.h>
      <mlir/Pass/Pass.h>
      <llvm/ADT/TypeSwitch.h>
      <remat/IR/RematOps.h>)
  else()
    target_precompile_headers(${target} REUSE_FROM RematIR)
  endif()
endfunction()
