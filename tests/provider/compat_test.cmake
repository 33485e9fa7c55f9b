# SPDX-License-Identifier: BSD-2-Clause
# Tests what rdma_core_compat.cmake finds in an rdma-core before and after each change of the
# interface.
# usage: cmake -DPROVIDER=folder -DDIR=scratch -P compat_test.cmake
include(${PROVIDER}/rdma_core_compat.cmake)

function(expect number fds buffer link want)
  file(WRITE ${DIR}/CMakeLists.txt "project(x)\nset(IBVERBS_PABI_VERSION \"${number}\")\n")
  file(WRITE ${DIR}/libibverbs/driver.h "int ibv_cmd_get_context(void *c,\n\t${fds} int n);\nstruct ibv_fd_arr;\n"
       "int ibv_cmd_create_cq_ex(void *c,\n\t${buffer} int n);\nint ibv_cmd_create_cq_ex2(struct verbs_create_cq_prov_attr *p, struct ibv_command_buffer *d);\n"
       "int ibv_cmd_create_qp_ex2(void *c,\n\t${link} int n);\n")
  dingo_rdma_core_suffix(suffix ${DIR})
  dingo_rdma_core_definitions(found ${DIR})
  if(NOT suffix STREQUAL "-rdmav${number}.so" OR NOT "${found}" STREQUAL "${want}")
    message(FATAL_ERROR "${number}: found ${suffix} and '${found}', not '${want}'")
  endif()
endfunction()

set(fds "struct ibv_fd_arr *f,")
set(buffer "struct verbs_create_cq_prov_attr *p,")
set(link "struct ibv_command_buffer *d,")
expect(34 "" "" "" "")
expect(57 "${fds}" "" "" "DINGO_GET_CONTEXT_TAKES_FDS")
expect(59 "${fds}" "${buffer}" "" "DINGO_GET_CONTEXT_TAKES_FDS;DINGO_CREATE_CQ_TAKES_BUFFER")
expect(65 "${fds}" "${buffer}" "${link}" "DINGO_GET_CONTEXT_TAKES_FDS;DINGO_CREATE_CQ_TAKES_BUFFER;DINGO_CREATE_QP_TAKES_LINK")
