# SPDX-License-Identifier: BSD-2-Clause
# `cmake --install build --component qpx` installs libraries, headers, CMake package and pkg-config
# file.
include(CMakePackageConfigHelpers)

string(STRIP "libssl, libcrypto ${qpx_private_pc}" qpx_private_modules)
string(REPLACE " lib" ", lib" qpx_private_modules "${qpx_private_modules}")
string(REPLACE ",," "," qpx_private_modules "${qpx_private_modules}")
set(qpx_archive_libraries "ssl;crypto")
foreach(module IN LISTS qpx_backend_modules)
  list(APPEND qpx_archive_libraries ${${module}_LIBRARIES})
endforeach()

configure_package_config_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/qpx-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/qpx-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/qpx
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/qpx-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/qpx-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/qpx-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/qpx COMPONENT qpx)
# At installation, as only then the prefix is known (cmake --install --prefix).
set(pc_template ${CMAKE_CURRENT_SOURCE_DIR}/cmake/qpx.pc.in)
install(CODE "
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
  set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
  set(qpx_private_modules \"${qpx_private_modules}\")
  configure_file(\"${pc_template}\" \"${CMAKE_CURRENT_BINARY_DIR}/qpx.pc\" @ONLY)" COMPONENT qpx)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/qpx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT qpx)
install(DIRECTORY include/qpx DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT qpx FILES_MATCHING PATTERN "*.h")
install(TARGETS qpx qpx_shared COMPONENT qpx)
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/qpx.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT qpx)
