// SPDX-License-Identifier: BSD-2-Clause
#include "dlrm/feed.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <infiniband/dingodv.h>

#include <cstdio>

#include "dlrm/record.h"
#include "exit.h"
#include "qpx/error.h"
#include "verbs/explain.h"

namespace dlrm {
namespace {

using rdma_bench::Exit;
using rdma_bench::RunError;

constexpr unsigned kCredits = 16;            // depth of the send queue
constexpr unsigned kReceives = kHalves + 1;  // one more for the end of the stream

qpx::PeerOptions peer_options(const FeedOptions& options) {
    qpx::PeerOptions peer;
    peer.security = qpx::parse_security(options.security);
    peer.name = "trainer";
    return peer;
}

/// Sends received data through the card's kernel dlrm.
void preprocess(ibv_qp* qp, std::uint32_t modulus) {
    dingodv_compute_params params{};
    params.param = modulus;
    const int error = dingodv_set_receive_compute(qp, DINGODV_KERNEL_DLRM, &params);
    if (error != 0)
        throw qpx::Error(qpx::ErrorCode::Device,
                         rdma_bench::explain_errno("dingodv_set_receive_compute", error), error);
}

}  // namespace

Feed::Feed(const FeedOptions& options)
    : options_(options),
      memory_(std::make_shared<FeedMemory>(options.device, options.memory, options.records)),
      listener_(options.address, options.port, peer_options(options)),
      next_(options.first_batch),
      released_(options.first_batch) {
    if (options_.modulus != 0)  // fails now, not when the first storage process connects
        Session(memory_->device(),
                {1, 1, 0, [&](ibv_qp* qp) { preprocess(qp, options_.modulus); }});
}

bool Feed::connect(Clock::time_point deadline) {
    while (!session_) {
        std::chrono::milliseconds left{-1};
        if (options_.timeout.count() >= 0)
            left = std::max(
                std::chrono::milliseconds{0},
                std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()));
        try {
            connection_ = listener_.accept(left);
            auto session = std::make_unique<Session>(
                memory_->device(),
                Session::Request{kCredits, kReceives + kHalves, kReceives, [&](ibv_qp* qp) {
                                     if (options_.modulus != 0)
                                         preprocess(qp, options_.modulus);
                                 }});
            const Hello hello{next_, released_, options_.records, options_.modulus != 0};
            session->connect(*connection_, memory_->device(), hello, {memory_->region()},
                             [&](const Hello& storage) { check(hello, storage); });
            session_ = std::move(session);
            ++sessions_;
        } catch (const qpx::Error& error) {
            if (error.code() == qpx::ErrorCode::Timeout && !connection_)
                return false;
            if (error.code() == qpx::ErrorCode::Device || error.code() == qpx::ErrorCode::Argument)
                throw;
            // Training goes on if a storage process gives up while it connects.
            std::fprintf(stderr, "trainer: %s\n", error.what());
            connection_.reset();
        } catch (const RunError& error) {
            if (error.status() != Exit::kUsage)
                throw;
            std::fprintf(stderr, "trainer: %s\n", error.what());
            connection_.reset();
        }
    }
    return true;
}

Feed::Next Feed::take(const ibv_wc& wc, dlrm_batch& batch) {
    const std::uint32_t records = ntohl(wc.imm_data);
    if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || records > options_.records ||
        wc.byte_len != records * kRecordBytes)
        throw RunError(Exit::kPeer,
                       fmt::format("{} bytes came for {} records", wc.byte_len, records));
    if (records == kEndOfStream) {
        ended_ = true;
        return Next::kEnd;
    }
    const auto half = static_cast<std::uint32_t>(next_ % kHalves);
    batch = {next_++, memory_->half(half), records, half};
    return Next::kBatch;
}

std::optional<Feed::Next> Feed::receive(dlrm_batch& batch, Clock::time_point deadline) {
    Wait wait;
    ibv_wc wc{};
    bool gone = false;
    for (;;) {
        if (session_->poll_received(wc))
            return take(wc, batch);
        // The peer's end was detected before this poll, so nothing received before it is left.
        if (gone)
            throw LinkLost("the storage process went away");
        while (session_->poll_sent(wc)) {
        }
        if (wait.pause()) {
            gone = connection_->peer_gone();
            if (options_.timeout.count() >= 0 && Clock::now() > deadline)
                return Next::kTimeout;
        }
    }
}

Feed::Next Feed::next(dlrm_batch& batch) {
    if (ended_)
        return Next::kEnd;
    if (next_ - released_ == kHalves)
        return Next::kBusy;
    const auto deadline = Clock::now() + options_.timeout;
    for (;;) {
        if (!session_ && !connect(deadline))
            return Next::kTimeout;
        try {
            const Next got = *receive(batch, deadline);
            if (got == Next::kEnd)
                say_end();
            return got;
        } catch (const LinkLost& lost) {
            std::fprintf(stderr, "trainer: %s; batch %llu is next\n", lost.what(),
                         static_cast<unsigned long long>(next_));
            // Destroy the QP before another storage process learns where to write.
            session_.reset();
            connection_.reset();
        }
    }
}

void Feed::say_end() {
    try {
        connection_->send(kHasAll);
    } catch (const qpx::Error&) {  // the storage process has the acknowledgement and is gone
    }
    connection_.reset();
}

bool Feed::holds(const dlrm_batch& batch) const {
    return batch.number >= released_ && batch.number < next_ &&
           batch.half == batch.number % kHalves && batch.address == memory_->half(batch.half);
}

void Feed::release() {
    ++released_;
    if (!session_ || ended_)
        return;
    try {
        send_credit();
    } catch (const LinkLost& lost) {
        std::fprintf(stderr, "trainer: %s\n", lost.what());
        session_.reset();
        connection_.reset();
    }
}

void Feed::send_credit() {
    ibv_wc wc{};
    while (session_->poll_sent(wc)) {
    }
    session_->post_receive();  // before the batch that consumes it can be sent
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND_WITH_IMM;
    wr.imm_data = htonl(static_cast<std::uint32_t>(released_));
    session_->post(wr);
}

}  // namespace dlrm
