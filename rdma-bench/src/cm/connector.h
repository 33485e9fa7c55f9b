// SPDX-License-Identifier: BSD-2-Clause
// -R: QPs that the connection manager of both hosts connects. They are made by ibv_create_qp as
// always; rdma_cm carries their numbers, says what they become (rdma_init_qp_attr), and keeps the
// connections until the end of the run. What else the two programs must know they say over their
// link.
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

/// The QPs of a run with what both sides have told each other of them; connect() corrects what the
/// connection manager chose: PSNs and the GID's index.
struct CmQps {
    std::span<ibv_qp* const> qps;
    std::span<qpx::Local> locals;
    std::span<qpx::Endpoint> peers;
};

class CmConnector {
  public:
    /// @throws RunError(kDevice) on a host without a connection manager, and in a program that was
    /// built without librdmacm
    CmConnector();
    ~CmConnector();
    CmConnector(const CmConnector&) = delete;
    CmConnector& operator=(const CmConnector&) = delete;

    /// Both sides call it with as many QPs, RC and in RESET; all are in RTS when it returns.
    /// @param path what the options ask for; the connection manager decides the rest
    /// @throws RunError: kDevice for this host, kPeer for the way to the peer and for the peer
    void connect(Link& link, const Options& options, const qpx::PathOptions& path,
                 const CmQps& what);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace rdma_bench
