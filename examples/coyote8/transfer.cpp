// SPDX-License-Identifier: BSD-2-Clause
#include "coyote8/transfer.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <vector>

#include "coyote8/pattern.h"
#include "exit.h"
#include "verbs/explain.h"

namespace coyote8 {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
/// Empty polls between checks of the connection: a dead peer causes no completion.
constexpr unsigned kPollsPerLook = 1U << 16U;

void check_peer(const qpx::Connection& connection) {
    if (connection.peer_gone()) {
        throw RunError(Exit::kPeer, "the peer went away in the middle of a run");
    }
}

}  // namespace

Transfer::Transfer(const Options& options)
    : half_(options.max_size),
      device_(options.device, options.ib_port),
      send_cq_(rdma_bench::make_cq(device_, kDepth, false, 0)),
      recv_cq_(rdma_bench::make_cq(device_, 2, false, 0)),
      buffer_(rdma_bench::make_buffer(options.memory,
                                      {device_.pd(), std::size_t{2} * half_, kAccess})) {
    rdma_bench::QpRequest request;
    request.operation = rdma_bench::Operation::kWrite;
    request.send_cq = send_cq_->cq.get();
    request.recv_cq = recv_cq_->cq.get();
    request.send_depth = kDepth;
    request.recv_depth = 2;
    qp_ = rdma_bench::make_qp(device_, request);
    gid_.index = options.gid_index;
}

void Transfer::connect(qpx::Connection& connection) {
    qpx::DescribeOptions describe;
    describe.port = device_.port();
    describe.gid = gid_;
    if (gid_.index < 0) {
        describe.gid.peer = connection.peer_address();
        describe.gid.local = connection.local_address();
    }
    describe.regions = {{buffer_->address(), buffer_->size(), buffer_->mr()->rkey, "buffer"}};
    local_ = qpx::describe(qp_.qp.get(), describe);
    remote_ = connection.exchange(local_.endpoint);
    if (remote_.regions.size() != 1 || remote_.regions[0].length < std::uint64_t{2} * half_) {
        throw RunError(Exit::kPeer, "the peer offers no buffer of the size that was agreed");
    }
    qpx::connect(qp_.qp.get(), local_, remote_);
    connection.barrier();
}

void Transfer::post(ibv_wr_opcode opcode, std::uint64_t local, std::uint64_t remote,
                    std::uint32_t size, unsigned count, std::uint32_t round) {
    ibv_sge sge{local, size, buffer_->mr()->lkey};
    std::vector<ibv_send_wr> requests(count);
    for (unsigned i = 0; i < count; ++i) {
        ibv_send_wr& wr = requests[i];
        const bool last = i + 1 == count;
        wr.next = last ? nullptr : &requests[i + 1];
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = opcode;
        wr.wr.rdma.remote_addr = remote;
        wr.wr.rdma.rkey = remote_.regions[0].rkey;
        if (last) {
            wr.send_flags = IBV_SEND_SIGNALED;
            if (opcode == IBV_WR_RDMA_WRITE) {
                wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
                wr.imm_data = htonl(round);
            }
        }
    }
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(qp_.qp.get(), requests.data(), &bad); error != 0) {
        throw RunError(Exit::kFailed, rdma_bench::explain_errno("ibv_post_send", error));
    }
}

void Transfer::read(std::uint32_t size, unsigned count) {
    post(IBV_WR_RDMA_READ, buffer_->address() + half_, remote_.regions[0].address, size, count, 0);
}

void Transfer::write(std::uint32_t size, unsigned count, std::uint32_t round, bool echo) {
    post(IBV_WR_RDMA_WRITE, buffer_->address() + (echo ? half_ : 0),
         remote_.regions[0].address + half_, size, count, round);
}

void Transfer::post_receive() {
    ibv_recv_wr wr{};
    ibv_recv_wr* bad = nullptr;
    if (const int error = ibv_post_recv(qp_.qp.get(), &wr, &bad); error != 0) {
        throw RunError(Exit::kFailed, rdma_bench::explain_errno("ibv_post_recv", error));
    }
}

ibv_wc Transfer::wait(ibv_cq* cq, const qpx::Connection& connection) {
    ibv_wc wc{};
    for (unsigned polls = 1;; ++polls) {
        const int got = ibv_poll_cq(cq, 1, &wc);
        if (got < 0) {
            throw RunError(Exit::kFailed, "ibv_poll_cq failed: the device is gone");
        }
        if (got > 0 && wc.status == IBV_WC_SUCCESS) {
            return wc;
        }
        if (got > 0) {
            throw RunError(Exit::kFailed, rdma_bench::explain_completion(wc, qp_.qp.get()));
        }
        if (polls % kPollsPerLook == 0) {
            check_peer(connection);
        }
    }
}

void Transfer::wait_sent(const qpx::Connection& connection) {
    wait(send_cq_->cq.get(), connection);
}

void Transfer::wait_received(const qpx::Connection& connection, std::uint32_t round) {
    const ibv_wc wc = wait(recv_cq_->cq.get(), connection);
    if (ntohl(wc.imm_data) != round) {
        throw RunError(Exit::kData,
                       fmt::format("data of round {} came in round {}", ntohl(wc.imm_data), round));
    }
}

void Transfer::fill_source(std::uint32_t size, std::uint32_t first) {
    std::vector<std::byte> data(size);
    fill(data, first);
    buffer_->write(0, data);
}

void Transfer::clear_landing(std::uint32_t size) {
    buffer_->write(half_, std::vector<std::byte>(size));
}

void Transfer::check_landing(std::uint32_t size, std::uint32_t first) const {
    std::vector<std::byte> data(size);
    buffer_->read(half_, data);
    if (const auto at = first_difference(data, first)) {
        std::vector<std::byte> wanted(size);
        fill(wanted, first);
        throw RunError(
            Exit::kData,
            fmt::format("wrong data: byte {} of {} is {:#04x} instead of {:#04x}", *at, size,
                        static_cast<unsigned>(data[*at]), static_cast<unsigned>(wanted[*at])));
    }
}

}  // namespace coyote8
