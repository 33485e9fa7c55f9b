// SPDX-License-Identifier: BSD-2-Clause
// Stub of connector.cpp for builds without librdmacm.
#ifndef RDMA_BENCH_HAVE_CM
#include "cm/connector.h"
#include "exit.h"

namespace rdma_bench {

class CmConnector::Impl {};

CmConnector::CmConnector() {
    throw RunError(Exit::kDevice, "-R: this rdma-bench was built without librdmacm");
}
CmConnector::~CmConnector() = default;

void CmConnector::connect(Link& /*link*/, const Options& /*options*/,
                          const qpx::PathOptions& /*path*/, const CmQps& /*what*/) {}

}  // namespace rdma_bench
#endif
