# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# cmake -DSOURCE=rdma-core -DTREE=copy -DPROVIDER=this folder -P prepare_rdma_core.cmake
file(REMOVE_RECURSE ${TREE})
file(COPY ${SOURCE}/ DESTINATION ${TREE})
file(CREATE_LINK ${PROVIDER} ${TREE}/providers/dingo SYMBOLIC)
file(READ ${TREE}/CMakeLists.txt text)
string(REPLACE "add_subdirectory(providers/erdma)" "add_subdirectory(providers/erdma)\nadd_subdirectory(providers/dingo)" text "${text}")
if(NOT text MATCHES "providers/dingo")
  message(FATAL_ERROR "rdma-core's CMakeLists.txt has no add_subdirectory(providers/erdma) to stand beside")
endif()
file(WRITE ${TREE}/CMakeLists.txt "${text}")
# Wrap the ABI structures of Dingo's header only, not those of providers that are not built.
file(READ ${TREE}/kernel-headers/CMakeLists.txt text)
string(REGEX REPLACE "\n  rdma/[a-z0-9_]+-abi\\.h|\n  rdma/rdma_user_rxe\\.h" "" text "${text}")
string(REPLACE "  rdma/ib_user_verbs.h\n" "  rdma/dingo-abi.h\n  rdma/ib_user_verbs.h\n" text "${text}")
file(WRITE ${TREE}/kernel-headers/CMakeLists.txt "${text}")
file(CREATE_LINK ${PROVIDER}/../kmod/include/uapi/dingo-abi.h ${TREE}/kernel-headers/rdma/dingo-abi.h SYMBOLIC)
