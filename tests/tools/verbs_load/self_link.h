// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace verbs_load {

/// A process's device with a memory region and queue pairs in RTS, each connected to itself through
/// the card: data that it writes crosses the whole card and comes back to another part of the
/// buffer.
class SelfLink {
  public:
    /// How far to go: the process may stop anywhere, for others to kill it there.
    enum class Phase { kContext, kPd, kMr, kCq, kQp, kRts };
    static Phase phase_of(const std::string& name);

    /// Throws std::runtime_error. `device` "" = the first.
    SelfLink(const std::string& device, unsigned qps, std::size_t bytes, Phase last = Phase::kRts);
    /// Queues only: domain, region and buffer are the caller's, and stay.
    struct Borrowed {
        ibv_context* context;
        ibv_pd* pd;
        ibv_mr* mr;
        std::uint8_t* buffer;
    };
    SelfLink(const Borrowed& borrowed, unsigned qps, std::size_t bytes);
    ~SelfLink();
    SelfLink(const SelfLink&) = delete;
    SelfLink& operator=(const SelfLink&) = delete;

    /// WRITEs the first half of QP `n`'s share of the buffer to its second half, waits and
    /// compares; throws when the bytes differ or the completion is an error.
    void check(unsigned n, std::uint8_t seed);
    /// Posts a WRITE and does not wait.
    void post(unsigned n);
    /// Posts and polls for ever; returns when a completion fails or polling does.
    int stream();

    /// Posts a WRITE on each QP and waits for all.
    void round();
    /// For a completion; returns the number of its QP. Throws when it is an error.
    unsigned wait();

    [[nodiscard]] ibv_context* context() const { return context_; }
    [[nodiscard]] ibv_pd* pd() const { return pd_; }
    [[nodiscard]] ibv_cq* cq() const { return cq_; }
    [[nodiscard]] const ibv_gid& gid() const { return gid_; }
    [[nodiscard]] int gid_index() const { return gid_index_; }
    ibv_qp* create_qp();
    /// Null: errno tells why.
    [[nodiscard]] ibv_qp* make_qp() const;
    /// With itself.
    void connect(ibv_qp* qp) const { connect(qp, qp->qp_num); }
    void connect(ibv_qp* qp, std::uint32_t peer) const;
    [[nodiscard]] unsigned qps() const { return static_cast<unsigned>(qps_.size()); }

  private:
    void find_gid();
    void make_queues(unsigned qps, Phase last);
    void destroy_queues();

    bool owner_ = true;
    ibv_context* context_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_mr* mr_ = nullptr;
    ibv_cq* cq_ = nullptr;
    std::vector<ibv_qp*> qps_;
    std::uint8_t* buffer_ = nullptr;
    std::size_t bytes_;
    std::size_t share_ = 0;
    ibv_gid gid_{};
    int gid_index_ = 0;
};

}  // namespace verbs_load
