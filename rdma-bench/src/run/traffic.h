// SPDX-License-Identifier: BSD-2-Clause
// Resources of the device for a run: memory, queues, QPs, and their work requests for one entry.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "memory/buffer.h"
#include "options/options.h"
#include "qpx/verbs.h"
#include "run/layout.h"
#include "run/worker.h"
#include "verbs/device.h"

namespace rdma_bench {

class Traffic {
  public:
    /// @throws RunError(kDevice) with what the device does not support
    Traffic(const Device& device, const Options& options);
    ~Traffic();

    /// Describes the QPs for the peer and chooses the GID. @param local_address of this host in the
    /// connection to the peer
    const std::vector<qpx::Local>& describe(const std::string& local_address);
    /// Brings QPs to RTS; may update the descriptions of both sides. @throws RunError
    using Join = std::function<void(std::span<ibv_qp* const> qps, std::span<qpx::Local> locals,
                                    std::span<qpx::Endpoint> peers)>;
    /// Brings all QPs to RTS by `join`. @throws RunError
    void connect(const std::vector<qpx::Endpoint>& peers, const Join& join);

    /// This side's part in an entry.
    struct Part {
        std::uint64_t size = 0;
        unsigned qps = 1;
        std::uint64_t goal = 0;      ///< messages that this side sends per QP
        std::uint64_t expected = 0;  ///< messages to receive per QP; UINT64_MAX: not known yet
        Task task;
    };
    /// Prepares lanes, rings and receives for an entry, and clears the counters of the last one.
    /// @return the workers that have QPs in the entry
    std::vector<Worker*> prepare(const Part& part);

    [[nodiscard]] std::span<const std::unique_ptr<Lane>> lanes() const { return lanes_; }
    [[nodiscard]] Buffer& buffer() const { return *buffer_; }
    [[nodiscard]] const Layout& layout() const { return layout_; }
    [[nodiscard]] unsigned inline_size() const { return inline_size_; }
    [[nodiscard]] bool extended() const { return extended_; }
    [[nodiscard]] const std::vector<qpx::Local>& locals() const { return locals_; }
    [[nodiscard]] const std::vector<qpx::Endpoint>& peers() const { return peers_; }

    /// Offsets of a QP's areas in the buffer.
    [[nodiscard]] std::size_t out_offset(unsigned qp) const { return layout_.out(qp); }
    [[nodiscard]] std::size_t in_offset(unsigned qp) const { return layout_.in(qp); }

  private:
    void make_queues();
    void make_qps();
    void make_receive_ring(std::vector<ibv_recv_wr>& ring, std::vector<ibv_sge>& sges,
                           std::span<const unsigned> qps, std::uint64_t id) const;
    void make_send_ring(Lane& lane, std::uint64_t size, std::uint64_t id) const;
    void post_first_receives(Lane& lane);
    [[nodiscard]] unsigned receives_of_thread() const;
    /// Returns true for verified rounds, where wr_id of receives is the index in the ring.
    [[nodiscard]] bool rounds() const { return options_.verify && !options_.test.latency(); }
    [[nodiscard]] bool receives() const { return takes_receives(options_.test.operation); }
    [[nodiscard]] std::uint32_t lkey(unsigned qp) const;

    const Device& device_;
    const Options& options_;
    Layout layout_;
    std::unique_ptr<Buffer> buffer_;
    std::vector<MrPtr> regions_;  ///< --mr_per_qp
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::vector<QpPtr> qps_;
    std::vector<AhPtr> handles_;  ///< UD
    std::vector<qpx::Local> locals_;
    std::vector<qpx::Endpoint> peers_;
    unsigned inline_size_ = 0;
    bool extended_ = false;
};

/// Returns the path options of the run.
qpx::PathOptions path_options(const Options& options);

/// Returns a Traffic::Join that uses the exchanged endpoints, without a connection manager.
Traffic::Join join_by_endpoints(const Options& options);

}  // namespace rdma_bench
