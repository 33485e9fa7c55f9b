// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace verbs_load {

/// An open device with a memory region and queue pairs in RTS, each connected to itself: the data
/// that it writes pass through the whole card and arrive in another part of the buffer.
class SelfLink {
  public:
    /// The last step to make: tests kill the process in each phase.
    enum class Phase { kContext, kPd, kMr, kCq, kQp, kRts };
    static Phase phase_of(const std::string& name);

    /// Throws std::runtime_error. `device` "" = the first.
    SelfLink(const std::string& device, unsigned qps, std::size_t bytes, Phase last = Phase::kRts);
    /// For a link that makes only queues: the caller keeps domain, region and buffer.
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
    /// Posts and polls endlessly; returns when a completion or the polling fails.
    int stream();

    /// Posts a WRITE on each QP and waits for all completions.
    void round();
    /// Waits for a completion and returns the number of its QP. Throws if it is an error.
    unsigned wait();

    [[nodiscard]] ibv_context* context() const { return context_; }
    [[nodiscard]] ibv_pd* pd() const { return pd_; }
    [[nodiscard]] ibv_cq* cq() const { return cq_; }
    [[nodiscard]] const ibv_gid& gid() const { return gid_; }
    [[nodiscard]] int gid_index() const { return gid_index_; }
    ibv_qp* create_qp();
    /// Returns null, with errno set, on failure.
    [[nodiscard]] ibv_qp* make_qp() const;
    /// Connects the QP to itself.
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
