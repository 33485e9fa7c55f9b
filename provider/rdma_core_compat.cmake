# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Finds differences of rdma-core's private interface between versions. Looks at the declarations in
# its source, not at its version, as distributions may backport changes.

# dingo_rdma_core_definitions(VARIABLE SOURCE): sets VARIABLE to the definitions for
# rdma_core_compat.h.
function(dingo_rdma_core_definitions variable source)
  file(READ ${source}/libibverbs/driver.h text)
  set(definitions "")
  if("${text}" MATCHES "ibv_cmd_get_context\\([^;]*struct ibv_fd_arr")
    list(APPEND definitions DINGO_GET_CONTEXT_TAKES_FDS)
  endif()
  if("${text}" MATCHES "ibv_cmd_create_cq_ex\\([^;]*struct verbs_create_cq_prov_attr")
    list(APPEND definitions DINGO_CREATE_CQ_TAKES_BUFFER)
  endif()
  if("${text}" MATCHES "ibv_cmd_create_qp_ex2\\([^;]*struct ibv_command_buffer")
    list(APPEND definitions DINGO_CREATE_QP_TAKES_LINK)
  endif()
  set(${variable} ${definitions} PARENT_SCOPE)
endfunction()

# dingo_rdma_core_suffix(VARIABLE SOURCE): sets VARIABLE to the suffix of its providers' names:
# "-rdmav34.so".
function(dingo_rdma_core_suffix variable source)
  file(STRINGS ${source}/CMakeLists.txt line REGEX "^set\\(IBVERBS_PABI_VERSION ")
  if(NOT "${line}" MATCHES "\"([0-9]+)\"")
    message(FATAL_ERROR "${source}: no rdma-core source: its CMakeLists.txt does not set IBVERBS_PABI_VERSION. Give RDMA_CORE_SOURCE the folder of an unpacked rdma-core")
  endif()
  set(${variable} "-rdmav${CMAKE_MATCH_1}.so" PARENT_SCOPE)
endfunction()
