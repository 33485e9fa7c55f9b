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
# The script that wraps kernel ABI structures runs on our header too.
file(READ ${TREE}/kernel-headers/CMakeLists.txt text)
string(REPLACE "  rdma/erdma-abi.h\n" "  rdma/dingo-abi.h\n  rdma/erdma-abi.h\n" text "${text}")
file(WRITE ${TREE}/kernel-headers/CMakeLists.txt "${text}")
file(CREATE_LINK ${PROVIDER}/../kmod/include/uapi/dingo-abi.h ${TREE}/kernel-headers/rdma/dingo-abi.h SYMBOLIC)
