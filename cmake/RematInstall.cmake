# The install tree: the CMake package Remat with the planner and the C
# interface, as far as they are built, and the tools.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Remat)
set_target_properties(RematSolver PROPERTIES EXPORT_NAME Solver)
install(TARGETS RematSolver EXPORT RematTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/remat/Solver DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/remat)
install(DIRECTORY docs/formats DESTINATION ${CMAKE_INSTALL_DATADIR}/remat)
if(TARGET RematPlannerC)
  set_target_properties(RematPlannerC PROPERTIES EXPORT_NAME PlannerC)
  install(TARGETS RematPlannerC EXPORT RematTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/remat-c DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY python/remat DESTINATION ${CMAKE_INSTALL_DATADIR}/remat/python
          PATTERN __pycache__ EXCLUDE)
endif()
if(TARGET RematCAPI)
  set_target_properties(RematCAPI PROPERTIES EXPORT_NAME Remat)
  install(TARGETS RematCAPI EXPORT RematTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(EXPORT RematTargets NAMESPACE Remat:: DESTINATION ${package_dir})
configure_package_config_file(cmake/RematConfig.cmake.in RematConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(RematConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RematConfig.cmake
              ${PROJECT_BINARY_DIR}/RematConfigVersion.cmake
        DESTINATION ${package_dir})
foreach(tool remat-opt remat-translate remat-run remat-solve)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
