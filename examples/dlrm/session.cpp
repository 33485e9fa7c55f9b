// SPDX-License-Identifier: BSD-2-Clause
#include "dlrm/session.h"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <cstring>

#include "exit.h"
#include "qpx/error.h"
#include "verbs/explain.h"

namespace dlrm {
namespace {

using rdma_bench::Exit;
using rdma_bench::RunError;

constexpr std::uint32_t kMagic = 0x4d524c44;  // "DLRM"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHelloBytes = 32;
constexpr std::uint32_t kPreprocesses = 1;  // bit of the last word
constexpr unsigned kSges = 2;               // a batch may wrap at the end of the file

void put(std::vector<std::byte>& out, std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
        out.push_back(static_cast<std::byte>(value >> 8 * i));
}

std::uint64_t get(std::span<const std::byte>& in, unsigned bytes) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
        value |= std::to_integer<std::uint64_t>(in[i]) << 8 * i;
    in = in.subspan(bytes);
    return value;
}

/// Returns true for statuses that indicate that the peer's QP or card is gone.
bool is_link_loss(ibv_wc_status status) {
    return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR ||
           status == IBV_WC_WR_FLUSH_ERR || status == IBV_WC_RESP_TIMEOUT_ERR;
}

}  // namespace

std::vector<std::byte> pack(const Hello& hello) {
    std::vector<std::byte> out;
    put(out, kMagic, 4);
    put(out, kVersion, 4);
    put(out, hello.next, 8);
    put(out, hello.released, 8);
    put(out, hello.records, 4);
    put(out, hello.preprocesses ? kPreprocesses : 0, 4);
    return out;
}

Hello unpack(std::span<const std::byte> bytes) {
    if (bytes.size() != kHelloBytes || get(bytes, 4) != kMagic || get(bytes, 4) != kVersion)
        throw qpx::Error(qpx::ErrorCode::Protocol, "the peer is no storage or trainer of clicks");
    Hello hello;
    hello.next = get(bytes, 8);
    hello.released = get(bytes, 8);
    hello.records = static_cast<std::uint32_t>(get(bytes, 4));
    hello.preprocesses = (get(bytes, 4) & kPreprocesses) != 0;
    return hello;
}

void check(const Hello& trainer, const Hello& storage) {
    if (storage.records > trainer.records)
        throw RunError(
            Exit::kUsage,
            fmt::format("a batch has up to {} records, a buffer of the trainer has room for {}",
                        storage.records, trainer.records));
    if (storage.preprocesses && trainer.preprocesses)
        throw RunError(Exit::kUsage,
                       "the cards of both sides preprocess: give a modulus to one of them only");
}

Session::Session(const rdma_bench::Device& device, const Request& request)
    : request_(request),
      send_cq_(rdma_bench::make_cq(device, request.send_depth, false, 0)),
      recv_cq_(rdma_bench::make_cq(device, request.recv_depth, false, 0)) {
    ibv_qp_init_attr init{};
    init.send_cq = send_cq_->cq.get();
    init.recv_cq = recv_cq_->cq.get();
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap = {request.send_depth, request.recv_depth, kSges, 1, 0};
    qp_.reset(ibv_create_qp(device.pd(), &init));
    if (!qp_)
        throw RunError(Exit::kDevice, rdma_bench::explain_errno("ibv_create_qp", errno));
    if (request.created)
        request.created(qp_.get());
}

Hello Session::connect(qpx::Connection& connection, const rdma_bench::Device& device,
                       const Hello& hello, std::vector<qpx::Region> regions,
                       const std::function<void(const Hello&)>& check) {
    qpx::DescribeOptions describe;
    describe.port = device.port();
    describe.gid.peer = connection.peer_address();
    describe.gid.local = connection.local_address();
    describe.regions = std::move(regions);
    local_ = qpx::describe(qp_.get(), describe);
    local_.endpoint.application = pack(hello);
    remote_ = connection.exchange(local_.endpoint);
    const Hello theirs = unpack(remote_.application);
    try {
        check(theirs);
    } catch (const std::exception& error) {
        connection.refuse(error.what());  // the peer reports it, too
        throw;
    }
    qpx::to_init(qp_.get(), local_);
    for (unsigned i = 0; i < request_.receives; ++i)
        post_receive();
    qpx::connect(qp_.get(), local_, remote_);
    connection.barrier();
    return theirs;
}

void Session::post_receive() {
    ibv_recv_wr wr{};
    ibv_recv_wr* bad = nullptr;
    if (const int error = ibv_post_recv(qp_.get(), &wr, &bad); error != 0)
        throw RunError(Exit::kFailed, rdma_bench::explain_errno("ibv_post_recv", error));
}

void Session::post(ibv_send_wr& wr) {
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(qp_.get(), &wr, &bad); error != 0)
        throw RunError(Exit::kFailed, rdma_bench::explain_errno("ibv_post_send", error));
}

bool Session::poll(ibv_cq* cq, ibv_wc& wc) {
    const int got = ibv_poll_cq(cq, 1, &wc);
    if (got < 0)
        throw RunError(Exit::kFailed, "ibv_poll_cq failed: the device is gone");
    if (got == 0)
        return false;
    if (wc.status == IBV_WC_SUCCESS)
        return true;
    const std::string why = rdma_bench::explain_completion(wc, qp_.get());
    if (is_link_loss(wc.status))
        throw LinkLost(why);
    throw RunError(Exit::kFailed, why);
}

bool Wait::pause() {
    constexpr unsigned kAtOnce = 200;
    constexpr unsigned kPerLook = 100;
    constexpr timespec kNap{0, 50'000};
    if (++rounds_ < kAtOnce) {
        sched_yield();
        return false;
    }
    nanosleep(&kNap, nullptr);
    return rounds_ % kPerLook == 0;
}

}  // namespace dlrm
