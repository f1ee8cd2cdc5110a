# Warnings, sanitizers and the helper that every library of the project uses.

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(REMAT_SANITIZE)
  add_compile_options(-fsanitize=${REMAT_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${REMAT_SANITIZE})
endif()

# remat_add_library(NAME sources... LINK libs...)
# A static library of the project: the project's headers on its path.
function(remat_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# remat_precompile_headers(TARGET headers...)
# Reads headers that most files of a target include once.
function(remat_precompile_headers target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  # Without the time of the files in it, so that ccache knows it again.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

# remat_add_unit_test(NAME sources... LINK libs... [SHARDS n])
# A GoogleTest program in build/test/unit, found and run by ctest: NAME, or
# NAME.0 to NAME.n-1 with a part of its tests each, which run beside each other.
# It can see whether it is sanitized, to have fewer cases.
function(remat_add_unit_test name)
  cmake_parse_arguments(ARG "" "SHARDS" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main)
  if(REMAT_SANITIZE)
    target_compile_definitions(${name} PRIVATE REMAT_SANITIZE)
  endif()
  # To optimise one takes longer than to run it, but for those of the planner,
  # which enumerate plans.
  if(NOT name MATCHES "^Solver")
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(ARG_SHARDS)
    math(EXPR last "${ARG_SHARDS} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}.${shard} COMMAND ${name})
      set_tests_properties(${name}.${shard} PROPERTIES ENVIRONMENT
        "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}")
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
endfunction()
