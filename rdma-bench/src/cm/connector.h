// SPDX-License-Identifier: BSD-2-Clause
// -R: connects QPs through the connection managers of both
// hosts. The QPs are created by ibv_create_qp() as usual; rdma_cm exchanges their numbers, provides
// their attributes (rdma_init_qp_attr()) and keeps the connections until the end of the run. The
// programs exchange all other data over their Link.
#pragma once
#include <infiniband/verbs.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "options/options.h"
#include "qpx/verbs.h"
#include "run/link.h"

namespace rdma_bench {

/// The QPs of a run and their descriptions of both sides; connect() updates the values that the
/// connection manager chose: PSNs and the GID's index.
struct CmQps {
    std::span<ibv_qp* const> qps;
    std::span<qpx::Local> locals;
    std::span<qpx::Endpoint> peers;
};

class CmConnector {
  public:
    /// @throws RunError(kDevice) on a host without a connection manager, or if the program was
    /// built without librdmacm
    CmConnector();
    ~CmConnector();
    CmConnector(const CmConnector&) = delete;
    CmConnector& operator=(const CmConnector&) = delete;

    /// Both sides call it with the same number of RC QPs in RESET; all are in RTS when it returns.
    /// @param path values requested by options; the connection manager decides the others
    /// @throws RunError: kDevice for errors of this host, kPeer for those of the path or the peer
    void connect(Link& link, const Options& options, const qpx::PathOptions& path,
                 const CmQps& what);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace rdma_bench
