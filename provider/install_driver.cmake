# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Part of `cmake --install`: writes the file that names the provider to libibverbs. Input variables:
# libdir, file.
string(REGEX REPLACE "/+$" "" prefix "${CMAKE_INSTALL_PREFIX}")
if(prefix STREQUAL "/usr")
  set(driver dingo)
else()
  set(driver ${prefix}/${libdir}/libibverbs/libdingo)
endif()
if(prefix MATCHES "^(/usr(/local)?)?$")
  set(directory /etc/libibverbs.d)
else()
  set(directory ${prefix}/etc/libibverbs.d)
  message(STATUS "Note: libibverbs reads /etc/libibverbs.d, not ${directory}: `dingo run` needs neither; for dingo.ko copy dingo.driver there")
endif()
file(WRITE ${file} "driver ${driver}\n")
file(INSTALL ${file} DESTINATION ${directory})
