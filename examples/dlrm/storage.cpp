// SPDX-License-Identifier: BSD-2-Clause
#include "dlrm/storage.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <infiniband/dingodv.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "dlrm/feed_memory.h"
#include "dlrm/record.h"
#include "exit.h"
#include "qpx/error.h"
#include "verbs/explain.h"

namespace dlrm {
namespace {

using rdma_bench::Exit;
using rdma_bench::RunError;

constexpr unsigned kSends = kHalves + 2;  // two batches, the end, and one spare
constexpr unsigned kCredits = kHalves + 2;

std::vector<std::byte> contents(const std::string& file) {
    std::ifstream in(file, std::ios::binary | std::ios::ate);
    if (!in)
        throw RunError(Exit::kUsage, file + ": cannot be read");
    const auto size = static_cast<std::size_t>(in.tellg());
    if (size == 0 || size % kRecordBytes != 0)
        throw RunError(Exit::kUsage, fmt::format("{}: {} bytes are no whole records of {}", file,
                                                 size, kRecordBytes));
    std::vector<std::byte> bytes(size);
    in.seekg(0);
    if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size)))
        throw RunError(Exit::kUsage, file + ": cannot be read");
    return bytes;
}

}  // namespace

Storage::Storage(const StorageOptions& options)
    : options_(options), device_(options.device, 1), schedule_(1, {1}) {
    const std::vector<std::byte> records = contents(options.file);
    schedule_ = Schedule(records.size() / kRecordBytes, options.sizes);
    buffer_ = rdma_bench::make_buffer(options.memory, {device_.pd(), records.size(), 0});
    buffer_->write(0, records);
}

void Storage::run() {
    qpx::PeerOptions peer;
    peer.security = qpx::parse_security(options_.security);
    peer.name = "storage";
    peer.retry_refused = true;
    peer.timeout = options_.retry;
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
        auto connection = qpx::Connection::connect(options_.trainer, options_.port, peer);
        try {
            serve(connection);
            break;
        } catch (const LinkLost& lost) {
            fmt::print(stderr, "storage: {}\n", lost.what());
        } catch (const qpx::Error& error) {
            if (error.code() != qpx::ErrorCode::PeerGone)
                throw;
            fmt::print(stderr, "storage: {}\n", error.what());
        }
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    constexpr double kMega = 1e6;
    fmt::print("{} batches in all, {} bytes from here in {:.3f} s, {:.1f} MB/s\n", options_.batches,
               bytes_, taken.count(), static_cast<double>(bytes_) / kMega / taken.count());
}

void Storage::serve(qpx::Connection& connection) {
    const auto preprocess = [&](ibv_qp* qp) {
        if (options_.modulus == 0)
            return;
        dingodv_compute_params params{};
        params.param = options_.modulus;
        if (const int error = dingodv_set_compute(qp, DINGODV_KERNEL_DLRM, &params); error != 0)
            throw RunError(Exit::kDevice, rdma_bench::explain_errno("dingodv_set_compute", error));
    };
    Session session(device_, {kSends, kCredits, kCredits, preprocess});
    const Hello hello{0, 0, schedule_.largest(), options_.modulus != 0};
    const Hello trainer = session.connect(connection, device_, hello, {},
                                          [&](const Hello& theirs) { check(theirs, hello); });
    if (session.remote().regions.size() != 1 ||
        session.remote().regions[0].length < kHalves * half_bytes(trainer.records))
        throw RunError(Exit::kPeer, "the trainer offers no two buffers");
    sent_ = completed_ = 0;
    released_ = static_cast<std::uint32_t>(trainer.released);
    Wait pause;
    for (std::uint64_t number = trainer.next; number < options_.batches; ++number) {
        // The buffer of this batch is in use until the batch before the previous one is released.
        while (static_cast<std::uint32_t>(number) - released_ >= kHalves)
            wait(session, connection, pause);
        if (options_.die_at >= 0 && number == static_cast<std::uint64_t>(options_.die_at))
            die(session, number);
        post(session, number);
        pause = {};
    }
    ibv_send_wr end{};
    end.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    end.imm_data = htonl(kEndOfStream);
    session.post(end);
    ++sent_;
    finish(session, connection);
}

void Storage::finish(Session& session, qpx::Connection& connection) {
    Wait pause;
    try {
        while (completed_ < sent_)
            wait(session, connection, pause);
    } catch (const LinkLost&) {
        try {
            // It is there by then: retries on the wire take longer than TCP.
            connection.set_timeout(std::chrono::seconds(1));
            if (std::ranges::equal(connection.receive(), kHasAll))
                return;
        } catch (const qpx::Error&) {  // it did not say so
        }
        throw;
    }
}

void Storage::post(Session& session, std::uint64_t number) {
    const Span span = schedule_.at(number);
    const qpx::Region& region = session.remote().regions[0];
    const std::uint64_t bytes = std::uint64_t{span.count} * kRecordBytes;
    const std::uint64_t from = span.first * kRecordBytes;
    const std::uint64_t front = std::min(bytes, buffer_->size() - from);
    std::array<ibv_sge, 2> pieces{};
    pieces[0] = {buffer_->address() + from, static_cast<std::uint32_t>(front), buffer_->mr()->lkey};
    pieces[1] = {buffer_->address(), static_cast<std::uint32_t>(bytes - front),
                 buffer_->mr()->lkey};
    ibv_send_wr wr{};
    wr.sg_list = pieces.data();
    wr.num_sge = front < bytes ? 2 : 1;
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data = htonl(span.count);
    wr.wr.rdma.remote_addr = region.address + number % kHalves * (region.length / kHalves);
    wr.wr.rdma.rkey = region.rkey;
    session.post(wr);
    ++sent_;
    bytes_ += bytes;
}

void Storage::die(Session& session, std::uint64_t number) {
    // Write half of the batch to the trainer's memory, without notification.
    const Span span = schedule_.at(number);
    const qpx::Region& region = session.remote().regions[0];
    ibv_sge piece{buffer_->address(),
                  (span.count + 1) / 2 * static_cast<std::uint32_t>(kRecordBytes),
                  buffer_->mr()->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &piece;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = region.address + number % kHalves * (region.length / kHalves);
    wr.wr.rdma.rkey = region.rkey;
    session.post(wr);
    ++sent_;
    ibv_wc wc{};
    while (completed_ < sent_)
        completed_ += session.poll_sent(wc) ? 1 : 0;
    ::kill(::getpid(), SIGKILL);
    ::_exit(1);
}

void Storage::wait(Session& session, const qpx::Connection& connection, Wait& wait) {
    ibv_wc wc{};
    bool found = false;
    for (; session.poll_received(wc); found = true) {
        released_ = ntohl(wc.imm_data);
        session.post_receive();
    }
    for (; session.poll_sent(wc); found = true)
        ++completed_;
    if (!found && wait.pause() && connection.peer_gone())
        throw LinkLost("the trainer went away");
}

}  // namespace dlrm
