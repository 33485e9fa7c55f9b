// SPDX-License-Identifier: BSD-2-Clause
// One rank of a group: joins by URL, connects an RC queue pair to every other rank, RDMA-writes to
// each, and checks what the others wrote. Several ranks can run as threads of one process.
#include <infiniband/verbs.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "qpx/group.h"
#include "qpx/security.h"
#include "qpx/verbs.h"

namespace {

struct Options {
    std::string url;
    std::string device, security = "none";
    int64_t rank = -1;
    uint32_t size = 0;
    uint32_t threads = 1;
    uint32_t rounds = 1;
    int gid_index = -1;
    unsigned timeout = 60;
    bool no_device = false;
    bool shrink = false;
    bool quiet = false;
};

constexpr size_t slot_bytes = 64;

struct Free {
    void operator()(ibv_context* c) const { ibv_close_device(c); }
    void operator()(ibv_pd* p) const { ibv_dealloc_pd(p); }
    void operator()(ibv_mr* m) const { ibv_dereg_mr(m); }
    void operator()(ibv_cq* c) const { ibv_destroy_cq(c); }
    void operator()(ibv_qp* q) const { ibv_destroy_qp(q); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

template <typename T>
Owned<T> need(T* object, const char* what) {
    if (!object) {
        throw qpx::Error(qpx::ErrorCode::Device, std::string(what) + ": " + std::strerror(errno),
                         errno);
    }
    return Owned<T>(object);
}

Owned<ibv_context> open_device(const std::string& name) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    Owned<ibv_context> context;
    std::string names;
    for (int i = 0; i < count; ++i) {
        names += std::string(" ") + ibv_get_device_name(list[i]);
        if (!context && (name.empty() || name == ibv_get_device_name(list[i]))) {
            context.reset(ibv_open_device(list[i]));
        }
    }
    ibv_free_device_list(list);
    if (!context) {
        throw qpx::Error(qpx::ErrorCode::Device,
                         "no RDMA device" + (name.empty() ? "" : " '" + name + "'") +
                             (count ? "; there are:" + names : "; there is none at all"));
    }
    return context;
}

// Fills in the data that rank `from` writes into its slot at rank `to`.
void fill(std::byte* slot, uint32_t from, uint32_t to, uint32_t round) {
    for (size_t i = 0; i < slot_bytes; ++i) {
        slot[i] = static_cast<std::byte>(from * 131 + to * 31 + round * 7 + i);
    }
}

/// A queue pair to each other rank, and a buffer with a slot for each.
class Mesh {
  public:
    Mesh(qpx::Group& group, const Options& options) : group_(group), size_(group.size()) {
        context_ = open_device(options.device);
        pd_ = need(ibv_alloc_pd(context_.get()), "ibv_alloc_pd");
        inbox_.resize(size_ * slot_bytes);
        outbox_.resize(size_ * slot_bytes);
        constexpr int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
        inbox_mr_ = need(ibv_reg_mr(pd_.get(), inbox_.data(), inbox_.size(), access), "ibv_reg_mr");
        outbox_mr_ =
            need(ibv_reg_mr(pd_.get(), outbox_.data(), outbox_.size(), access), "ibv_reg_mr");
        cq_ = need(ibv_create_cq(context_.get(), static_cast<int>(2 * size_), nullptr, nullptr, 0),
                   "ibv_create_cq");
        qps_.resize(size_);
        std::vector<qpx::Local> locals(size_);
        std::vector<qpx::RankEndpoint> mine;
        for (uint32_t peer = 0; peer < size_; ++peer) {
            if (peer == group.rank()) {
                continue;
            }
            ibv_qp_init_attr init{};
            init.send_cq = init.recv_cq = cq_.get();
            init.qp_type = IBV_QPT_RC;
            init.cap = {.max_send_wr = 2,
                        .max_recv_wr = 1,
                        .max_send_sge = 1,
                        .max_recv_sge = 1,
                        .max_inline_data = 0};
            qps_[peer] = need(ibv_create_qp(pd_.get(), &init), "ibv_create_qp");
            qpx::DescribeOptions describe;
            describe.gid.index = options.gid_index;
            describe.regions = {qpx::describe(inbox_mr_.get(), "inbox")};
            locals[peer] = qpx::describe(qps_[peer].get(), describe);
            mine.push_back({peer, locals[peer].endpoint});
        }
        remotes_ = group.exchange(mine);
        for (const qpx::RankEndpoint& remote : remotes_) {
            qpx::connect(qps_[remote.rank].get(), locals[remote.rank], remote.endpoint);
        }
        group.barrier();  // every QP can receive now
    }

    /// Writes to all ranks and checks what they have written. @return number of wrong slots
    uint32_t round(uint32_t number) {
        const uint32_t me = group_.rank();
        for (const qpx::RankEndpoint& remote : remotes_) {
            std::byte* slot = outbox_.data() + remote.rank * slot_bytes;
            fill(slot, me, remote.rank, number);
            ibv_sge sge = {reinterpret_cast<uintptr_t>(slot), slot_bytes, outbox_mr_->lkey};
            ibv_send_wr write{}, *bad = nullptr;
            write.wr_id = remote.rank;
            write.sg_list = &sge;
            write.num_sge = 1;
            write.opcode = IBV_WR_RDMA_WRITE;
            write.send_flags = IBV_SEND_SIGNALED;
            write.wr.rdma.remote_addr = remote.endpoint.regions.at(0).address + me * slot_bytes;
            write.wr.rdma.rkey = remote.endpoint.regions.at(0).rkey;
            if (const int error = ibv_post_send(qps_[remote.rank].get(), &write, &bad)) {
                throw qpx::Error(qpx::ErrorCode::Device,
                                 std::string("ibv_post_send: ") + std::strerror(error), error);
            }
        }
        wait_for(remotes_.size());
        group_.barrier();  // all writes of all ranks have been acknowledged
        uint32_t wrong = 0;
        std::byte expected[slot_bytes];
        for (const qpx::RankEndpoint& remote : remotes_) {
            fill(expected, remote.rank, me, number);
            wrong +=
                std::memcmp(expected, inbox_.data() + remote.rank * slot_bytes, slot_bytes) != 0;
        }
        group_.barrier();  // checked before the next round overwrites
        return wrong;
    }

  private:
    void wait_for(size_t completions) {
        const auto start = std::chrono::steady_clock::now();
        while (completions > 0) {
            ibv_wc wc[16];
            const int count = ibv_poll_cq(cq_.get(), 16, wc);
            if (count < 0) {
                throw qpx::Error(qpx::ErrorCode::Device, "ibv_poll_cq: the device has failed");
            }
            for (int i = 0; i < count; ++i) {
                if (wc[i].status != IBV_WC_SUCCESS) {
                    throw qpx::Error(qpx::ErrorCode::Device,
                                     "write to rank " + std::to_string(wc[i].wr_id) + ": " +
                                         ibv_wc_status_str(wc[i].status));
                }
            }
            completions -= static_cast<size_t>(count);
            if (count == 0) {
                std::this_thread::yield();
                if (std::chrono::steady_clock::now() - start > std::chrono::seconds(60)) {
                    throw qpx::Error(qpx::ErrorCode::Timeout,
                                     std::to_string(completions) + " writes do not complete");
                }
            }
        }
    }

    qpx::Group& group_;
    uint32_t size_;
    std::vector<std::byte> inbox_, outbox_;
    Owned<ibv_context> context_;
    Owned<ibv_pd> pd_;
    Owned<ibv_mr> inbox_mr_, outbox_mr_;
    Owned<ibv_cq> cq_;
    std::vector<Owned<ibv_qp>> qps_;
    std::vector<qpx::RankEndpoint> remotes_;
};

// Exchange without RDMA: endpoints that encode their sender and receiver.
uint32_t exchange_only(qpx::Group& group) {
    const uint32_t me = group.rank();
    std::vector<qpx::RankEndpoint> mine;
    for (uint32_t peer = 0; peer < group.size(); ++peer) {
        if (peer != me) {
            qpx::Endpoint endpoint;
            endpoint.device = "none";
            endpoint.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
            endpoint.qpn = me + 1;
            endpoint.psn = peer;
            mine.push_back({peer, endpoint});
        }
    }
    uint32_t wrong = 0;
    const auto theirs = group.exchange(mine);
    for (const qpx::RankEndpoint& one : theirs) {
        wrong += one.endpoint.qpn != one.rank + 1 || one.endpoint.psn != me;
    }
    group.barrier();
    return wrong + (group.size() - 1 - static_cast<uint32_t>(theirs.size()));
}

int run_rank(const Options& options, std::optional<uint32_t> rank) {
    try {
        qpx::GroupOptions join;
        join.rank = rank;
        join.size = options.size;
        join.shrink = options.shrink;
        join.security = qpx::parse_security(options.security);
        join.timeout = std::chrono::seconds(options.timeout);
        const auto group = qpx::Group::join(options.url, join);
        if (group->size() == 0) {
            throw qpx::Error(qpx::ErrorCode::Argument, "the number of ranks is missing (--size)");
        }
        uint32_t wrong = 0;
        if (options.no_device) {
            for (uint32_t i = 0; i < options.rounds; ++i) {
                wrong += exchange_only(*group);
            }
        } else {
            Mesh mesh(*group, options);
            for (uint32_t i = 0; i < options.rounds; ++i) {
                wrong += mesh.round(i);
            }
        }
        if (!options.quiet || wrong) {
            std::printf("rank %u of %u (%s): %s %u peers, %u wrong\n", group->rank(), group->size(),
                        group->security_text().c_str(),
                        options.no_device ? "exchanged endpoints with" : "wrote to and checked",
                        group->size() - 1, wrong);
        }
        group->leave();
        return wrong ? 1 : 0;
    } catch (const qpx::Error& error) {
        std::fprintf(stderr, "qpx-rank%s: %s\n", rank ? (" " + std::to_string(*rank)).c_str() : "",
                     error.what());
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app(
        "Joins a group, connects a queue pair to every other rank, RDMA-writes to each and checks "
        "what the others wrote.",
        "qpx-rank");
    app.add_option("url", options.url, "qpxd://host:port/job, tcp://host:port/job or pmix:")
        ->required();
    app.add_option("-r,--rank", options.rank,
                   "This rank (default: what the launcher says, else any that is free)");
    app.add_option("-n,--size", options.size, "Ranks (default: what the launcher says)");
    app.add_option("-d,--device", options.device, "RDMA device (default: the first)");
    app.add_option("-x,--gid-index", options.gid_index, "GID (default: chosen by qp-exchange)");
    app.add_option("-t,--threads", options.threads,
                   "That many ranks in this process, from --rank on");
    app.add_option("-k,--rounds", options.rounds, "Times to write and check");
    app.add_option("-s,--security", options.security, "none, psk:FILE or tls:CERT,KEY,CA");
    app.add_option("--timeout", options.timeout, "Seconds for each call");
    app.add_flag("--no-device", options.no_device, "Exchange made-up endpoints only");
    app.add_flag("--shrink", options.shrink, "Go on without members that fail");
    app.add_flag("-q,--quiet", options.quiet, "Say only what went wrong");
    CLI11_PARSE(app, argc, argv);

    const bool pmix = options.url.rfind("pmix:", 0) == 0;
    if (const auto launched = qpx::rank_from_environment(); launched && !pmix) {
        if (options.rank < 0) {
            options.rank = launched->rank;
        }
        if (options.size == 0) {
            options.size = launched->size;
        }
    }
    std::atomic<int> failed = 0;
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < options.threads; ++i) {
        threads.emplace_back([&, i] {
            std::optional<uint32_t> rank;
            if (options.rank >= 0) {
                rank = static_cast<uint32_t>(options.rank) + i;
            }
            failed += run_rank(options, rank);
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    if (options.threads > 1) {
        std::printf("%u ranks in this process, %d failed\n", options.threads, failed.load());
    }
    return failed ? 1 : 0;
}
