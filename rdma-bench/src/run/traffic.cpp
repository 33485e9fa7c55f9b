// SPDX-License-Identifier: BSD-2-Clause
#include "run/traffic.h"

#include <endian.h>
#include <sys/socket.h>

#include <algorithm>

#include "exit.h"
#include "qpx/error.h"

namespace rdma_bench {
namespace {

constexpr unsigned kReceiveRing = 64;

int access_flags(const Options& options) {
    int access = IBV_ACCESS_LOCAL_WRITE;
    switch (options.test.operation) {
        case Operation::kWrite:
        case Operation::kWriteImm:
            access |= IBV_ACCESS_REMOTE_WRITE;
            break;
        case Operation::kRead:
            access |= IBV_ACCESS_REMOTE_READ;
            break;
        case Operation::kAtomic:
            access |= IBV_ACCESS_REMOTE_ATOMIC;
            break;
        case Operation::kSend:
            break;
    }
    // Polling the last byte of a message works only if data is written in order.
    const bool polls_memory =
        options.test.ping_pong() && options.test.operation == Operation::kWrite;
    if (options.relaxed_ordering && !polls_memory) {
        access |= IBV_ACCESS_RELAXED_ORDERING;
    }
    return access;
}

unsigned wanted_inline(const Options& options) {
    if (options.inline_size >= 0) {
        return static_cast<unsigned>(options.inline_size);
    }
    if (!options.test.ping_pong()) {
        return 0;
    }
    return writes(options.test.operation) ? 220 : 236;
}

unsigned deepest_send(const Options& options) {
    unsigned depth = 1;
    for (const auto size : options.sizes) {
        depth = std::max(depth, send_depth(options, size));
    }
    return depth;
}

unsigned deepest_receive(const Options& options) {
    if (!takes_receives(options.test.operation)) {
        return 1;
    }
    unsigned depth = 1;
    for (const auto size : options.sizes) {
        depth = std::max(depth, receive_depth(options, size));
    }
    return depth;
}

}  // namespace

qpx::PathOptions path_options(const Options& options) {
    qpx::PathOptions path;
    path.timeout = options.timeout;
    path.retry_cnt = options.retry_count;
    path.traffic_class = options.traffic_class;
    path.sl = options.sl;
    path.hop_limit = options.hop_limit;
    path.flow_label = options.flow_label;
    path.pkey_index = options.pkey_index;
    // 0.08 ms: a receiver that was preempted has posted receives again long before the usual 0.64
    // ms have passed (docs/performance.md).
    path.min_rnr_timer = 6;
    return path;
}

Traffic::Traffic(const Device& device, const Options& options)
    : device_(device), options_(options), layout_(make_layout(options)) {
    try {
        buffer_ =
            make_buffer(options.memory, {device.pd(), layout_.total(), access_flags(options)});
    } catch (const std::invalid_argument& error) {
        throw RunError(Exit::kUsage, std::string("--mem: ") + error.what());
    } catch (const std::exception& error) {
        throw RunError(Exit::kDevice, error.what());
    }
    const bool cpu_touches =
        options.test.latency() && (options.verify || options.test.operation == Operation::kWrite);
    if (cpu_touches && !buffer_->host()) {
        throw RunError(Exit::kDevice,
                       "--mem " + options.memory +
                           ": the processor cannot access this memory, but " +
                           (options.verify ? "a latency test with --verify" : "write-lat") +
                           " needs that; send-lat and the bandwidth tests do not");
    }
    if (options.inline_size > 0 && !buffer_->host()) {
        throw RunError(
            Exit::kDevice,
            "-I: the processor copies inline data, but cannot access --mem " + options.memory);
    }
    if (options.mr_per_qp) {
        for (unsigned i = 0; i < layout_.qps; ++i) {
            regions_.emplace_back(buffer_->register_again());
        }
    }
    make_queues();
    make_qps();
}

// Destroys QPs before the objects that they use, the buffer last.
Traffic::~Traffic() {
    handles_.clear();
    qps_.clear();
    workers_.clear();
    regions_.clear();
}

/// Returns the receives of a thread's SRQ, or of its QPs, for its completion queue.
unsigned Traffic::receives_of_thread() const {
    const unsigned share = (layout_.qps + options_.threads - 1) / options_.threads;
    // A verified round has a slot for each message of each QP, even if QPs share an SRQ.
    return deepest_receive(options_) * (options_.srq && !rounds() ? 1 : share);
}

void Traffic::make_queues() {
    const unsigned threads = options_.threads;
    const unsigned share = (layout_.qps + threads - 1) / threads;
    for (unsigned i = 0; i < threads; ++i) {
        auto worker = std::make_unique<Worker>();
        worker->send_cq = make_cq(device_, share * deepest_send(options_), options_.events,
                                  options_.completion_vector);
        worker->recv_cq =
            make_cq(device_, receives_of_thread(), options_.events, options_.completion_vector);
        if (options_.srq) {
            worker->srq = make_srq(device_, receives_of_thread());
        }
        worker->repost = options_.recv_post_list > 1
                             ? options_.recv_post_list
                             : std::clamp(deepest_receive(options_) / 4, 1U, 16U);
        workers_.push_back(std::move(worker));
    }
}

void Traffic::make_qps() {
    inline_size_ = buffer_->host() ? wanted_inline(options_) : 0;
    extended_ = !options_.old_post_send;
    for (unsigned i = 0; i < layout_.qps; ++i) {
        const Worker& worker = *workers_[i % options_.threads];
        QpRequest request;
        request.connection = options_.connection;
        request.operation = options_.test.operation;
        request.send_cq = worker.send_cq->cq.get();
        request.recv_cq = worker.recv_cq->cq.get();
        request.srq = worker.srq.get();
        request.send_depth = deepest_send(options_);
        request.recv_depth = deepest_receive(options_);
        request.inline_size = inline_size_;
        request.inline_optional = options_.inline_size < 0;
        request.extended = extended_;
        auto made = make_qp(device_, request);
        // Use only what all QPs support.
        inline_size_ = std::min(inline_size_, made.inline_size);
        extended_ = extended_ && made.extended;
        auto lane = std::make_unique<Lane>();
        lane->qp = made.qp.get();
        lane->extended = made.extended;
        lane->number = i;
        qps_.push_back(std::move(made.qp));
        lanes_.push_back(std::move(lane));
    }
}

const std::vector<qpx::Local>& Traffic::describe(const std::string& local_address) {
    try {
        for (unsigned i = 0; i < layout_.qps; ++i) {
            qpx::DescribeOptions what;
            what.port = device_.port();
            what.gid.index = options_.gid_index;
            what.gid.family = options_.ipv6 ? AF_INET6 : 0;
            what.gid.local = options_.gid_index < 0 ? local_address : "";
            what.mtu = options_.mtu;
            what.max_rd_atomic = options_.outstanding ? static_cast<int>(options_.outstanding) : -1;
            const bool write = writes(options_.test.operation);
            if (options_.test.operation != Operation::kSend) {
                qpx::Region region =
                    qpx::describe(options_.mr_per_qp ? regions_[i].get() : buffer_->mr());
                region.address = buffer_->address() + (write ? layout_.in(i) : layout_.out(i));
                region.length = write ? layout_.in_area : layout_.out_area;
                region.tag = write ? "in" : "out";
                what.regions = {region};
            }
            locals_.push_back(qpx::describe(lanes_[i]->qp, what));
        }
    } catch (const qpx::Error& error) {
        throw RunError(error.code() == qpx::ErrorCode::Argument ? Exit::kUsage : Exit::kDevice,
                       error.what());
    }
    return locals_;
}

Traffic::Join join_by_endpoints(const Options& options) {
    return
        [path = path_options(options)](std::span<ibv_qp* const> qps, std::span<qpx::Local> locals,
                                       std::span<qpx::Endpoint> peers) {
            for (std::size_t i = 0; i < qps.size(); ++i) {
                try {
                    qpx::connect(qps[i], locals[i], peers[i], path);
                } catch (const qpx::Error& error) {
                    throw RunError(Exit::kDevice, "QP " + std::to_string(i) + ": " + error.what());
                }
            }
        };
}

void Traffic::connect(const std::vector<qpx::Endpoint>& peers, const Join& join) {
    peers_ = peers;
    const bool one_sided = options_.test.operation != Operation::kSend;
    const std::size_t area = writes(options_.test.operation) ? layout_.in_area : layout_.out_area;
    std::vector<ibv_qp*> qps;
    for (unsigned i = 0; i < layout_.qps; ++i) {
        const auto& peer = peers_.at(i);
        // With another layout at the peer, WRITEs would overwrite other memory.
        if (one_sided && (peer.regions.size() != 1 || peer.regions.front().length < area)) {
            throw RunError(Exit::kPeer, "the peer offers no memory region of " +
                                            std::to_string(area) + " bytes for QP " +
                                            std::to_string(i) + "; is it another version?");
        }
        qps.push_back(lanes_[i]->qp);
    }
    join(qps, locals_, peers_);
    for (unsigned i = 0; i < layout_.qps && options_.connection == Connection::kUd; ++i) {
        try {
            handles_.emplace_back(
                qpx::create_ah(device_.pd(), locals_[i], peers_[i], path_options(options_)));
        } catch (const qpx::Error& error) {
            throw RunError(Exit::kDevice, "QP " + std::to_string(i) + ": " + error.what());
        }
    }
}

std::uint32_t Traffic::lkey(unsigned qp) const {
    return options_.mr_per_qp ? regions_[qp]->lkey : buffer_->mr()->lkey;
}

void Traffic::make_receive_ring(std::vector<ibv_recv_wr>& ring, std::vector<ibv_sge>& sges,
                                std::span<const unsigned> qps, std::uint64_t id) const {
    if (options_.test.operation == Operation::kWriteImm) {
        // The WRITE determines where the data goes; a receive is only consumed.
        ring.assign(kReceiveRing, {});
        sges.assign(kReceiveRing, {});
        for (std::size_t i = 0; i < ring.size(); ++i) {
            ring[i].wr_id = id;
            ring[i].sg_list = &sges[i];
            ring[i].next = i + 1 < ring.size() ? &ring[i + 1] : nullptr;
        }
        return;
    }
    const Slots slots = in_slots(options_, 0);
    const unsigned times = options_.verify ? 1 : (kReceiveRing + slots.count - 1) / slots.count;
    const std::size_t once = std::size_t{slots.count} * qps.size();
    const auto length =
        static_cast<std::uint32_t>(*std::max_element(options_.sizes.begin(), options_.sizes.end()) +
                                   (options_.connection == Connection::kUd ? kGrhSize : 0));
    ring.assign(once * times, {});
    sges.resize(ring.size());
    for (std::size_t i = 0; i < ring.size(); ++i) {
        const unsigned qp = qps[i % once / slots.count];
        sges[i] = {buffer_->address() + layout_.in(qp) + i % slots.count * slots.stride, length,
                   lkey(qp)};
        ring[i].wr_id = rounds() ? i : id;
        ring[i].sg_list = &sges[i];
        ring[i].num_sge = 1;
        ring[i].next = i + 1 < ring.size() ? &ring[i + 1] : nullptr;
    }
}

void Traffic::make_send_ring(Lane& lane, std::uint64_t size, std::uint64_t id) const {
    const Operation operation = options_.test.operation;
    const bool sends_out = writes(operation) || operation == Operation::kSend;
    const Slots out = out_slots(options_, size), in = in_slots(options_, size);
    const unsigned slots =
        operation == Operation::kSend ? out.count : std::min(out.count, in.count);
    const std::uint64_t local =
        buffer_->address() + (sends_out ? layout_.out(lane.number) : layout_.in(lane.number));
    const auto& peer = peers_.at(lane.number);
    lane.list = options_.post_list;
    lane.depth = send_depth(options_, size);
    lane.interval = lane.until = completion_interval(options_, size);
    lane.ring.assign((slots + lane.list - 1) / lane.list * lane.list, {});
    lane.ring_sges.resize(lane.ring.size());
    for (std::size_t i = 0; i < lane.ring.size(); ++i) {
        const std::size_t slot = i % slots;
        lane.ring_sges[i] = {local + slot * (sends_out ? out.stride : in.stride),
                             static_cast<std::uint32_t>(size), lkey(lane.number)};
        ibv_send_wr& wr = lane.ring[i];
        wr.wr_id = id;
        wr.sg_list = &lane.ring_sges[i];
        wr.num_sge = 1;
        wr.next = (i + 1) % lane.list ? &lane.ring[i + 1] : nullptr;
        const std::uint64_t remote = peer.regions.empty() ? 0 : peer.regions.front().address;
        const std::uint32_t rkey = peer.regions.empty() ? 0 : peer.regions.front().rkey;
        switch (operation) {
            case Operation::kWrite:
                wr.opcode = IBV_WR_RDMA_WRITE;
                wr.wr.rdma.remote_addr = remote + slot * in.stride;
                wr.wr.rdma.rkey = rkey;
                break;
            case Operation::kWriteImm:
                wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
                wr.imm_data = htobe32(lane.number);
                wr.wr.rdma.remote_addr = remote + slot * in.stride;
                wr.wr.rdma.rkey = rkey;
                break;
            case Operation::kRead:
                wr.opcode = IBV_WR_RDMA_READ;
                wr.wr.rdma.remote_addr = remote + slot * out.stride;
                wr.wr.rdma.rkey = rkey;
                break;
            case Operation::kAtomic:
                // One counter per QP, so that its values show the order.
                wr.opcode = options_.atomic == AtomicType::kFetchAndAdd
                                ? IBV_WR_ATOMIC_FETCH_AND_ADD
                                : IBV_WR_ATOMIC_CMP_AND_SWP;
                wr.wr.atomic.remote_addr = remote;
                wr.wr.atomic.compare_add = options_.atomic == AtomicType::kFetchAndAdd ? 1 : 0;
                wr.wr.atomic.rkey = rkey;
                break;
            case Operation::kSend:
                wr.opcode = IBV_WR_SEND;
                if (options_.connection == Connection::kUd) {
                    wr.wr.ud = {handles_[lane.number].get(), peer.qpn, peer.qkey};
                }
        }
        if (sends_out && size <= inline_size_) {
            wr.send_flags |= IBV_SEND_INLINE;
        }
    }
    lane.at = 0;
}

void Traffic::post_first_receives(Lane& lane) {
    Worker& worker = *workers_[lane.number % options_.threads];
    int error = 0;
    if (worker.srq) {
        if (worker.srq_ring.empty()) {
            // All QPs of the thread share the slots of the first, or in verified rounds of all.
            std::vector<unsigned> qps;
            for (unsigned qp = lane.number; qp < layout_.qps; qp += options_.threads) {
                qps.push_back(qp);
            }
            make_receive_ring(worker.srq_ring, worker.srq_sges,
                              std::span(qps).first(rounds() ? qps.size() : 1), 0);
            error = post_receives(
                nullptr, worker.srq.get(), worker.srq_ring, worker.srq_at,
                rounds() ? static_cast<unsigned>(worker.srq_ring.size()) : receives_of_thread());
        }
    } else if (!lane.receives_posted) {
        make_receive_ring(lane.receives, lane.receive_sges, {&lane.number, 1},
                          lane.number / options_.threads);
        error = post_receives(lane.qp, nullptr, lane.receives, lane.receive_at,
                              deepest_receive(options_));
    }
    lane.receives_posted = true;
    if (error) {
        fail_post(worker.srq ? "ibv_post_srq_recv" : "ibv_post_recv", error, lane.qp);
    }
}

std::vector<Worker*> Traffic::prepare(const Part& part) {
    std::vector<Worker*> used;
    for (unsigned i = 0; i < options_.threads; ++i) {
        Worker& worker = *workers_[i];
        worker.lanes.clear();
        for (unsigned qp = i; qp < part.qps; qp += options_.threads) {
            Lane& lane = *lanes_[qp];
            make_send_ring(lane, part.size, worker.lanes.size());
            lane.posted = lane.completed = 0;
            lane.goal = part.goal;
            worker.lanes.push_back(&lane);
            if (receives()) {
                post_first_receives(lane);
            }
        }
        worker.task = part.task;
        worker.task.ticks_per_message *= options_.threads;
        worker.outcome = Outcome{};
        worker.progress = worker.arrived = 0;
        worker.expected =
            part.expected == UINT64_MAX ? UINT64_MAX : part.expected * worker.lanes.size();
        worker.sends_done = false;
        worker.error = nullptr;
        used.push_back(&worker);
    }
    return used;
}

}  // namespace rdma_bench
